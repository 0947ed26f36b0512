import { orUndefined, UnsupportedError } from './errors.ts';

const isMissing = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND';

/**
 * The error for an optional part that is not installed.
 * @param what the feature that needs it, as the beginning of a sentence: `Making PDF files`
 * @param part the part to install, with its verb
 */
export const notInstalled = (what: string, part: string, cause?: unknown): UnsupportedError =>
  new UnsupportedError({ message: `${what} needs ${part} not installed here.`, cause });

const npmPackages = (names: readonly string[]): string => {
  const quoted = names.map((name) => `"${name}"`).join(' and ');
  return names.length > 1 ? `the npm packages ${quoted}, which are` : `the npm package ${quoted}, which is`;
};

/** Imports an optional package at its first use. @param what as in `notInstalled` @throws UnsupportedError */
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

/** Whether a package can be imported. `resolve` finds it, like `import.meta.resolve` of the caller. */
export const isInstalled = (resolve: () => string): boolean => orUndefined(resolve) !== undefined;

/**
 * Checks that optional packages can be imported, without importing them.
 * @param resolve finds a package, like `import.meta.resolve` of the caller
 * @throws UnsupportedError naming all that are not installed
 */
export const requireInstalled = (
  what: string,
  names: readonly string[],
  resolve: (name: string) => string,
): void => {
  const missing = names.filter((name) => !isInstalled(() => resolve(name)));
  if (missing.length > 0) throw notInstalled(what, npmPackages(missing));
};
