import type { Settings } from '../config/settings.ts';
import { NotFoundError, UnsafeNameError } from '../errors/errors.ts';
import { hasThumbnailFolder } from '../pictures/kept/plan.ts';
import type { SourcePath } from '../storage/source-path.ts';
import { ABOUT_FOLDER } from '../storage/about/about.ts';
import { MOVED_FOLDER } from '../storage/moved/name-events.ts';
import { EMPTIED_FOLDER, TRASH_FOLDER } from '../storage/trash/trash-folder.ts';

/** The settings that reserve names. */
export type ReservingSettings = Pick<
  Settings,
  'excludeDirectoryNames' | 'createThumb' | 'thumbFolderName' | 'imagePresets' | 'uploadImages'
>;

const escaped = (text: string): string => text.normalize('NFC').replaceAll(/[\\^$.*+?()[\]{}|/]/gu, '\\$&');

/** Matches the names that are reserved, in NFC. @see reservedNames */
export const reservedPattern = (settings: ReservingSettings): RegExp => {
  const originals = settings.uploadImages?.keepOriginal ?? false;
  const names = [
    TRASH_FOLDER,
    EMPTIED_FOLDER,
    MOVED_FOLDER,
    ABOUT_FOLDER,
    ...settings.excludeDirectoryNames,
    ...(hasThumbnailFolder(settings) ? [settings.thumbFolderName] : []),
    ...(originals === false ? [] : [originals]),
  ];
  // A pattern, not a set of folded names: it folds case as file systems do and gives up at the first letter.
  return new RegExp(`^(?:${names.map(escaped).join('|')})$`, 'iu');
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
