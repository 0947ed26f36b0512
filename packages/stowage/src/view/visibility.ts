import type { Access } from '../access/access.ts';
import type { Settings } from '../config/settings.ts';
import { extensionOf } from '../basics/content/extension.ts';
import { withoutCase } from '../basics/content/letter-case.ts';
import { UnsafePathError } from '../errors/errors.ts';
import type { Entry } from '../storage/entry.ts';
import type { SourcePath } from '../storage/source-path.ts';
import { reservedNames } from './reserved.ts';

type Test = (entry: Entry) => boolean;

/** What a listing shows beyond what the settings and the access rules allow. */
export interface Wanted {
  readonly folders: boolean;
  /** Files that are no images are left out. Folders stay. */
  readonly onlyImages: boolean;
  /** Names that do not hold this word are left out, whatever the letter case. Undefined: all stay. */
  readonly filterWord: string | undefined;
}

const nameTest = (word: string | undefined): Test => {
  if (word === undefined) return () => true;
  const wanted = withoutCase(word);
  return ({ name }) => withoutCase(name).includes(wanted);
};

const extensionTest = (settings: Settings, onlyImages: boolean): Test => {
  const images = new Set(settings.imageExtensions);
  const shown = new Set(settings.extensions.filter((extension) => !onlyImages || images.has(extension)));
  return ({ name }) => {
    const extension = extensionOf(name);
    return extension !== undefined && shown.has(extension);
  };
};

/**
 * Whether the rules allow what the key stands for to entries of a folder, asked once where they all fare
 * alike. An entry whose path would be too long for any request is out of reach, and no rule could speak of
 * it: it is left out.
 */
export const accessTest = (access: Access, key: string, folder: SourcePath): Test => {
  if (!access.dependsOnItem(key, folder)) {
    const isAllowed = access.allows(key, folder);
    return () => isAllowed;
  }
  return ({ name, kind }) => {
    try {
      return access.allows(key, folder.child(name), kind === 'file' ? extensionOf(name) : undefined);
    } catch (error) {
      if (error instanceof UnsafePathError) return false;
      throw error;
    }
  };
};

/**
 * Whether a sub-folder is shown: not reserved, and the rules let the role list folders at its path.
 */
export const visibleFolders = (settings: Settings, access: Access, folder: SourcePath): Test => {
  const isReserved = reservedNames(settings);
  const isAllowed = accessTest(access, 'FOLDERS', folder);
  return (entry) => entry.kind === 'folder' && !isReserved(entry.name) && isAllowed(entry);
};

/**
 * Whether an entry of a folder appears in its listing. Reserved names, files of other extensions than the
 * source's, and what an access rule about paths or extensions denies, never do.
 */
export const visibleEntries = (
  settings: Settings,
  access: Access,
  folder: SourcePath,
  wanted: Wanted,
): Test => {
  const isReserved = reservedNames(settings);
  const hasWord = nameTest(wanted.filterWord);
  const hasExtension = extensionTest(settings, wanted.onlyImages);
  const isListable = accessTest(access, 'FILES', folder);
  const isVisibleFolder = visibleFolders(settings, access, folder);
  return (entry) =>
    (entry.kind === 'folder'
      ? wanted.folders && isVisibleFolder(entry)
      : hasExtension(entry) && !isReserved(entry.name)) &&
    hasWord(entry) &&
    isListable(entry);
};

/** Paths of fewer segments and letters are short enough in any script. */
const FEW_SEGMENTS = 50;
const FEW_LETTERS = 500;

/** Whether a request could name the entry: its path is not too long or too deep. */
export const isBounded = (folder: SourcePath, name: string): boolean => {
  const isShort =
    folder.segments.length < FEW_SEGMENTS && folder.toString().length + name.length < FEW_LETTERS;
  if (isShort) return true;
  try {
    folder.child(name);
    return true;
  } catch {
    return false;
  }
};
