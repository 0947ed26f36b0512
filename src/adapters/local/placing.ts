import { constants } from 'node:fs';
import { AlreadyExistsError, WrongKindError } from '../../errors/errors.ts';
import { systemCode } from '../../storage/system-errors.ts';
import type { OpenFolder } from './confinement.ts';
import {
  closeFile,
  lstatOf,
  makeDirectory,
  makeLink,
  openFile,
  removeEmpty,
  renameTo,
  unlinkFile,
  type Name,
} from './system.ts';

// What file systems without hard links, and rules against them, answer.
const NO_LINKS: ReadonlySet<string | undefined> = new Set([
  'EPERM',
  'ENOTSUP',
  'EOPNOTSUPP',
  'ENOSYS',
  'EMLINK',
  'EACCES',
]);
const CLAIM = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | (constants.O_NOFOLLOW ?? 0);

/**
 * Without links: an empty file made exclusively takes the name, then the content takes its place. Still one winner among many; but the empty
 * file can be seen for a moment, and stays when the process is killed within it.
 */
const claimAndRename = async (from: Name, target: Name): Promise<void> => {
  await closeFile(await openFile(target, CLAIM, 0o600));
  try {
    await renameTo(from, target);
  } catch (error) {
    await unlinkFile(target).catch(() => undefined);
    throw error;
  }
};

/**
 * Moves a file to a name that nothing has. The file system decides: of many at once exactly one succeeds.
 * @throws the system's EEXIST when the name is taken by anything, a link to nowhere included; EXDEV when it is on another file system
 */
export const placeNew = async (from: Name, target: Name): Promise<void> => {
  try {
    await makeLink(from, target);
  } catch (error) {
    if (!NO_LINKS.has(systemCode(error))) throw error;
    return claimAndRename(from, target);
  }
  try {
    await unlinkFile(from);
  } catch (error) {
    // Gone already: another move took the file, so it must not be at both targets.
    await unlinkFile(target).catch(() => undefined);
    throw error;
  }
};

/**
 * Moves a file to a name that may belong to a file, which is replaced in one step.
 * @throws WrongKindError when a folder, link or device has the name; EXDEV as above
 */
const placeOver = async (from: Name, target: Name): Promise<void> => {
  const old = await lstatOf(target).catch((error: unknown) => {
    if (systemCode(error) === 'ENOENT') return undefined;
    throw error;
  });
  if (old !== undefined && !old.isFile()) throw new WrongKindError();
  // A link swapped in now is replaced itself: a rename never follows.
  await renameTo(from, target);
};

/** Gives a file its name in an open folder. @throws AlreadyExistsError, WrongKindError, EXDEV of the system */
export const place = async (
  from: Name,
  folder: OpenFolder,
  name: string,
  createOnly: boolean,
): Promise<void> => {
  try {
    await (createOnly ? placeNew : placeOver)(from, folder.at(name));
  } catch (error) {
    if (systemCode(error) === 'EEXIST') throw new AlreadyExistsError({ cause: error });
    if (systemCode(error) === 'EISDIR') throw new WrongKindError({ cause: error });
    throw error;
  }
};

/**
 * Moves a folder to a name that nothing has. Making the folder takes the name; the moved one then replaces it while it is empty.
 * @throws AlreadyExistsError, also when somebody puts something into the new folder in between; EXDEV of the system
 */
export const placeFolder = async (from: Name, folder: OpenFolder, name: string): Promise<void> => {
  const target = folder.at(name);
  try {
    await makeDirectory(target, 0o777);
  } catch (error) {
    if (systemCode(error) === 'EEXIST') throw new AlreadyExistsError({ cause: error });
    throw error;
  }
  try {
    await renameTo(from, target);
  } catch (error) {
    await removeEmpty(target).catch(() => undefined);
    if (systemCode(error) === 'ENOTEMPTY' || systemCode(error) === 'EEXIST') {
      throw new AlreadyExistsError({ cause: error });
    }
    throw error;
  }
};
