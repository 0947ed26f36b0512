import { UnsupportedError } from '../errors/errors.ts';

const isMissing = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND';

/** The error for an optional part that is not there. `parts` are names of packages that anybody may know. */
export const notInstalled = (what: string, parts: readonly string[], cause?: unknown): UnsupportedError =>
  new UnsupportedError({
    message: `${what} needs ${parts.join(' and ')}, which is not installed here.`,
    cause,
  });

/**
 * Imports optional packages at their first use.
 * @throws UnsupportedError naming the packages when one is not installed
 */
export const importOptional = async <Module>(
  what: string,
  packages: readonly string[],
  load: () => Promise<Module>,
): Promise<Module> => {
  try {
    return await load();
  } catch (error) {
    if (!isMissing(error)) throw error;
    const names = packages.map((name) => `the npm package "${name}"`);
    throw notInstalled(what, names, error);
  }
};
