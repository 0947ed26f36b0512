import {
  foldedFor,
  isHiddenName,
  isServerConfigName,
  isWindowsDevice,
  sanitizeName,
  shownName,
  withExtension,
  withSingleExtension,
} from '../basics/content/file-name.ts';
import { extensionOf, hasAllowedExtension, isSameType, splitExtension } from '../basics/content/file-type.ts';
import type { Settings } from '../config/settings.ts';
import { TypeNotAllowedError, UnsafeNameError } from '../errors/errors.ts';
import type { Received } from '../pictures/engine.ts';
import type { Entry, EntryKind } from '../storage/adapter.ts';
import type { SourcePath } from '../storage/source-path.ts';
import { requireFreeName, type ReservingSettings } from '../view/rights.ts';
import type { SourceView } from '../view/source-view.ts';
import { storeOf } from '../view/writable.ts';
import type { ChangeContext, UploadKeys } from './change.ts';
import { isFree, nameTaken } from './names.ts';
import { fileTooLarge, withFileName } from './uploaded-file.ts';

/** The settings that decide about file names. */
export type NamingSettings = ReservingSettings & Pick<Settings, 'extensions' | 'forceSingleExtension'>;

const sanitized = (text: string): string => {
  const name = sanitizeName(text);
  if (name === '') throw new UnsafeNameError('The name must not be empty.');
  return name;
};

export const typeNotAllowed = (name: string): TypeNotAllowedError => {
  const extension = extensionOf(name);
  return new TypeNotAllowedError({ details: { name, ...(extension === undefined ? {} : { extension }) } });
};

const nameNotAllowed = (name: string): TypeNotAllowedError =>
  new TypeNotAllowedError({ message: `"${name}": this name is not allowed.`, details: { name } });

/** Requires a replacement of the same type, by its uploaded name. @throws TypeNotAllowedError */
export const requireSameType = ({ name }: SourcePath, filename: string): void => {
  if (!isSameType(filename, name)) throw typeNotAllowed(sanitizeName(filename));
};

const allowedName = (settings: NamingSettings, sanitizedName: string): string => {
  const name = settings.forceSingleExtension ? withSingleExtension(sanitizedName) : sanitizedName;
  if (!hasAllowedExtension(name, settings.extensions)) {
    throw typeNotAllowed(name);
  }
  if (isServerConfigName(name)) throw nameNotAllowed(name);
  if (isHiddenName(name)) {
    const message = `"${name}": a file name must not begin with a dot.`;
    throw new UnsafeNameError({ message, details: { name } });
  }
  requireFreeName(settings, name);
  return name;
};

/**
 * The name of a new file for the text that the client sent. Every action that names a file uses this function
 * or `renamedFileName`, so that the same rules hold as for uploads.
 * @throws UnsafeNameError (400) empty, reserved or with a leading dot; TypeNotAllowedError (403) by
 * extension, for a file that web servers read as configuration, or for the name of a Windows device
 */
export const newFileName = (settings: NamingSettings, text: string): string => {
  // Sanitised, it would lose its extension, and the error would name `_`.
  if (isWindowsDevice(text)) throw nameNotAllowed(shownName(text));
  return allowedName(settings, sanitized(text));
};

/** The new name of a file that keeps its extension: `b.php` for `a.jpg` becomes `b.php.jpg`. */
export const renamedFileName = (settings: NamingSettings, current: string, text: string): string =>
  allowedName(settings, withExtension(sanitized(text), splitExtension(current).extension));

/** The name of a new or renamed folder. @throws UnsafeNameError (400) empty or reserved */
export const newFolderName = (settings: ReservingSettings, text: string): string => {
  const name = sanitized(text);
  requireFreeName(settings, name);
  return name;
};

/** The new name of an existing item. Errors as `renamedFileName` and `newFolderName`. */
export const renamedName = (
  settings: NamingSettings,
  { kind, name }: { readonly kind: EntryKind; readonly name: string },
  text: string,
): string => (kind === 'folder' ? newFolderName(settings, text) : renamedFileName(settings, name, text));

/** Extensions of pictures, in addition to the image extensions of the source. SVG is cleaned, not decoded. */
const PICTURES = new Set('jpg jpeg jpe jfif png apng gif webp avif bmp ico tif tiff heic heif'.split(' '));

/** Whether the name is that of a HEIC picture, a format that is never stored with `uploadImages`. */
const isHeicName = (name: string): boolean => ['heic', 'heif'].includes(extensionOf(name) ?? '');

/** The image policy for an uploaded file of this name; undefined for files that are not pictures. */
export const policyFor = (
  { uploadImages, imageExtensions }: Pick<Settings, 'uploadImages' | 'imageExtensions'>,
  name: string,
): NonNullable<Settings['uploadImages']> | undefined => {
  const extension = extensionOf(name) ?? '';
  if (extension === 'svg') return undefined;
  return PICTURES.has(extension) || imageExtensions.includes(extension) ? uploadImages : undefined;
};

/** The uploaded name with an extension of the format. */
export const nameFor = (filename: string, extensions: Received['extensions']): string => {
  const name = sanitizeName(filename);
  if (extensions.includes(extensionOf(name) ?? '')) return name;
  const { stem } = splitExtension(name);
  return stem === '' ? '' : `${stem}.${extensions[0]}`;
};

/** The probable name of a picture, before its bytes arrive; the final one depends on its content. */
export const expectedName = (
  settings: Settings,
  filename: string,
  format = settings.uploadImages?.format,
): string => {
  const policy = policyFor(settings, filename);
  const extension = extensionOf(filename) ?? '';
  if (policy === undefined || extension === 'ico') return filename;
  const keeps = format === 'keep' || (extension === 'gif' && format !== 'webp');
  if (keeps && !isHeicName(filename)) return filename;
  const isJpeg = format === 'keep' || format === 'jpeg';
  return nameFor(filename, isJpeg ? ['jpg', 'jpeg'] : [format ?? 'jpg']);
};

/**
 * The name under which an item of another source may enter a source with these settings: the same as for an
 * upload or a new folder. Pictures keep their format and name, except HEIC.
 * @throws TypeNotAllowedError, FileTooLargeError (403), UnsafeNameError (400)
 */
export const incomingName = (settings: Settings, { name, kind, size }: Entry): string => {
  if (kind === 'folder') return newFolderName(settings, name);
  const allowed = newFileName(settings, isHeicName(name) ? expectedName(settings, name, 'keep') : name);
  if (size !== undefined && size > settings.maxUploadFileSize)
    throw fileTooLarge(name, settings.maxUploadFileSize);
  return allowed;
};

/** The probable name of an upload; that of a picture depends on its content. */
export const uploadName = (settings: Settings, filename: string): string =>
  newFileName(settings, expectedName(settings, filename));

/** As `uploadName`, and checks the rules for all keys. @throws AccessDeniedError, and as `uploadName` */
export const checkName = (
  open: SourceView,
  folder: SourcePath,
  filename: string,
  keys: readonly string[],
): string => {
  const name = uploadName(open.source.settings, filename);
  open.require(keys, folder.child(name), 'file');
  return name;
};

/**
 * Rejects names that are taken, or used twice, before anything is stored.
 * @throws AlreadyExistsError, with a message for each of them
 */
export const requireUntaken = async (
  { signal }: Pick<ChangeContext, 'signal'>,
  open: SourceView,
  folder: SourcePath,
  names: readonly { readonly name: string; readonly sent: string; readonly isFree?: boolean }[],
): Promise<void> => {
  const storage = storeOf(open);
  const wanted = new Set<string>();
  const taken: (typeof names)[number][] = [];
  for (const one of names) {
    const key = foldedFor(storage, one.name);
    const isTaken =
      wanted.has(key) ||
      (one.isFree !== true && !(await isFree({ storage, signal }, folder.child(one.name))));
    if (isTaken) taken.push(one);
    wanted.add(key);
  }
  const [first, ...others] = taken;
  if (first === undefined) return;
  await withFileName(first.sent, () => {
    throw nameTaken([first.name, ...others.map(({ name }) => name)]);
  });
};

/** The properties of an upload that are known before its bytes arrive. */
interface WantedUpload {
  readonly folder: SourcePath;
  readonly filename: string;
  /** Size, where it is known. */
  readonly bytes?: number;
  readonly keys?: UploadKeys;
}

/**
 * Checks an upload before its bytes arrive: its name, the rules of all the keys, its size and its folder.
 * Returns the name that it will probably get. Checks that depend on the content, and those whose result may
 * change, are repeated when it is stored.
 * @throws UnsafeNameError, TypeNotAllowedError, AccessDeniedError, FileTooLargeError, NotFoundError,
 * AlreadyExistsError
 */
export const checkUpload = async (
  context: Pick<ChangeContext, 'signal'>,
  open: SourceView,
  { folder, filename, bytes = 0, keys = ['FILE_UPLOAD'] }: WantedUpload,
): Promise<string> => {
  const { maxUploadFileSize, saveSameFileNameStrategy } = open.source.settings;
  const name = checkName(open, folder, filename, keys);
  if (bytes > maxUploadFileSize) throw fileTooLarge(filename, maxUploadFileSize);
  await open.requireFolder(folder);
  if (saveSameFileNameStrategy === 'error')
    await requireUntaken(context, open, folder, [{ name, sent: filename }]);
  return name;
};
