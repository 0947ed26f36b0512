import type { Settings } from '../config/settings.ts';
import { extensionOf, hasAllowedExtension, splitExtension } from '../basics/content/file-type.ts';
import {
  isHiddenName,
  isServerConfigName,
  sanitizeName,
  withExtension,
  withSingleExtension,
} from '../basics/content/file-name.ts';
import { TypeNotAllowedError, UnsafeNameError } from '../errors/errors.ts';
import type { EntryKind } from '../storage/adapter.ts';
import { requireFreeName, type ReservingSettings } from '../view/reserved.ts';

/** The settings that decide about names of files. */
export type NamingSettings = ReservingSettings & Pick<Settings, 'extensions' | 'forceSingleExtension'>;

const sanitized = (text: string): string => {
  const name = sanitizeName(text);
  if (name === '') throw new UnsafeNameError('The name must not be empty.');
  return name;
};

/** The refusal of a file by the extension of its name. */
export const typeNotAllowed = (name: string): TypeNotAllowedError => {
  const extension = extensionOf(name);
  return new TypeNotAllowedError({ details: { name, ...(extension === undefined ? {} : { extension }) } });
};

const allowedName = (settings: NamingSettings, sanitizedName: string): string => {
  const name = settings.forceSingleExtension ? withSingleExtension(sanitizedName) : sanitizedName;
  if (!hasAllowedExtension(name, settings.extensions)) {
    throw typeNotAllowed(name);
  }
  if (isServerConfigName(name)) {
    throw new TypeNotAllowedError({ message: `"${name}": this name is not allowed.`, details: { name } });
  }
  if (isHiddenName(name)) {
    const message = `"${name}": a file name must not begin with a dot.`;
    throw new UnsafeNameError({ message, details: { name } });
  }
  requireFreeName(settings, name);
  return name;
};

/**
 * The name that a new file gets for what the client sent. Every action that names a file goes through here or
 * through `renamedFileName`, so that none is laxer than the upload.
 * @throws UnsafeNameError (400) empty, reserved or with a leading dot; TypeNotAllowedError (403) by
 *   extension, or a file that web servers obey
 */
export const newFileName = (settings: NamingSettings, text: string): string =>
  allowedName(settings, sanitized(text));

/**
 * The new name of a file that keeps its extension: `b` and `b.php` for `a.jpg` give `b.jpg` and `b.php.jpg`.
 * Errors as `newFileName`.
 */
export const renamedFileName = (settings: NamingSettings, current: string, text: string): string =>
  allowedName(settings, withExtension(sanitized(text), splitExtension(current).extension));

/** The name of a new or renamed folder. @throws UnsafeNameError (400) empty or reserved */
export const newFolderName = (settings: ReservingSettings, text: string): string => {
  const name = sanitized(text);
  requireFreeName(settings, name);
  return name;
};

/** The new name of something that exists. Errors as `renamedFileName` and `newFolderName`. */
export const renamedName = (
  settings: NamingSettings,
  { kind, name }: { readonly kind: EntryKind; readonly name: string },
  text: string,
): string => (kind === 'folder' ? newFolderName(settings, text) : renamedFileName(settings, name, text));
