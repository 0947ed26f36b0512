import { createHash, randomUUID } from 'node:crypto';
import type { HeadObjectCommandOutput } from '@aws-sdk/client-s3';
import { AlreadyExistsError, NotFoundError, UnsafePathError } from '../../errors/errors.ts';
import type { OperationOptions } from '../../storage/adapter.ts';
import { createLimiter } from '../../storage/limiter.ts';
import { strongEtag, type Bucket, type ListedObject } from './bucket.ts';
import type { Support } from './conditional-writes.ts';
import type { Copier } from './copy-object.ts';
import { isCopyOf, TransferredObjects } from './transferred-objects.ts';
import { Remover } from './remove-keys.ts';

const COPIES_AT_ONCE = 16;
const MAX_KEY_BYTES = 1024;
// Files that arrive in the source while it is being moved are taken along by another pass.
const PASSES = 3;
const BLIND_REMOVALS = 100;

/** Metadata of a folder object while a move into it is not finished. */
const MOVED_FROM = 'stowage-moved-from';
const MOVED_BY = 'stowage-moved-by';

/** What moving and copying folders works with. */
export interface TransferContext {
  readonly bucket: Bucket;
  readonly copier: Copier;
  readonly support: Support;
  /** Makes the folder object of the target, create-only. @throws AlreadyExistsError */
  readonly claim: (key: string, metadata: Readonly<Record<string, string>>) => Promise<void>;
}

/** Keys of the two folders, each with a slash at its end. */
export interface Ends {
  readonly from: string;
  readonly to: string;
}

const targetOf = ({ from, to }: Ends, key: string): string => {
  const target = to + key.slice(from.length);
  if (Buffer.byteLength(target) > MAX_KEY_BYTES) throw new UnsafePathError('The path is too long.');
  return target;
};

/** What a pass over the source may meet in the target: nothing, copies of a move that was cut off, or copies of this very transfer. */
type Pass = 'first' | 'resumed' | 'later';

interface Transfer {
  readonly context: TransferContext;
  readonly ends: Ends;
  readonly done: TransferredObjects;
}

/** Whether there is nothing more to do for an object whose target is taken. @throws AlreadyExistsError for what others have put there */
const isSettled = (
  { done }: Transfer,
  pass: Pass,
  { object, to, found }: { object: ListedObject; to: string; found: HeadObjectCommandOutput },
): boolean => {
  const etag = strongEtag(found.ETag);
  // An object that has changed since its copy gets another one. What others have stored there stays, and so does the source.
  if (pass === 'later') return !done.hasCopy(to, etag);
  if (pass === 'first' || !isCopyOf(object, found)) throw new AlreadyExistsError();
  done.noteCopy(to, etag);
  done.noteSource(object);
  return true;
};

const copyOne = async (
  transfer: Transfer,
  pass: Pass,
  object: ListedObject,
  options: OperationOptions,
): Promise<void> => {
  const { context, ends, done } = transfer;
  const { bucket, copier, support } = context;
  const to = targetOf(ends, object.key);
  const decides = support.copy && pass === 'first';
  const found = decides ? undefined : await bucket.find(to, options);
  if (found !== undefined && isSettled(transfer, pass, { object, to, found })) return;
  const createOnly = found === undefined;
  try {
    const copy = { from: object.key, to, size: object.size ?? 0, etag: object.etag, createOnly };
    const etag = await copier.copy(copy, options);
    done.noteCopy(to, etag ?? strongEtag((await bucket.head(to, options)).ETag));
    done.noteSource(object);
  } catch (error) {
    // Removed by others after it was listed: there is nothing to take along. Taken by others while it went: both stay.
    if (error instanceof NotFoundError && (await bucket.find(object.key, options)) === undefined) return;
    if (error instanceof AlreadyExistsError && pass === 'later') return;
    if (createOnly && !(error instanceof AlreadyExistsError)) done.noteDoubt(to, object.size);
    throw error;
  }
};

const copyPass = async (transfer: Transfer, pass: Pass, options: OperationOptions): Promise<void> => {
  const { context, ends, done } = transfer;
  const limiter = createLimiter(COPIES_AT_ONCE);
  try {
    for await (const { objects } of context.bucket.pages(ends.from, options)) {
      for (const object of objects) {
        options.signal?.throwIfAborted();
        if (done.hasSource(object)) continue;
        // The folder's own object has been made by the claim.
        if (object.key === ends.from) done.noteSource(object);
        else await limiter.add(() => copyOne(transfer, pass, object, options));
      }
    }
  } finally {
    await limiter.drain();
  }
};

/**
 * Removes from the source what was copied, as it was copied. Returns whether anything else was there. Where the service cannot tell
 * versions apart, in small steps: what is replaced between the look and the removal is lost.
 */
const removePass = async ({ context, ends, done }: Transfer): Promise<boolean> => {
  const { bucket, support } = context;
  const remover = new Remover(bucket);
  let left = false;
  for await (const { objects } of bucket.pages(
    ends.from,
    {},
    { size: support.remove ? 1000 : BLIND_REMOVALS },
  )) {
    const copied = objects.filter((object) => done.hasSource(object));
    left ||= copied.length < objects.length;
    await remover.remove(
      copied.map(({ key, etag }) => (support.remove ? { key, etag } : { key })),
      {},
    );
  }
  remover.check();
  return left || remover.changed > 0;
};

/** Takes away what a failed transfer has put into its target, and nothing that others have put there. Never rejects. */
const undo = async ({ context: { bucket, support }, ends, done }: Transfer): Promise<void> => {
  try {
    const remover = new Remover(bucket);
    for await (const { objects } of bucket.pages(ends.to, {})) {
      const own = objects.filter(
        ({ key, size, etag }) =>
          done.hasCopy(key, etag) || (done.doubtful.has(key) && done.doubtful.get(key) === size),
      );
      await remover.remove(
        own.map(({ key, etag }) => (support.remove ? { key, etag } : { key })),
        {},
      );
    }
    for await (const { objects } of bucket.pages(ends.to, {})) {
      if (objects.every(({ key }) => key === ends.to)) await bucket.remove(ends.to, {});
      break;
    }
  } catch {
    // What remains is a copy; the caller learns of the first failure.
  }
};

/**
 * Copies a folder at the service, 16 objects at a time. When a copy fails, also because others have stored something in the target
 * meanwhile, nothing of the copy remains.
 * @throws AlreadyExistsError and the errors of copying
 */
export const copyObjects = async (
  context: TransferContext,
  ends: Ends,
  options: OperationOptions,
): Promise<void> => {
  await context.claim(ends.to, {});
  const transfer = { context, ends, done: new TransferredObjects() };
  try {
    await copyPass(transfer, 'first', options);
    options.signal?.throwIfAborted();
  } catch (error) {
    await undo(transfer);
    throw error;
  }
};

/** Who moves into the folder by what its object says. */
const moverOf = async ({ bucket }: TransferContext, { to }: Ends) => {
  const { Metadata = {} } = (await bucket.find(to, {})) ?? {};
  return { from: Metadata[MOVED_FROM], by: Metadata[MOVED_BY] };
};

/** Claims the target, or takes over a move from the same source that was cut off. Returns whether it was the latter. */
const claimForMove = async (context: TransferContext, ends: Ends, by: string): Promise<boolean> => {
  const from = createHash('sha256').update(ends.from).digest('hex');
  const Metadata = { [MOVED_FROM]: from, [MOVED_BY]: by };
  try {
    await context.claim(ends.to, Metadata);
    return false;
  } catch (error) {
    if (!(error instanceof AlreadyExistsError) || (await moverOf(context, ends)).from !== from) throw error;
    await context.bucket.put(ends.to, Buffer.alloc(0), {}, {}, Metadata);
    return true;
  }
};

/**
 * Moves a folder: copies as `copyObjects`, and removes the source only after all copies succeeded, object by object as they were copied,
 * so that what arrives or changes in the source meanwhile is moved by another pass or stays. Until the end the folder object of the target
 * tells where the move comes from, so that repeating a move whose process was killed goes on with it. When only removals fail, the target
 * is whole and the error names what is left in the source.
 * @throws AlreadyExistsError and the errors of copying and removing
 */
export const moveObjects = async (
  context: TransferContext,
  ends: Ends,
  options: OperationOptions,
): Promise<void> => {
  const by = randomUUID();
  const resumed = await claimForMove(context, ends, by);
  const transfer = { context, ends, done: new TransferredObjects() };
  try {
    await copyPass(transfer, resumed ? 'resumed' : 'first', options);
    options.signal?.throwIfAborted();
  } catch (error) {
    // A move that was cut off may have removed parts of the source, and one that was taken over is not ours any more.
    if (!resumed && (await moverOf(context, ends).catch(() => ({ by: undefined }))).by === by) {
      await undo(transfer);
    }
    throw error;
  }
  // From here on the signal counts no more: both folders are half there until it is done.
  for (let pass = 1; (await removePass(transfer)) && pass < PASSES; pass += 1) {
    await copyPass(transfer, 'later', {});
  }
  await context.bucket.put(ends.to, Buffer.alloc(0), {}, {});
};

/** Removes a folder's objects, 1,000 per request. @throws NotFoundError when there are none; StorageDeniedError, StorageUnavailableError */
export const removeObjects = async (
  bucket: Bucket,
  folder: string,
  options: OperationOptions,
): Promise<void> => {
  const remover = new Remover(bucket);
  let found = false;
  for await (const { objects } of bucket.pages(folder, options)) {
    found ||= objects.length > 0;
    await remover.remove(
      objects.map(({ key }) => ({ key })),
      options,
    );
  }
  remover.check();
  if (!found) throw new NotFoundError();
};
