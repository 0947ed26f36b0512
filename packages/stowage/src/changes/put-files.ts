import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import { forEachAtOnce } from '../basics/concurrency/queues.ts';
import { splitExtension } from '../basics/content/file-type.ts';
import { foldedFor, sanitizeName, uploadNames } from '../basics/content/file-name.ts';
import type { SameNameStrategy } from '../config/settings/values.ts';
import type { Create, NewContent, StageContext, Put, Stored } from './change.ts';
import { type WantedName, storeByStrategy } from './names.ts';
import { freeing } from './quota.ts';
import { type UploadedFile, withFileNameIf } from './uploaded-file.ts';
import { ChangedMeanwhileError, NotFoundError, WrongKindError } from '../errors/errors.ts';
import type { ReadableStore, StagedFile, Stat } from '../storage/adapter.ts';
import type { SourcePath } from '../storage/source-path.ts';
import type { SourceView } from '../view/source-view.ts';
import { storeOf } from '../view/writable.ts';

/** Names that are checked before the file counts as not stored. */
const MOST_NAMES = 32;
/** Files of a form that are stored concurrently. */
const FILES_AT_ONCE = 8;

const digestOf = async (content: Readable, signal: AbortSignal): Promise<string> => {
  const hash = createHash('sha256');
  for await (const chunk of content as AsyncIterable<Uint8Array>) {
    signal.throwIfAborted();
    hash.update(chunk);
  }
  return hash.digest('hex');
};

/**
 * Finds the file that an earlier attempt may have stored when its response was lost: the same content under
 * one of the names that an upload gets, up to the first free one. Reads files of the same length.
 * @throws errors of the store
 */
const findStoredBefore = async (
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

/** A file that passed every check, with its target name. */
export interface Planned extends NewContent {
  readonly content: UploadedFile;
  readonly name: string;
  /** A recent lookup found nothing under the name. */
  readonly isFree?: boolean;
}

/**
 * Removes the files that a failed request has stored. Does not remove a file that has changed since, one that
 * was found (it may belong to another upload of the same content), or one that replaced another: the older
 * content is gone. Works without the request's signal, which may be the reason of the failure.
 */
const withdraw = async (context: StageContext, open: SourceView, stored: readonly Stored[]) => {
  for (const { path, stat, bytes, replaced, isFound = false } of stored) {
    if (replaced || isFound) continue;
    try {
      const remove = (): Promise<void> => storeOf(open).removeFile(path, { ifUnchanged: stat });
      await freeing(context, open, path, () => ({ bytes: stat.size ?? bytes, files: 1 }), remove);
    } catch (error) {
      if (error instanceof NotFoundError || error instanceof ChangedMeanwhileError) continue;
      context.log.warn('A failed upload could not be withdrawn.', { error });
    }
  }
};

/** Stores content under a name chosen by the strategy. */
export const putContent = (
  context: StageContext,
  wanted: WantedName & { readonly keys: readonly string[]; readonly isFree?: boolean | undefined },
  content: NewContent['content'],
  onStored?: Put['onStored'],
): Promise<Stored> =>
  storeByStrategy(context, wanted, async (path, how) => {
    const { open, keys, isFree } = wanted;
    const isSeen = how.isNoFolder === true || (isFree === true && path.equals(wanted.path));
    const isNoFolder = isSeen || (await open.isSeenNoFolder(path));
    const put = { ...how, type: 'put', open, path, keys, content, isNoFolder, onStored } as const;
    const [one] = await context.carry(put);
    return one as Stored;
  });

/**
 * Stores the original of a picture in the hidden folder beside the processed one, under the same name with
 * its own extension. Never replaces another: a taken name gets a number.
 */
const keepOriginal = async (
  context: StageContext,
  open: SourceView,
  { path }: Pick<Stored, 'path'>,
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
  return putContent(context, target, original);
};

/** Stores the files that belong beside a newly named one. When that fails, withdraws the named file. */
export const complete = async (
  context: StageContext,
  open: SourceView,
  stored: Stored,
  { seen, isReduced, original, thumbnail, texts }: NewContent,
): Promise<Stored> => {
  try {
    const kept = original && (await keepOriginal(context, open, stored, original));
    return { ...stored, seen, isReduced, original: kept, thumbnail, texts };
  } catch (error) {
    await withdraw(context, open, [stored]);
    throw error;
  }
};

/**
 * Puts content under a path that may replace an older file. The original that is kept beside it is stored first: when
 * that fails, for example for lack of room, the older file stays.
 */
export const completeOver = async (
  context: StageContext,
  { open, path }: Pick<Put, 'open' | 'path'>,
  { seen, isReduced, original, thumbnail, texts }: NewContent,
  put: () => Promise<Stored>,
): Promise<Stored> => {
  const kept = original && (await keepOriginal(context, open, { path }, original));
  try {
    return { ...(await put()), seen, isReduced, original: kept, thumbnail, texts };
  } catch (error) {
    if (kept !== undefined) await withdraw(context, open, [kept]);
    throw error;
  }
};

/** Stores an uploaded file, unless an earlier attempt is found, never over one of the same form. */
const putFile = async (
  context: StageContext,
  { open, path: folder, keys }: Create,
  { name, content, isFree }: Planned,
  strategy: SameNameStrategy,
): Promise<Stored> => {
  const storage = storeOf(open);
  const path = folder.child(name);
  const before =
    content.mayBeStored === true
      ? await findStoredBefore({ storage, signal: context.signal }, path, content.staged)
      : undefined;
  if (before !== undefined) {
    open.require(keys, before.path, 'file');
    return { ...before, bytes: content.staged.size, replaced: false, isFound: true };
  }
  const onStored = (one: Stored): unknown => context.done.push(one);
  return putContent(context, { open, path, keys, strategy, isFree }, content, onStored);
};

/** As `putFile`, with the original that is kept beside the file. */
const putWithOriginal = async (context: StageContext, change: Create, plan: Planned, isUsed: boolean) => {
  const { open, path: folder } = change;
  const { saveSameFileNameStrategy: wanted } = open.source.settings;
  const strategy = isUsed && wanted === 'replace' ? 'addNumber' : wanted;
  const put = (): Promise<Stored> => putFile(context, change, plan, strategy);
  return strategy === 'replace'
    ? completeOver(context, { open, path: folder.child(plan.name) }, plan, put)
    : complete(context, open, await put(), plan);
};

/** Groups the files of a form that want one name: those of a group are stored in order. */
const groupsOf = (open: SourceView, planned: readonly Planned[]): readonly (readonly number[])[] => {
  const keys = planned.map(({ name }) => foldedFor(storeOf(open), name));
  const all = new Set(keys);
  const firstOf = (key: string): string => {
    const { stem } = splitExtension(key);
    const unnumbered = stem.replace(/-\d+$/u, '') + key.slice(stem.length);
    return unnumbered !== key && all.has(unnumbered) ? firstOf(unnumbered) : key;
  };
  const groups = new Map<string, number[]>();
  for (const [index, key] of keys.entries()) {
    const first = firstOf(key);
    groups.set(first, [...(groups.get(first) ?? []), index]);
  }
  return [...groups.values()];
};

export const putAll = async (
  context: StageContext,
  change: Create,
  planned: readonly Planned[],
): Promise<void> => {
  const { open, isForm } = change;
  const results: (Stored | undefined)[] = planned.map(() => undefined);
  const stored = (): readonly Stored[] => results.filter((one) => one !== undefined);
  const used = new Set<string>();
  const keyOf = (name: string): string => foldedFor(storeOf(open), name);
  let failed: { readonly filename: string } | undefined;
  const put = async (index: number): Promise<void> => {
    const plan = planned[index];
    if (plan === undefined || failed !== undefined) return;
    try {
      const one = await putWithOriginal(context, change, plan, used.has(keyOf(plan.name)));
      results[index] = one;
      used.add(keyOf(one.path.name));
    } catch (error) {
      failed ??= plan.content;
      throw error;
    }
  };
  try {
    await forEachAtOnce(FILES_AT_ONCE, groupsOf(open, planned), async (group) => {
      for (const index of group) await put(index);
    });
    context.done.splice(0, Infinity, ...stored());
  } catch (error) {
    const done = stored();
    await withdraw(
      context,
      open,
      done.flatMap((one) => (one.original === undefined || one.replaced ? [one] : [one, one.original])),
    );
    context.done.splice(0, Infinity, ...done.filter(({ replaced }) => replaced));
    // Naming the file means to the client that nothing was uploaded, which is wrong when a file was replaced.
    const isAll = context.done.length === 0;
    return withFileNameIf(isForm && isAll && failed !== undefined, failed?.filename ?? '', () => {
      throw error;
    });
  }
};
