import { extensionOf } from '../content/extension.ts';
import { foldedFor } from '../content/letter-case.ts';
import { mimeTypeOf } from '../content/mime-type.ts';
import type { PictureSize, ReceivingPolicy } from '../images/engine.ts';
import type { DrawnThumbnail } from '../images/thumbnails.ts';
import type { Stat } from '../storage/adapter.ts';
import type { SourcePath } from '../storage/source-path.ts';
import { placeStaged } from '../storage/staging.ts';
import type { ActionContext } from './action.ts';
import { announce, report } from './changes.ts';
import { cleanedUpload, pictureOf } from './incoming-policy.ts';
import {
  expectedName,
  type JustStored,
  keepOriginal,
  policyFor,
  keepThumbnail,
  receiveUpload,
  withdraw,
} from './incoming-picture.ts';
import { requireFolder } from './item.ts';
import { isFree, nameTaken, storeByStrategy } from './naming.ts';
import type { OpenSource } from './open-source.ts';
import { newFileName } from './new-name.ts';
import { type PutMode, putting } from './removal.ts';
import { findStoredBefore } from './stored-before.ts';
import { fileTooLarge, naming, type UploadedFile } from './uploaded-file.ts';

/** An uploaded file that passed every check, with the name it is to get. */
export interface PlannedUpload {
  readonly upload: UploadedFile;
  readonly name: string;
  /** Of a picture as it is seen, as far as its header is readable. */
  readonly seen: PictureSize | undefined;
  /** A picture as it came, that is kept beside the one that is stored. */
  readonly original?: UploadedFile | undefined;
  /** Of a picture that was decoded, for `keepThumbnail`. */
  readonly thumbnail?: DrawnThumbnail | undefined;
}

/** Makes of a picture what the source wants to be stored. Its name follows its format. */
const preparePicture = async (
  context: ActionContext,
  open: OpenSource,
  upload: UploadedFile,
  policy: ReceivingPolicy,
  check: (name: string) => string,
): Promise<PlannedUpload> => {
  const { filename, ...received } = await receiveUpload(context, open, upload, policy);
  try {
    return { ...received, name: check(filename) };
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
  const { settings } = source;
  const { filename, staged } = upload;
  const bytes = staged.size;
  const check = (wanted: string): string => {
    const allowed = newFileName(settings, wanted);
    access.require('FILE_UPLOAD', folder.child(allowed), extensionOf(allowed));
    return allowed;
  };
  const first = check(expectedName(settings, filename));
  // The edge stops at the largest limit of the sources; here the source's own holds.
  if (bytes > settings.maxUploadFileSize) throw fileTooLarge(filename, settings.maxUploadFileSize);
  const change = { type: 'file.created', source, path: folder.child(first), bytes } as const;
  const changed = await announce(context, change);
  // What the host calls a picture is one: it is treated by the name that it gets.
  const named = changed === undefined ? upload : { ...upload, filename: changed };
  const name = changed === undefined ? first : check(expectedName(settings, changed));
  const policy = policyFor(settings, named.filename);
  if (policy !== undefined) return preparePicture(context, open, named, policy, check);
  const cleaned = await cleanedUpload(context, open, upload, name);
  const isImage = mimeTypeOf(name).startsWith('image/');
  const seen = isImage ? await context.services.images.measure(name, pictureOf(cleaned)) : undefined;
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
  names: readonly { readonly name: string; readonly sent: string }[],
): Promise<void> => {
  const wanted = new Set<string>();
  for (const { name, sent } of names) {
    const key = foldedFor(storage, name);
    await naming(sent, async () => {
      if (wanted.has(key) || !(await isFree({ storage, signal }, folder.child(name)))) throw nameTaken(name);
    });
    wanted.add(key);
  }
};

/**
 * Refuses what can be refused of an upload before its bytes are there: its name, by the rules of all the
 * keys, and its folder.
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
  if (settings.saveSameFileNameStrategy === 'error')
    await requireUntaken(context, open, folder, [{ name, sent: filename }]);
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
  /** The picture as it came, where it is kept. */
  readonly original: JustStored | undefined;
  readonly thumbnail: DrawnThumbnail | undefined;
}

/** Gives a file its name by the source's strategy, unless an earlier try is found to have done that. */
const placeUpload = async (
  context: ActionContext,
  open: OpenSource,
  wanted: SourcePath,
  { staged, stagedIn, mayBeStored }: UploadedFile,
  isUsed: boolean,
): Promise<Pick<StoredUpload, 'path' | 'stat' | 'replaced'>> => {
  const { source, storage, access } = open;
  const { settings } = source;
  const { services, signal } = context;
  const requireRight = (path: SourcePath): void =>
    access.require('FILE_UPLOAD', path, extensionOf(path.name));
  const before =
    mayBeStored === true ? await findStoredBefore({ storage, signal }, wanted, staged) : undefined;
  if (before !== undefined) {
    requireRight(before.path);
    return { ...before, replaced: false };
  }
  const { reservations } = services;
  const { parent: folder, name } = wanted;
  const strategy =
    isUsed && settings.saveSameFileNameStrategy === 'replace'
      ? 'addNumber'
      : settings.saveSameFileNameStrategy;
  const file = { storage, folder, name, strategy, settings, reservations, signal };
  const { stored, replaced } = await storeByStrategy(file, async (path, { createOnly }) => {
    requireRight(path);
    const write = async (how: PutMode): Promise<{ path: SourcePath; stat: Stat }> => ({
      path,
      stat: await placeStaged(staged, stagedIn, storage, path, { ...how, signal }),
    });
    return putting(context, open, path, { bytes: staged.size, createOnly }, write);
  });
  return { ...stored, replaced };
};

/**
 * Stores one file by the source's strategy. `isUsed`: the request has used the name, so that it is not
 * replaced.
 */
export const storeUpload = async (
  context: ActionContext,
  open: OpenSource,
  folder: SourcePath,
  { upload, name, seen, original, thumbnail }: PlannedUpload,
  isUsed = false,
): Promise<StoredUpload> => {
  const stored = await placeUpload(context, open, folder.child(name), upload, isUsed);
  const bytes = upload.staged.size;
  const isReduced = upload.isReduced === true;
  const kept = await keepOriginal(context, open, stored, original);
  return { ...stored, bytes, seen, isReduced, original: kept, thumbnail };
};

/** Reports a stored file. */
export const reportUpload = (
  context: ActionContext,
  { source }: OpenSource,
  { path, bytes, replaced }: StoredUpload,
): Promise<void> =>
  report(context, { type: replaced ? 'file.replaced' : 'file.created', source, path, bytes });

/** Takes back what was stored of a form that has failed; what has replaced an older file stays. */
const takeBack = async (
  context: ActionContext,
  open: OpenSource,
  stored: readonly StoredUpload[],
): Promise<void> => {
  const files = stored.flatMap((one) =>
    one.original === undefined || one.replaced ? [one] : [one, one.original],
  );
  await withdraw(context, open, files);
  for (const one of stored) if (one.replaced) await reportUpload(context, open, one);
};

/**
 * Stores the files of one request in a folder, in their order; none replaces another of them, whatever the
 * strategy. When one fails, those before it are withdrawn, except where they have replaced an older file.
 */
const storeUploads = async (
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
      const store = (): Promise<StoredUpload> =>
        storeUpload(context, open, folder, plan, used.has(keyOf(plan.name)));
      // Its name says to the client that nothing was uploaded, which is not so where a file was replaced.
      const isAll = stored.every(({ replaced }) => !replaced);
      const one = await (isAll ? naming(plan.upload.filename, store) : store());
      stored.push(one);
      used.add(keyOf(one.path.name));
    }
  } catch (error) {
    await takeBack(context, open, stored);
    throw error;
  }
  for (const one of stored) await reportUpload(context, open, one);
  return stored;
};

/**
 * Stores uploaded files in a folder, and has the thumbnails of pictures follow: all files are checked before
 * the first is stored. What is made of them is discarded here, they themselves by the caller.
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
      const names = planned
        .filter(({ upload }) => upload.mayBeStored !== true)
        .map(({ name, upload }) => ({ name, sent: upload.filename }));
      await requireUntaken(context, open, folder, names);
    }
    const stored = await storeUploads(context, open, folder, planned);
    for (const one of stored) {
      const { path, replaced } = one;
      if (replaced) await context.services.thumbnails.changed({ source: open.source, path });
      await keepThumbnail(context, open, one, one.thumbnail);
    }
    return stored;
  } finally {
    await Promise.all(planned.map(({ upload }) => upload.staged.discard()));
  }
};
