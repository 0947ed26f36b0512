import { UnsupportedError } from '../errors/errors.ts';

const isMissing = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND';

/**
 * The error for an optional part that is not there.
 * @param what what it is needed for, in the plural
 * @param part what is to be installed, as anybody may know it
 */
export const notInstalled = (what: string, part: string, cause?: unknown): UnsupportedError =>
  new UnsupportedError({ message: `To make ${what}, install ${part}.`, cause });

const npmPackages = (names: readonly string[]): string =>
  `the npm package${names.length > 1 ? 's' : ''} ${names.map((name) => `"${name}"`).join(' and ')}`;

/**
 * Imports an optional package at its first use.
 * @throws UnsupportedError naming the package when it is not installed
 */
export const importOptional = async <Module>(
  what: string,
  name: string,
  load: () => Promise<Module>,
): Promise<Module> => {
  try {
    return await load();
  } catch (error) {
    throw isMissing(error) ? notInstalled(what, npmPackages([name]), error) : error;
  }
};

/**
 * Makes sure that optional packages can be imported, without doing it.
 * @param resolve finds a package as `import.meta.resolve` of the caller does
 * @throws UnsupportedError naming all that are not installed
 */
export const requireInstalled = (
  what: string,
  names: readonly string[],
  resolve: (name: string) => string,
): void => {
  const missing = names.filter((name) => {
    try {
      resolve(name);
      return false;
    } catch {
      return true;
    }
  });
  if (missing.length > 0) throw notInstalled(what, npmPackages(missing));
};
