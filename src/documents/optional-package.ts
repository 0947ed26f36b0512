import { UnsupportedError } from '../errors/errors.ts';

const isMissing = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND';

/** The error for an optional part that is not there. `parts` are names that anybody may know. */
export const notInstalled = (what: string, parts: readonly string[], cause?: unknown): UnsupportedError =>
  new UnsupportedError({
    message: `${what} needs ${parts.join(' and ')}, not installed here.`,
    cause,
  });

const npmPackage = (name: string): string => `the npm package "${name}"`;

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
    throw isMissing(error) ? notInstalled(what, [npmPackage(name)], error) : error;
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
  if (missing.length > 0) throw notInstalled(what, missing.map(npmPackage));
};
