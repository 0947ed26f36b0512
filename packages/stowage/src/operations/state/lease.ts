import { randomUUID } from 'node:crypto';
import type { Documents } from './state.ts';

interface Holding {
  readonly by: string;
  readonly until: number;
}

/** Something that one of several does at a time. */
export interface Lease {
  /** Takes it, or keeps it, for so long. False: another instance has it. */
  claim(milliseconds: number): Promise<boolean>;
  /** Gives it back; nothing happens when another instance has it. */
  release(): Promise<void>;
}

/** The lease of this name, which ends by itself when its holder does not renew it. */
export const createLease = (documents: Documents, key: string): Lease => {
  const owner = randomUUID();
  let isHeld = false;
  return {
    claim: async (milliseconds) => {
      isHeld = await documents.change<Holding, boolean>(key, (holding, now) => {
        if (holding !== undefined && holding.by !== owner && holding.until > now) return [holding, false];
        return [{ by: owner, until: now + milliseconds }, true];
      });
      return isHeld;
    },
    release: async () => {
      if (!isHeld) return;
      isHeld = false;
      await documents.change<Holding, void>(key, (holding) => [
        holding?.by === owner ? undefined : holding,
        undefined,
      ]);
    },
  };
};
