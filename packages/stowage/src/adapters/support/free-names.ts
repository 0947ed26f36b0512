import type { NumberedNames } from '../../basics/content/file-name.ts';
import { AlreadyExistsError } from '../../errors/errors.ts';

/** Names tried for an item whose old name is taken. */
const MOST_NAMES = 1000;

/**
 * Calls `give` with the first name, and with the next ones while it rejects with an error for a taken name.
 * Returns whether one was given. @throws other errors of `give`
 */
export const giveFreeName = async (
  names: NumberedNames,
  give: (name: string) => Promise<void>,
  isTaken = (error: unknown): boolean => error instanceof AlreadyExistsError,
): Promise<boolean> => {
  for (let number = 0; number < MOST_NAMES; number += 1) {
    try {
      await give(names.at(number));
      return true;
    } catch (error) {
      if (!isTaken(error)) throw error;
    }
  }
  return false;
};
