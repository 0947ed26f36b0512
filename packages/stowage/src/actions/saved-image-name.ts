import type { Settings } from '../config/settings.ts';
import { extensionOf, splitExtension } from '../basics/content/extension.ts';
import { sanitizeName } from '../basics/content/file-name.ts';
import { BrokenImageError } from '../errors/errors.ts';
import type { ActionContext } from './action.ts';
import { pictureOf } from '../changes/incoming.ts';
import { newFileName, typeNotAllowed, type NamingSettings } from '../changes/new-name.ts';
import type { UploadedFile } from '../changes/uploaded-file.ts';

/** Extensions of pictures, besides what the source counts as images. */
const PICTURES = new Set('jpg jpeg png gif webp avif bmp ico tif tiff svg'.split(' '));

/** @throws BrokenImageError when the file is not an SVG file that can be cleaned */
export const requireSvg = async (
  { services, signal }: ActionContext,
  upload: UploadedFile,
): Promise<void> => {
  await services.images.clean('picture.svg', pictureOf(upload), () => Promise.resolve(), signal);
};

/** The extension for a target that has none: that of `name`, else that of the content. */
const missingExtension = async (
  context: ActionContext,
  upload: UploadedFile,
  name: string | undefined,
): Promise<string> => {
  const given = name === undefined ? '' : splitExtension(name).extension;
  if (given !== '') return given;
  const { services, signal } = context;
  try {
    return await services.images.verify(pictureOf(upload), signal);
  } catch (error) {
    if (!(error instanceof BrokenImageError)) throw error;
    await requireSvg(context, upload).catch((reason: unknown) => {
      // The client did not say that it is an SVG file.
      throw reason instanceof BrokenImageError ? error : reason;
    });
    return 'svg';
  }
};

/**
 * @throws TypeNotAllowedError: whatever the bytes are, nothing but pictures is saved as the work of an image
 *   editor
 */
export const requirePictureName = (settings: Pick<Settings, 'imageExtensions'>, name: string): void => {
  const extension = extensionOf(name) ?? '';
  if (PICTURES.has(extension) || settings.imageExtensions.includes(extension)) return;
  throw typeNotAllowed(name);
};

/**
 * The name that an edited picture is wanted under: `newname`, else `name`, else that of the upload. One
 * without extension gets that of `name`, else that of the content. `name` itself comes back as it is, however
 * unsafe: it may be that of an existing file.
 * @throws BrokenImageError when the content has to decide and is not a picture; errors of `newFileName`
 */
export const savedImageName = async (
  context: ActionContext,
  settings: NamingSettings,
  upload: UploadedFile,
  { name, newname }: { readonly name: string | undefined; readonly newname: string | undefined },
): Promise<string> => {
  const wanted = newname ?? name ?? upload.filename;
  const isOwn = newname === undefined || newname.normalize('NFC') === name;
  if (name !== undefined && isOwn && splitExtension(name).extension !== '') return name;
  const safe = sanitizeName(wanted);
  const isBare = safe !== '' && splitExtension(safe).extension === '';
  return newFileName(settings, isBare ? `${safe}.${await missingExtension(context, upload, name)}` : safe);
};
