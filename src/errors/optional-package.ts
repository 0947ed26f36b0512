import { UnsupportedError } from './errors.ts';

const isMissing = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND';

/**
 * The error for an optional part that is not there.
 * @param purpose what it is needed for: `make PDF files`
 * @param part what is to be installed, as anybody may know it
 */
export const notInstalled = (purpose: string, part: string, cause?: unknown): UnsupportedError =>
  new UnsupportedError({ message: `To ${purpose}, install ${part}.`, cause });

const npmPackages = (names: readonly string[]): string =>
  `the npm package${names.length > 1 ? 's' : ''} ${names.map((name) => `"${name}"`).join(' and ')}`;

/**
 * Imports an optional package at its first use.
 * @param purpose as in `notInstalled`
 * @throws UnsupportedError naming the package when it is not installed
 */
export const importOptional = async <Module>(
  purpose: string,
  name: string,
  load: () => Promise<Module>,
): Promise<Module> => {
  try {
    return await load();
  } catch (error) {
    throw isMissing(error) ? notInstalled(purpose, npmPackages([name]), error) : error;
  }
};

/** Whether a package can be imported; `resolve` finds it as `import.meta.resolve` of the caller does. */
export const isInstalled = (resolve: () => string): boolean => {
  try {
    resolve();
    return true;
  } catch {
    return false;
  }
};

/**
 * Makes sure that optional packages can be imported, without doing it.
 * @param resolve finds a package as `import.meta.resolve` of the caller does
 * @throws UnsupportedError naming all that are not installed
 */
export const requireInstalled = (
  purpose: string,
  names: readonly string[],
  resolve: (name: string) => string,
): void => {
  const missing = names.filter((name) => !isInstalled(() => resolve(name)));
  if (missing.length > 0) throw notInstalled(purpose, npmPackages(missing));
};
