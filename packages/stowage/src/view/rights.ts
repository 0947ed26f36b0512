import type { Access } from '../access/access.ts';
import { extensionOf } from '../basics/content/file-type.ts';
import type { Settings } from '../config/settings.ts';
import { NotFoundError, UnsafeNameError, UnsafePathError } from '../errors/errors.ts';
import { hasThumbnailFolder } from '../pictures/kept/plan.ts';
import { ABOUT_FOLDER } from '../storage/about/about.ts';
import type { Entry, EntryKind } from '../storage/entry.ts';
import { MOVED_FOLDER } from '../storage/moved/name-events.ts';
import type { SourcePath } from '../storage/source-path.ts';
import { EMPTIED_FOLDER, TRASH_FOLDER } from '../storage/trash/trash-folder.ts';

/** The access keys that an action needs, by what it acts on: all of a list. */
export type KeysByKind = Readonly<Record<EntryKind, readonly string[]>>;

export const forBoth = (...keys: readonly string[]): KeysByKind => ({ file: keys, folder: keys });

/** `FILE_MOVE`, `FOLDER_COPY`…: the key follows what the item really is. */
export const itemKey = <Verb extends string>(
  kind: EntryKind,
  verb: Verb,
): `FILE_${Verb}` | `FOLDER_${Verb}` => (kind === 'file' ? `FILE_${verb}` : `FOLDER_${verb}`);

/** What something from the trash needs where it comes back: the keys of making it too. */
export const RESTORE_KEYS: KeysByKind = {
  file: ['TRASH_RESTORE', 'FILE_UPLOAD'],
  folder: ['TRASH_RESTORE', 'FOLDER_CREATE'],
};

/** The key that a listing needs to show an entry. */
export const LISTING_KEY: Readonly<Record<EntryKind, string>> = { file: 'FILES', folder: 'FOLDERS' };

/** The keys that a link to a file or its thumbnail needs, in sources where rules count for links. */
export const FILE_KEYS: readonly string[] = ['FILE_DOWNLOAD'];

/** The keys that a link to a variant needs: it shows the file too. */
export const VARIANT_KEYS: readonly string[] = [...FILE_KEYS, 'IMAGE_VARIANT'];

/** The extension that access rules evaluate; undefined for folders. */
const ruleExtension = (name: string, kind: EntryKind): string | undefined =>
  kind === 'file' ? extensionOf(name) : undefined;

/** What the rules let a role do. Nothing here asks a store. */
export class Rights {
  readonly #access: Access;

  constructor(access: Access) {
    this.#access = access;
  }

  may(key: string, path: SourcePath, kind: EntryKind): boolean {
    return this.#access.allows(key, path, ruleExtension(path.name, kind));
  }

  /** @throws AccessDeniedError where one of the keys is denied for the file or folder */
  require(keys: string | readonly string[], path: SourcePath, kind: EntryKind): void {
    const extension = ruleExtension(path.name, kind);
    for (const key of typeof keys === 'string' ? [keys] : keys) this.#access.require(key, path, extension);
  }

  /** @see Access.mayAllow */
  mayAllow(key: string, folder: SourcePath): boolean {
    return this.#access.mayAllow(key, folder);
  }

  /** @see Access.mayAllowIn */
  mayAllowIn(key: string, folder: SourcePath): boolean {
    return this.#access.mayAllowIn(key, folder);
  }

  /** @see Access.mayList */
  mayList(folder: SourcePath): boolean {
    return this.#access.mayList(folder);
  }

  /** Whether parts of a folder may fare otherwise than the folder, by any of the keys. */
  mayDiffer(keys: readonly string[], folder: SourcePath): boolean {
    return keys.some((key) => this.#access.dependsOnItem(key, folder) || !this.#access.allows(key, folder));
  }

  /**
   * Whether the key is allowed for entries of a folder, decided once where they all fare alike. An entry whose
   * path would be too long for any request is out of reach, and no rule could speak of it: it is denied.
   */
  inFolder(key: string, folder: SourcePath): (entry: Pick<Entry, 'name' | 'kind'>) => boolean {
    if (!this.#access.dependsOnItem(key, folder)) {
      const isAllowed = this.#access.allows(key, folder);
      return () => isAllowed;
    }
    return ({ name, kind }) => {
      try {
        return this.may(key, folder.child(name), kind);
      } catch (error) {
        if (error instanceof UnsafePathError) return false;
        throw error;
      }
    };
  }
}

/** Checks a key where an item is and where it goes. @throws AccessDeniedError */
export const requireBothLocations = (
  rights: { readonly from: Rights; readonly to: Rights },
  key: string,
  paths: { readonly from: SourcePath; readonly to: SourcePath; readonly kind: EntryKind },
): void => {
  rights.from.require(key, paths.from, paths.kind);
  rights.to.require(key, paths.to, paths.kind);
};

export type ReservingSettings = Pick<
  Settings,
  'excludeDirectoryNames' | 'createThumb' | 'thumbFolderName' | 'imagePresets' | 'uploadImages'
>;

const escaped = (text: string): string => text.normalize('NFC').replaceAll(/[\\^$.*+?()[\]{}|/]/gu, '\\$&');

const ALWAYS = [TRASH_FOLDER, EMPTIED_FOLDER, MOVED_FOLDER, ABOUT_FOLDER].map(escaped);

/** Matches the names that are reserved, in NFC. @see reservedNames */
export const reservedPattern = (settings: ReservingSettings): RegExp => {
  const originals = settings.uploadImages?.keepOriginal ?? false;
  const names = [
    ...settings.excludeDirectoryNames,
    ...(hasThumbnailFolder(settings) ? [settings.thumbFolderName] : []),
    ...(originals === false ? [] : [originals]),
  ];
  // A pattern, not a set of folded names: it folds case as file systems do and gives up at the first letter.
  return new RegExp(`^(?:${[...ALWAYS, ...names.map(escaped)].join('|')})$`, 'iu');
};

/**
 * Compiles the test whether a name is reserved: one of `excludeDirectoryNames`, the thumbnail folder while
 * thumbnails or variants are on, the folder of originals while they are kept, the trash, what is remembered
 * of names, or the words about files. Reserved names are hidden, out of reach for every action, and may not
 * be given to anything. Letter
 * case does not count, because a store may hold `_thumbs` and answer to `_THUMBS`. Compile once per request, then
 * about 20 ns a name.
 */
export const reservedNames = (settings: ReservingSettings): ((name: string) => boolean) => {
  const pattern = reservedPattern(settings);
  return (name) => pattern.test(name.normalize('NFC'));
};

/**
 * Whether the name is reserved in a source with these settings. For many names compile `reservedNames` once.
 */
export const isReservedName = (settings: ReservingSettings, name: string): boolean =>
  reservedNames(settings)(name);

/**
 * Refuses a path that is reserved or lies inside something reserved, as if nothing were there.
 * @throws NotFoundError
 */
export const requireReachable = (settings: ReservingSettings, path: SourcePath): void => {
  if (path.segments.some(reservedNames(settings))) throw new NotFoundError();
};

/**
 * Refuses a name that something is about to get (upload, folder, rename, copy) when it is reserved.
 * @throws UnsafeNameError
 */
export const requireFreeName = (settings: ReservingSettings, name: string): void => {
  if (isReservedName(settings, name)) throw new UnsafeNameError('This name is reserved.');
};
