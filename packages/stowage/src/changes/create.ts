import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import { isSameType, mimeTypeOf, splitExtension } from '../basics/content/file-type.ts';
import { foldedFor, sanitizeName, uploadNames } from '../basics/content/file-name.ts';
import type { Create, Edit, NewContent, Passage, Replace, Stored } from './change.ts';
import { requireUntaken } from './check-upload.ts';
import { cleanedUpload, expectedName, pictureOf, policyFor, receiveUpload } from './incoming.ts';
import { type WantedName, storeByStrategy } from './names.ts';
import { newFileName, typeNotAllowed } from './new-name.ts';
import { freeing, sizeOf } from './quota.ts';
import { textsOfSent, type UploadedFile, withFileNameIf } from './uploaded-file.ts';
import { ChangedMeanwhileError, NotFoundError, WrongKindError } from '../errors/errors.ts';
import type { ReadableStore, StagedFile, Stat } from '../storage/adapter.ts';
import type { SourcePath } from '../storage/source-path.ts';
import type { SourceView } from '../view/source-view.ts';
import { storeOf } from '../view/writable.ts';

/** Names that are looked at before the file counts as not stored. */
const MOST_NAMES = 32;

const digestOf = async (content: Readable, signal: AbortSignal): Promise<string> => {
  const hash = createHash('sha256');
  for await (const chunk of content as AsyncIterable<Uint8Array>) {
    signal.throwIfAborted();
    hash.update(chunk);
  }
  return hash.digest('hex');
};

/**
 * The file that an earlier try may have stored, whose answer was lost: the first of the names that an upload
 * gets, up to one that is free, with the same content. Reads what has the same length. @throws errors of the
 * store
 */
export const findStoredBefore = async (
  { storage, signal }: { readonly storage: ReadableStore; readonly signal: AbortSignal },
  wanted: SourcePath,
  staged: StagedFile,
): Promise<{ readonly path: SourcePath; readonly stat: Stat } | undefined> => {
  const names = uploadNames(wanted.name);
  let digest: string | undefined;
  for (let number = 0; number < MOST_NAMES; number += 1) {
    const path = wanted.parent.child(names.at(number));
    try {
      const { stat, stream } = await storage.read(path, { signal });
      if (stat.size !== undefined && stat.size !== staged.size) {
        stream.destroy();
        continue;
      }
      const found = await digestOf(stream, signal);
      digest ??= await digestOf(staged.open(), signal);
      if (found === digest) return { path, stat };
    } catch (error) {
      if (error instanceof NotFoundError) return undefined;
      if (!(error instanceof WrongKindError || error instanceof ChangedMeanwhileError)) throw error;
    }
  }
  return undefined;
};

/** A file that passed every check, with the name that it is to get. */
interface Planned extends NewContent {
  readonly content: UploadedFile;
  readonly name: string;
}

/**
 * Makes of an uploaded file what the source wants to be stored. The name of a picture follows its format. What goes
 * `over` a file keeps its format, and has the name that fits it.
 */
const prepare = async (
  { services, signal }: Passage,
  open: SourceView,
  upload: UploadedFile,
  over?: string,
): Promise<Planned> => {
  const { settings } = open.source;
  // What the host calls a picture is one: it is treated by the name that it gets.
  const filename = over ?? upload.otherName ?? upload.filename;
  const policy = policyFor(settings, filename);
  const context = { services, signal };
  const texts = await textsOfSent(context, open.source, upload, filename);
  if (policy === undefined) {
    const name = over ?? newFileName(settings, expectedName(settings, filename));
    const content = await cleanedUpload(context, open, upload, name);
    const isImage = mimeTypeOf(name).startsWith('image/');
    const seen = isImage ? await services.images.measure(name, pictureOf(content)) : undefined;
    return { content, name, seen, texts, isReduced: content.isReduced };
  }
  const {
    upload: content,
    filename: got,
    ...rest
  } = await receiveUpload(
    context,
    open,
    { ...upload, filename },
    over === undefined ? policy : { ...policy, format: 'keep' },
  );
  try {
    return { ...rest, texts, content, name: over === undefined ? newFileName(settings, got) : got };
  } catch (error) {
    await content.staged.discard();
    throw error;
  }
};

/**
 * Removes what a request has stored before it failed. A file that has changed since then stays, and
 * so does one that has replaced another: the older content is gone, and the new one is better than none.
 * Works without the request's signal, which may be the reason of the failure.
 */
const withdraw = async (passage: Passage, open: SourceView, stored: readonly Stored[]): Promise<void> => {
  for (const { path, stat, bytes, replaced } of stored) {
    if (replaced) continue;
    try {
      const remove = (): Promise<void> => storeOf(open).removeFile(path, { ifUnchanged: stat });
      await freeing(passage, open, () => ({ bytes: stat.size ?? bytes, files: 1 }), remove);
    } catch (error) {
      if (error instanceof NotFoundError || error instanceof ChangedMeanwhileError) continue;
      passage.log.warn('A failed upload could not be withdrawn.', { error });
    }
  }
};

/** Gives content its name by the strategy. */
const place = (
  passage: Passage,
  wanted: WantedName & { readonly keys: readonly string[] },
  content: NewContent['content'],
): Promise<Stored> =>
  storeByStrategy(passage, wanted, async (path, createOnly) => {
    const { open, keys } = wanted;
    const [one] = await passage.carry({ type: 'put', open, path, keys, content, createOnly });
    return one as Stored;
  });

/**
 * Stores a picture as it came in the hidden folder beside what was made of it, under the same name with its
 * own extension. Never replaces another: a taken name gets a number.
 */
const keepOriginal = async (
  passage: Passage,
  open: SourceView,
  { path }: Stored,
  original: UploadedFile,
): Promise<Stored | undefined> => {
  const folder = open.source.settings.uploadImages?.keepOriginal ?? false;
  if (folder === false) return undefined;
  const extension = splitExtension(original.filename).extension;
  const name = sanitizeName(`${splitExtension(path.name).stem}.${extension}`);
  const target = {
    open,
    path: path.parent.child(folder).child(name),
    keys: [],
    strategy: 'addNumber',
  } as const;
  return place(passage, target, original);
};

/** Completes what has got its name by what is kept beside it. When that fails, it is withdrawn. */
const complete = async (
  passage: Passage,
  open: SourceView,
  stored: Stored,
  { seen, isReduced, original, thumbnail, texts }: NewContent,
): Promise<Stored> => {
  try {
    const kept = original && (await keepOriginal(passage, open, stored, original));
    return { ...stored, seen, isReduced, original: kept, thumbnail, texts };
  } catch (error) {
    await withdraw(passage, open, [stored]);
    throw error;
  }
};

/**
 * Gives an uploaded file its name, unless an earlier try is found to have done that. A name that the form has
 * used is not replaced.
 */
const placeFile = async (
  passage: Passage,
  { open, path: folder, keys }: Create,
  { name, content }: Planned,
  isUsed: boolean,
): Promise<Stored> => {
  const storage = storeOf(open);
  const path = folder.child(name);
  const before =
    content.mayBeStored === true
      ? await findStoredBefore({ storage, signal: passage.signal }, path, content.staged)
      : undefined;
  if (before !== undefined) {
    open.require(keys, before.path, 'file');
    return { ...before, bytes: content.staged.size, replaced: false };
  }
  const { saveSameFileNameStrategy } = open.source.settings;
  const strategy = isUsed && saveSameFileNameStrategy === 'replace' ? 'addNumber' : saveSameFileNameStrategy;
  return place(passage, { open, path, keys, strategy }, content);
};

const placeAll = async (passage: Passage, change: Create, planned: readonly Planned[]): Promise<void> => {
  const { open, isForm } = change;
  const stored: Stored[] = [];
  const used = new Set<string>();
  const keyOf = (name: string): string => foldedFor(storeOf(open), name);
  try {
    for (const plan of planned) {
      const put = async (): Promise<Stored> =>
        complete(passage, open, await placeFile(passage, change, plan, used.has(keyOf(plan.name))), plan);
      // Its name says to the client that nothing was uploaded, which is not so where a file was replaced.
      const isAll = stored.every(({ replaced }) => !replaced);
      const one = await withFileNameIf(isForm && isAll, plan.content.filename, put);
      stored.push(one);
      used.add(keyOf(one.path.name));
    }
    passage.done.push(...stored);
  } catch (error) {
    await withdraw(
      passage,
      open,
      stored.flatMap((one) => (one.original === undefined || one.replaced ? [one] : [one, one.original])),
    );
    passage.done.push(...stored.filter(({ replaced }) => replaced));
    throw error;
  }
};

/** All names are free as far as the strategy asks for it, and the folder is there, before the first is stored. */
const requireTargets = async (
  passage: Passage,
  { open, path: folder }: Create,
  planned: readonly Planned[],
): Promise<void> => {
  await open.requireFolder(folder);
  if (open.source.settings.saveSameFileNameStrategy !== 'error') return;
  const names = planned
    .filter(({ content }) => content.mayBeStored !== true)
    .map(({ name, content }) => ({ name, sent: content.filename }));
  await requireUntaken(passage, open, folder, names);
};

/**
 * Stores the files of one form in their order, all or none; none replaces another of them, whatever the
 * strategy. What has replaced an older file stays. What is made of them is discarded here, they themselves by the
 * caller.
 * @throws BrokenImageError for pictures and drawings that cannot be read, UnsupportedError for HEIC without the
 *   package that reads it; UnsafeNameError, TypeNotAllowedError, AccessDeniedError, AlreadyExistsError
 */
export const storeFiles = async (passage: Passage, change: Create): Promise<void> => {
  const planned: Planned[] = [];
  try {
    for (const file of change.files)
      await withFileNameIf(change.isForm, file.filename, async () => {
        const plan = await prepare(passage, change.open, file);
        planned.push(plan);
        change.open.require(change.keys, change.path.child(plan.name), 'file');
      });
    await requireTargets(passage, change, planned);
    await placeAll(passage, change, planned);
  } finally {
    await Promise.all(planned.map(({ content }) => content.staged.discard()));
  }
};

/**
 * Puts an uploaded file over the one that has the path.
 * @throws TypeNotAllowedError for a picture of another format; as `storeFiles`
 */
export const storeReplacement = async (
  passage: Passage,
  { open, path, file, keys }: Replace,
): Promise<void> => {
  const planned = await prepare(passage, open, file, path.name);
  const { content, name } = planned;
  try {
    if (!isSameType(name, path.name)) throw typeNotAllowed(sanitizeName(file.filename));
    const put = { type: 'put', open, path, keys, content, mustExist: true } as const;
    const [stored] = await passage.carry(put);
    passage.done.push(await complete(passage, open, stored as Stored, planned));
  } finally {
    await content.staged.discard();
  }
};

/** Stores an edited picture over the file that it is of, or under a name by the strategy of the source. */
export const storeEdit = (passage: Passage, change: Edit): Promise<void> => {
  const { open, path, key, isOver, make } = change;
  const keys = [key];
  return make(async (made) => {
    const { content } = made;
    const target = { open, path: path, keys, strategy: open.source.settings.saveSameFileNameStrategy };
    const [over] = isOver ? await passage.carry({ type: 'put', open, path, keys, content }) : [];
    const stored = (over as Stored | undefined) ?? (await place(passage, target, content));
    passage.done.push({ ...(await complete(passage, open, stored, made)), bytes: sizeOf(content) });
  });
};
