import { UnsupportedError } from '../errors/errors.ts';

/**
 * Loads a package that only some need, at its first use.
 * @param what what does not work without it, as the beginning of a sentence
 * @throws UnsupportedError that names the package when it is not installed
 */
export const loadOptional = async <Module>(
  what: string,
  name: string,
  load: () => Promise<Module>,
): Promise<Module> => {
  try {
    return await load();
  } catch (error) {
    const isMissing = error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND';
    if (!isMissing) throw error;
    const message = `${what} needs the npm package "${name}", which is not installed here.`;
    throw new UnsupportedError({ message, cause: error });
  }
};
