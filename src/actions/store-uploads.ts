import { extensionOf } from '../content/extension.ts';
import { foldedFor } from '../content/letter-case.ts';
import { mimeTypeOf } from '../content/mime-type.ts';
import type { PictureSize, ReceivingPolicy } from '../images/engine.ts';
import type { Stat } from '../storage/adapter.ts';
import type { SourcePath } from '../storage/source-path.ts';
import { placeStaged } from '../storage/staging.ts';
import type { ActionContext } from './action.ts';
import { announce, report } from './changes.ts';
import { cleanedUpload, incomingName, pictureOf } from './incoming-policy.ts';
import {
  expectedName,
  keepOriginal,
  policyFor,
  prepareThumbnail,
  receiveUpload,
  withdraw,
} from './incoming-picture.ts';
import { requireFolder } from './item.ts';
import { isFree, nameTaken, storeByStrategy } from './naming.ts';
import type { OpenSource } from './open-source.ts';
import { newFileName } from './new-name.ts';
import { putting } from './removal.ts';
import { fileTooLarge, naming, type UploadedFile } from './uploaded-file.ts';

/** An uploaded file that passed every check, with the name it is to get. */
export interface PlannedUpload {
  readonly upload: UploadedFile;
  readonly name: string;
  /** Of a picture as it is seen, as far as its header is readable. */
  readonly seen: PictureSize | undefined;
  /** A picture as it came, that is kept beside the one that is stored. */
  readonly original?: UploadedFile | undefined;
}

/**
 * Checks an uploaded picture and makes of it what the source wants to be stored. Its name follows its format.
 */
const preparePicture = async (
  context: ActionContext,
  open: OpenSource,
  folder: SourcePath,
  upload: UploadedFile,
  policy: ReceivingPolicy,
): Promise<PlannedUpload> => {
  const { access, source } = open;
  const nameOf = (filename: string): string => {
    const name = newFileName(source.settings, filename);
    access.require('FILE_UPLOAD', folder.child(name), extensionOf(name));
    return name;
  };
  const { maxUploadFileSize } = source.settings;
  if (upload.staged.size > maxUploadFileSize) throw fileTooLarge(upload.filename, maxUploadFileSize);
  const wanted = nameOf(expectedName(source.settings, upload.filename));
  const bytes = upload.staged.size;
  const created = { type: 'file.created', source, path: folder.child(wanted), bytes } as const;
  const changed = (await announce(context, created)) ?? upload.filename;
  if (changed !== upload.filename) nameOf(expectedName(source.settings, changed));
  const named = { ...upload, filename: changed };
  const { filename, ...received } = await receiveUpload(context, open, named, policy);
  try {
    return { ...received, name: nameOf(filename) };
  } catch (error) {
    await received.upload.staged.discard();
    throw error;
  }
};

/**
 * Checks one uploaded file and prepares its content for storing: every uploaded file passes here. The caller
 * discards the result at the end.
 * @throws UnsafeNameError, BrokenImageError for SVG that cannot be cleaned, and with `uploadImages` for
 *   pictures that do not decode (400), TypeNotAllowedError, FileTooLargeError, AccessDeniedError (403),
 *   UnsupportedError (501)
 */
export const prepareUpload = async (
  context: ActionContext,
  open: OpenSource,
  folder: SourcePath,
  upload: UploadedFile,
): Promise<PlannedUpload> => {
  const { source, access } = open;
  const { filename, staged } = upload;
  const policy = policyFor(source.settings, filename);
  if (policy !== undefined) return preparePicture(context, open, folder, upload, policy);
  // The edge stops at the largest limit of the sources; here the source's own holds.
  const arrived = { name: filename, kind: 'file', size: staged.size, modifiedAt: undefined } as const;
  const check = (wanted: string): string => {
    const allowed = incomingName(source.settings, { ...arrived, name: wanted });
    access.require('FILE_UPLOAD', folder.child(allowed), extensionOf(allowed));
    return allowed;
  };
  const first = check(filename);
  const created = { type: 'file.created', source, path: folder.child(first), bytes: staged.size } as const;
  const changed = await announce(context, created);
  const name = changed === undefined ? first : check(changed);
  const cleaned = await cleanedUpload(context, open, upload, name);
  const isImage = mimeTypeOf(name).startsWith('image/');
  const seen = isImage ? await context.services.images.measure(pictureOf(cleaned)) : undefined;
  return { upload: cleaned, name, seen };
};

/**
 * Refuses names that are taken, or wanted twice, while nothing has been stored yet. @throws
 * AlreadyExistsError
 */
export const requireUntaken = async (
  { signal }: ActionContext,
  { storage }: OpenSource,
  folder: SourcePath,
  names: readonly string[],
): Promise<void> => {
  const wanted = new Set<string>();
  for (const name of names) {
    const key = foldedFor(storage, name);
    if (wanted.has(key) || !(await isFree({ storage, signal }, folder.child(name)))) throw nameTaken(name);
    wanted.add(key);
  }
};

/**
 * Refuses what can be refused of an upload before its bytes are there: its name, by the rules of all the keys,
 * and its folder.
 */
export const checkUploadTarget = async (
  context: ActionContext,
  open: OpenSource,
  folder: SourcePath,
  filename: string,
  keys: readonly string[] = ['FILE_UPLOAD'],
): Promise<void> => {
  const { settings } = open.source;
  const name = newFileName(settings, expectedName(settings, filename));
  for (const key of keys) open.access.require(key, folder.child(name), extensionOf(name));
  await requireFolder(open, folder, context.signal);
  if (settings.saveSameFileNameStrategy === 'error') await requireUntaken(context, open, folder, [name]);
};

/** A file that has got its name. */
export interface StoredUpload {
  readonly path: SourcePath;
  readonly stat: Stat;
  readonly bytes: number;
  readonly seen: PictureSize | undefined;
  readonly replaced: boolean;
  /** Less is stored than was uploaded. */
  readonly isReduced: boolean;
}

/**
 * Stores one file by the source's strategy. `isUsed`: the request has used the name, so that it is not
 * replaced.
 */
export const storeUpload = async (
  context: ActionContext,
  open: OpenSource,
  folder: SourcePath,
  { upload, name, seen, original }: PlannedUpload,
  isUsed = false,
): Promise<StoredUpload> => {
  const { source, storage, access } = open;
  const { settings } = source;
  const { services, signal } = context;
  const wanted = settings.saveSameFileNameStrategy;
  const strategy = isUsed && wanted === 'replace' ? 'addNumber' : wanted;
  const file = {
    storage,
    folder,
    name,
    strategy,
    settings,
    reservations: services.reservations,
    signal,
  };
  const { stored, replaced } = await storeByStrategy(file, async (path, { createOnly }) => {
    access.require('FILE_UPLOAD', path, extensionOf(path.name));
    const options = { signal, ...(createOnly === undefined ? {} : { createOnly }) };
    const write = async (): Promise<{ path: SourcePath; stat: Stat }> => ({
      path,
      stat: await placeStaged(upload.staged, upload.stagedIn, storage, path, options),
    });
    return putting(context, open, path, { bytes: upload.staged.size, createOnly }, write);
  });
  const bytes = upload.staged.size;
  const one = { ...stored, bytes, seen, replaced, isReduced: upload.isReduced === true };
  await keepOriginal(context, open, one, original);
  return one;
};

/** Reports a stored file. */
export const reportUpload = (
  context: ActionContext,
  { source }: OpenSource,
  { path, bytes, replaced }: StoredUpload,
): Promise<void> =>
  report(context, { type: replaced ? 'file.replaced' : 'file.created', source, path, bytes });

/**
 * Stores the files of one request in a folder, in their order; none replaces another of them, whatever the
 * strategy. When one fails, those before it are withdrawn, except where they have replaced an older file.
 */
export const storeUploads = async (
  context: ActionContext,
  open: OpenSource,
  folder: SourcePath,
  planned: readonly PlannedUpload[],
): Promise<readonly StoredUpload[]> => {
  const stored: StoredUpload[] = [];
  const used = new Set<string>();
  const keyOf = (name: string): string => foldedFor(open.storage, name);
  try {
    for (const plan of planned) {
      const one = await storeUpload(context, open, folder, plan, used.has(keyOf(plan.name)));
      stored.push(one);
      used.add(keyOf(one.path.name));
    }
  } catch (error) {
    await withdraw(context, open, stored);
    throw error;
  }
  for (const one of stored) await reportUpload(context, open, one);
  return stored;
};

/**
 * Stores uploaded files in a folder, and has the thumbnails of pictures follow: all files are checked before the
 * first is stored. What is made of them is discarded here, they themselves by the caller.
 */
export const uploadInto = async (
  context: ActionContext,
  open: OpenSource,
  folder: SourcePath,
  files: readonly UploadedFile[],
): Promise<readonly StoredUpload[]> => {
  const planned: PlannedUpload[] = [];
  try {
    for (const file of files) {
      planned.push(await naming(file.filename, () => prepareUpload(context, open, folder, file)));
    }
    await requireFolder(open, folder, context.signal);
    if (open.source.settings.saveSameFileNameStrategy === 'error') {
      const names = planned.map(({ name }) => name);
      await requireUntaken(context, open, folder, names);
    }
    const stored = await storeUploads(context, open, folder, planned);
    for (const one of stored) {
      const { path, replaced } = one;
      if (replaced) await context.services.thumbnails.changed({ source: open.source, path });
      await prepareThumbnail(context, open, one);
    }
    return stored;
  } finally {
    await Promise.all(planned.map(({ upload }) => upload.staged.discard()));
  }
};
