import { createHash, randomUUID } from 'node:crypto';
import { AlreadyExistsError, NotFoundError, UnsafePathError } from '../../errors/errors.ts';
import type { OperationOptions } from '../../storage/adapter.ts';
import { createLimiter } from '../../storage/limiter.ts';
import type { Bucket, ListedObject } from './bucket.ts';
import type { Copier } from './copy-object.ts';
import { Remover } from './remove-keys.ts';

const COPIES_AT_ONCE = 16;
const MAX_KEY_BYTES = 1024;
// Files that arrive in the source while it is being moved are taken along by another pass.
const PASSES = 3;

/** Metadata of a folder object while a move into it is not finished. */
const MOVED_FROM = 'stowage-moved-from';
const MOVED_BY = 'stowage-moved-by';

/** What moving and copying folders works with. */
export interface TransferContext {
  readonly bucket: Bucket;
  readonly copier: Copier;
  /** Makes the folder object of the target, create-only. @throws AlreadyExistsError */
  readonly claim: (key: string, metadata: Readonly<Record<string, string>>) => Promise<void>;
}

/** Keys of the two folders, each with a slash at its end. */
export interface Ends {
  readonly from: string;
  readonly to: string;
}

/** Versions seen in the source: 12 characters each, so that a million objects take some 60 MB. */
type Seen = Set<string>;

const versionOf = ({ key, size, etag, modifiedAt }: ListedObject): string =>
  createHash('sha256').update(`${key}\n${size}\n${etag}\n${modifiedAt}`).digest('base64').slice(0, 12);

const targetOf = ({ from, to }: Ends, key: string): string => {
  const target = to + key.slice(from.length);
  if (Buffer.byteLength(target) > MAX_KEY_BYTES) throw new UnsafePathError('The path is too long.');
  return target;
};

/** Whether a move that was cut off has put this very object there already. @throws AlreadyExistsError for another one */
const isThere = async (
  { bucket }: TransferContext,
  object: ListedObject,
  target: string,
  options: OperationOptions,
): Promise<boolean> => {
  const found = await bucket.find(target, options);
  if (found === undefined) return false;
  if (found.ContentLength !== object.size) throw new AlreadyExistsError();
  return true;
};

interface Pass {
  readonly resumed: boolean;
  readonly seen?: Seen;
}

const copyPass = async (
  context: TransferContext,
  ends: Ends,
  { resumed, seen }: Pass,
  options: OperationOptions,
): Promise<void> => {
  const limiter = createLimiter(COPIES_AT_ONCE);
  const copyOne = async (object: ListedObject): Promise<void> => {
    const to = targetOf(ends, object.key);
    if (resumed && (await isThere(context, object, to, options))) return;
    const copy = { from: object.key, to, size: object.size ?? 0, createOnly: false };
    await context.copier.copy(copy, options);
  };
  try {
    for await (const { objects } of context.bucket.pages(ends.from, options)) {
      for (const object of objects) {
        const version = versionOf(object);
        if (seen?.has(version) === true) continue;
        // The folder's own object has been made by the claim.
        if (object.key !== ends.from) await limiter.add(() => copyOne(object));
        seen?.add(version);
      }
    }
  } finally {
    await limiter.drain();
  }
};

/** Removes from the source what was copied, as it was copied. Returns whether anything else was there. */
const removePass = async ({ bucket }: TransferContext, ends: Ends, seen: Seen): Promise<boolean> => {
  const remover = new Remover(bucket);
  let left = false;
  for await (const { objects } of bucket.pages(ends.from, {})) {
    const copied = objects.filter((object) => seen.has(versionOf(object)));
    left ||= copied.length < objects.length;
    await remover.remove(
      copied.map(({ key }) => key),
      {},
    );
  }
  remover.check();
  return left;
};

/** Takes away what a failed transfer has put into its target, and nothing that others have put there. Never rejects. */
const undo = async ({ bucket }: TransferContext, ends: Ends): Promise<void> => {
  try {
    const remover = new Remover(bucket);
    for await (const { objects } of bucket.pages(ends.from, {})) {
      const keys = objects.map(({ key }) => ends.to + key.slice(ends.from.length));
      await remover.remove(
        keys.filter((key) => key !== ends.to),
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
 * Copies a folder at the service, 16 objects at a time. When a copy fails nothing of the target remains.
 * @throws AlreadyExistsError and the errors of copying
 */
export const copyObjects = async (
  context: TransferContext,
  ends: Ends,
  options: OperationOptions,
): Promise<void> => {
  await context.claim(ends.to, {});
  try {
    await copyPass(context, ends, { resumed: false }, options);
  } catch (error) {
    await undo(context, ends);
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
  const seen: Seen = new Set();
  try {
    await copyPass(context, ends, { resumed, seen }, options);
    options.signal?.throwIfAborted();
  } catch (error) {
    // A move that was cut off may have removed parts of the source, and one that was taken over is not ours any more.
    if (!resumed && (await moverOf(context, ends).catch(() => ({ by: undefined }))).by === by) {
      await undo(context, ends);
    }
    throw error;
  }
  // From here on the signal counts no more: both folders are half there until it is done.
  for (let pass = 1; (await removePass(context, ends, seen)) && pass < PASSES; pass += 1) {
    await copyPass(context, ends, { resumed: false, seen }, {});
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
      objects.map(({ key }) => key),
      options,
    );
  }
  remover.check();
  if (!found) throw new NotFoundError();
};
