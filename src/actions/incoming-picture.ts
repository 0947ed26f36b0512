import { Readable } from 'node:stream';
import type { Settings } from '../config/settings.ts';
import { extensionOf, splitExtension } from '../content/extension.ts';
import { sanitizeName } from '../content/file-name.ts';
import { ChangedMeanwhileError, NotFoundError } from '../errors/errors.ts';
import type { Received, ReceivingPolicy } from '../images/engine.ts';
import type { DrawnThumbnail } from '../images/thumbnails.ts';
import type { PictureFile } from '../images/image-pool.ts';
import type { Stat } from '../storage/adapter.ts';
import type { SourcePath } from '../storage/source-path.ts';
import { placeStaged, stageContent } from '../storage/staging.ts';
import type { ActionContext } from './action.ts';
import { storeByStrategy } from './naming.ts';
import type { OpenSource } from './open-source.ts';
import { type PutMode, putting } from './removal.ts';
import { quotaKeyOf, quotaOf } from './room.ts';
import type { UploadedFile } from './uploaded-file.ts';

/** Extensions of pictures, besides what the source counts as images. Drawings are cleaned, not decoded. */
const PICTURES = new Set('jpg jpeg jpe jfif png apng gif webp avif bmp ico tif tiff heic heif'.split(' '));

/** Whether a name says that a file is a HEIC picture, which is never stored as that with `uploadImages`. */
export const isHeicName = (name: string): boolean => ['heic', 'heif'].includes(extensionOf(name) ?? '');

/** What the source wants of a picture of this name that comes in; undefined for other files. */
export const policyFor = (
  { uploadImages, imageExtensions }: Pick<Settings, 'uploadImages' | 'imageExtensions'>,
  name: string,
): NonNullable<Settings['uploadImages']> | undefined => {
  const extension = extensionOf(name) ?? '';
  if (extension === 'svg') return undefined;
  return PICTURES.has(extension) || imageExtensions.includes(extension) ? uploadImages : undefined;
};

/** The name as it was sent, with the extension of the format. */
const nameFor = (filename: string, extensions: Received['extensions']): string => {
  const name = sanitizeName(filename);
  if (extensions.includes(extensionOf(name) ?? '')) return name;
  const { stem } = splitExtension(name);
  return stem === '' ? '' : `${stem}.${extensions[0]}`;
};

/** A picture that came in, in the form that is to be stored. */
export interface ReceivedUpload {
  readonly upload: UploadedFile;
  /** With the extension of its format; not checked yet. */
  readonly filename: string;
  readonly seen: Received['size'];
  /** What was uploaded, when that is kept beside what is stored. */
  readonly original: UploadedFile | undefined;
  /** Drawn while its bytes are in memory. */
  readonly thumbnail: DrawnThumbnail | undefined;
}

/**
 * Makes of an uploaded picture what the policy says. What comes out is staged in the source's store, for the
 * caller to discard; what was uploaded is discarded unless it is kept.
 * @throws BrokenImageError for what is not a picture or does not decode, UnsupportedError for
 *   HEIC without the package that reads it
 */
export const receiveUpload = async (
  { services, signal }: ActionContext,
  { storage, source }: OpenSource,
  upload: UploadedFile,
  policy: ReceivingPolicy,
): Promise<ReceivedUpload> => {
  const picture: PictureFile = { size: upload.staged.size, open: () => upload.staged.open() };
  const received = await services.images.receive(
    picture,
    policy,
    async ({ bytes, isChanged, extensions, size }) => {
      const content = (): Readable => Readable.from([bytes], { objectMode: false });
      const options = { near: upload.near, signal };
      const staged = isChanged ? await stageContent(storage, content(), options) : undefined;
      const filename = nameFor(upload.filename, extensions);
      try {
        const thumbnail = await services.thumbnails.draw(source, filename, bytes, signal);
        return { staged, filename, seen: size, thumbnail };
      } catch (error) {
        await staged?.discard();
        throw error;
      }
    },
    signal,
  );
  const { staged, filename, seen, thumbnail } = received;
  if (staged === undefined) return { upload, filename, seen, original: undefined, thumbnail };
  const isKept = (source.settings.uploadImages?.keepOriginal ?? false) !== false;
  if (!isKept) await upload.staged.discard();
  const stored = { ...upload, staged, stagedIn: storage };
  return { upload: stored, filename, seen, original: isKept ? upload : undefined, thumbnail };
};

const storeOriginal = async (
  context: ActionContext,
  open: OpenSource,
  stored: SourcePath,
  { filename, staged, stagedIn }: UploadedFile,
): Promise<JustStored | undefined> => {
  const {
    source: { settings },
    storage,
  } = open;
  const { signal } = context;
  const { reservations } = context.services;
  const folderName = settings.uploadImages?.keepOriginal ?? false;
  if (folderName === false) return undefined;
  const name = sanitizeName(`${splitExtension(stored.name).stem}.${splitExtension(filename).extension}`);
  const folder = stored.parent.child(folderName);
  const { stored: kept, replaced } = await storeByStrategy(
    { storage, folder, name, strategy: 'addNumber', settings, reservations, signal },
    async (target, options) => {
      const write = (how: PutMode): Promise<Stat> =>
        placeStaged(staged, stagedIn, storage, target, { ...how, signal });
      const stat = await putting(context, open, target, { bytes: staged.size, ...options }, write);
      return { path: target, stat };
    },
  );
  return { ...kept, replaced };
};

/** A file that has just been stored, with its version. */
export interface JustStored {
  readonly path: SourcePath;
  readonly stat: Stat;
  readonly replaced: boolean;
}

/**
 * Removes what a request has stored before it failed. A file that somebody has changed since then stays, and
 * so does one that has replaced another: the older content is gone, and the new one is better than none.
 * Works without the request's signal, which may be the reason of the failure.
 */
export const withdraw = async (
  { log, services, holdSources }: ActionContext,
  open: OpenSource,
  stored: readonly JustStored[],
): Promise<void> => {
  const isCounted = quotaOf(open, holdSources) !== undefined;
  for (const { path, stat, replaced } of stored) {
    if (replaced) continue;
    try {
      const remove = (): Promise<void> => open.storage.removeFile(path, { ifUnchanged: stat });
      const freed = { bytes: stat.size ?? 0, files: 1 };
      await (isCounted ? services.quotas.freeing(quotaKeyOf(open.source), freed, remove) : remove());
    } catch (error) {
      if (error instanceof NotFoundError || error instanceof ChangedMeanwhileError) continue;
      log.warn('A failed upload could not be withdrawn.', { error });
    }
  }
};

/**
 * Stores a picture as it came in the hidden folder beside what was made of it, under the same name with its
 * own extension. Never replaces another: a taken name gets a number. When it fails, what was made is
 * withdrawn. Returns the original, where one is kept.
 */
export const keepOriginal = async (
  context: ActionContext,
  open: OpenSource,
  stored: JustStored,
  original: UploadedFile | undefined,
): Promise<JustStored | undefined> => {
  if (original === undefined) return undefined;
  try {
    return await storeOriginal(context, open, stored.path, original);
  } catch (error) {
    await withdraw(context, open, [stored]);
    throw error;
  }
};

/** Stores the thumbnail of a picture that has come in, where one was drawn of it. */
export const keepThumbnail = async (
  { services }: ActionContext,
  { source }: OpenSource,
  { path, stat }: JustStored,
  thumbnail: DrawnThumbnail | undefined,
): Promise<void> => {
  if (thumbnail === undefined) return;
  await services.thumbnails.keep({ source, path, stat }, thumbnail);
};

/**
 * The name that a picture will probably have when it has come in: the real one follows its content. For
 * checks before its bytes are there.
 */
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
