import type { Access } from '../access/access.ts';
import { SYSTEM_FILES } from '../basics/content/file-name.ts';
import type { Settings } from '../config/settings.ts';
import { NotFoundError, UnsafeNameError } from '../errors/errors.ts';
import { hasThumbnailFolder } from '../pictures/kept/plan.ts';
import type { EntryKind } from '../storage/entry.ts';
import type { SourcePath } from '../storage/source-path.ts';

export type { Access } from '../access/access.ts';

/** The access keys that an action needs, by kind of the item; all keys of a list are needed. */
export type KeysByKind = Readonly<Record<EntryKind, readonly string[]>>;

export const forBoth = (...keys: readonly string[]): KeysByKind => ({ file: keys, folder: keys });

/** `FILE_MOVE`, `FOLDER_COPY`…: the key for the actual kind of the item. */
export const itemKey = <Verb extends string>(
  kind: EntryKind,
  verb: Verb,
): `FILE_${Verb}` | `FOLDER_${Verb}` => (kind === 'file' ? `FILE_${verb}` : `FOLDER_${verb}`);

/** Keys needed at the target of a restored item, including those for creating it. */
export const RESTORE_KEYS: KeysByKind = {
  file: ['TRASH_RESTORE', 'FILE_UPLOAD'],
  folder: ['TRASH_RESTORE', 'FOLDER_CREATE'],
};

/** The key that a listing needs to show an entry. */
export const LISTING_KEY: Readonly<Record<EntryKind, string>> = { file: 'FILES', folder: 'FOLDERS' };

/** The keys for a link to a file or its thumbnail, in sources that check rules for links. */
export const FILE_KEYS: readonly string[] = ['FILE_DOWNLOAD'];

/** The keys for a link to a variant, which shows the content of the file too. */
export const VARIANT_KEYS: readonly string[] = [...FILE_KEYS, 'IMAGE_VARIANT'];

export const SEEING_KEYS: KeysByKind = { file: ['FILES', ...FILE_KEYS], folder: ['FOLDERS'] };

export interface Rights {
  readonly from: Access;
  readonly to: Access;
}

/** The current path of an item, and the one that it gets. */
export interface ItemPaths {
  readonly from: SourcePath;
  readonly to: SourcePath;
  readonly kind: EntryKind;
}

/**
 * Rejects a new path that would show an item to a role that could not see it: each key for seeing it that is
 * allowed at the target must be allowed at the current path too.
 * @throws AccessDeniedError
 */
export const requireStaysHidden = (rights: Rights, { from, to, kind }: ItemPaths): void => {
  const shown = SEEING_KEYS[kind].filter((key) => rights.to.may(key, to, kind));
  rights.from.require(shown, from, kind);
};

/** Checks keys at the current path and at the target. @see requireStaysHidden @throws AccessDeniedError */
export const requireBothLocations = (
  rights: Rights,
  keys: string | readonly string[],
  paths: ItemPaths,
): void => {
  rights.from.require(keys, paths.from, paths.kind);
  rights.to.require(keys, paths.to, paths.kind);
  requireStaysHidden(rights, paths);
};

export type ReservingSettings = Pick<
  Settings,
  'excludeDirectoryNames' | 'createThumb' | 'thumbFolderName' | 'imagePresets' | 'uploadImages'
>;

const escaped = (text: string): string => text.normalize('NFC').replaceAll(/[\\^$.*+?()[\]{}|/]/gu, '\\$&');

/**
 * The internal folders, those of later versions, and their copies: an administrator has put a trash aside as
 * `.stowage-trash.old`, or a program that synchronizes folders has made a second one.
 */
const INTERNAL = String.raw`\.stowage-.*`;

/** Matches reserved names in NFC. @see reservedNames */
export const reservedPattern = (settings: ReservingSettings): RegExp => {
  const originals = settings.uploadImages?.keepOriginal ?? false;
  const names = [
    ...settings.excludeDirectoryNames,
    ...(hasThumbnailFolder(settings) ? [settings.thumbFolderName] : []),
    ...(originals === false ? [] : [originals]),
  ];
  // A pattern, not a set of folded names: it folds case as file systems do and stops at the first difference.
  return new RegExp(`^(?:${[INTERNAL, SYSTEM_FILES, ...names.map(escaped)].join('|')})$`, 'iu');
};

/**
 * Compiles the test for reserved names: `excludeDirectoryNames`, the thumbnail folder while thumbnails or
 * variants are enabled, the folder of originals while they are kept, files of operating systems, and all
 * names that begin with `.stowage-`, as the internal folders do. Reserved names are hidden, no action can
 * reach them, and no item can get one. Letter case is ignored, because a store may hold `_thumbs` and
 * also find it as `_THUMBS`. Compile once per request; then about 20 ns a name.
 */
export const reservedNames = (settings: ReservingSettings): ((name: string) => boolean) => {
  const pattern = reservedPattern(settings);
  return (name) => pattern.test(name.normalize('NFC'));
};

/** Whether the name is reserved with these settings. For many names compile `reservedNames` once. */
export const isReservedName = (settings: ReservingSettings, name: string): boolean =>
  reservedNames(settings)(name);

/**
 * Rejects a reserved path, or one inside a reserved folder, like a missing one.
 * @throws NotFoundError
 */
export const requireReachable = (settings: ReservingSettings, path: SourcePath): void => {
  if (path.segments.some(reservedNames(settings))) throw new NotFoundError();
};

/**
 * Rejects a reserved name for a new, renamed or copied item.
 * @throws UnsafeNameError
 */
export const requireFreeName = (settings: ReservingSettings, name: string): void => {
  if (isReservedName(settings, name)) throw new UnsafeNameError('This name is reserved.');
};
