import {
  ChangedMeanwhileError,
  StorageDeniedError,
  StorageUnavailableError,
  StowageError,
  UnsupportedError,
} from '../../../errors/errors.ts';
import type { OperationOptions } from '../../../storage/adapter.ts';
import { originalMayStay } from '../../../storage/move-tree.ts';
import { PART_BYTES, type Objects, type NotRemoved, type ObjectToRemove } from './objects.ts';
import { orAborted } from '../../../basics/concurrency/abort.ts';
import { forEachAtOnce } from '../../../basics/concurrency/queues.ts';

/** A move whose copy was made. */
export interface CopiedObject {
  /** The source with its version as reported before the copy. */
  readonly source: { readonly key: string; readonly size: number; readonly etag: string | undefined };
  readonly target: { readonly key: string; readonly etag: string | undefined };
  /** Nothing had the target's key before. */
  readonly created: boolean;
}

/**
 * @throws ChangedMeanwhileError when the source was replaced since: decided by the service where it can, else
 * looked at only after a copy in parts, which may have taken minutes
 */
const removeSource = async (
  objects: Objects,
  removals: JoinedRemovals,
  { key, size, etag }: CopiedObject['source'],
): Promise<void> => {
  if (!objects.decides.remove && size > PART_BYTES) {
    const now = await objects.find(key, {});
    if (now !== undefined && now.etag !== etag) throw new ChangedMeanwhileError();
  }
  await removals.remove({ key, etag: objects.decides.remove ? etag : undefined }, {});
};

/**
 * Removes the copy of a move that the service has refused, unless another client has replaced it: there is no
 * removing of one version at most services. Returns whether the copy is gone.
 */
const withdrawCopy = async (objects: Objects, { key, etag }: CopiedObject['target']): Promise<boolean> => {
  if (etag === undefined) return false;
  if ((await objects.find(key, {}))?.etag !== etag) return true;
  await objects.remove(key, {}, objects.decides.remove ? etag : undefined);
  return true;
};

/**
 * Ends a move by removing its source, without the caller's signal: the copy is there. When the removal is
 * refused for certain, nothing has moved: what the move has created is removed again.
 * @throws ChangedMeanwhileError (the source was replaced and stays), StorageDeniedError; MovedInPartError where
 *   the source may still be there beside its copy
 */
export const finishMove = async (
  objects: Objects,
  removals: JoinedRemovals,
  { source, target, created }: CopiedObject,
): Promise<void> => {
  try {
    await removeSource(objects, removals, source);
  } catch (error) {
    // After "busy" an attempt that had no answer may still be carried out, when the copy is all there is.
    const isRefused = error instanceof StorageDeniedError || error instanceof ChangedMeanwhileError;
    if (!isRefused) throw originalMayStay(error);
    // An attempt whose answer was lost may have removed it.
    if ((await objects.find(source.key, {})) === undefined) return;
    const isAlone = !created || (await withdrawCopy(objects, target).catch(() => false));
    throw isAlone ? error : originalMayStay(error);
  }
};

const MOST_TOGETHER = 1000;

/** A removal that waits for others. */
interface WaitingRemoval extends ObjectToRemove {
  readonly end: (failure?: unknown) => void;
}

/**
 * Removes single objects: those that are asked for at the same time by one request, where the service has one for many.
 * What becomes of each is its caller's alone.
 */
export class JoinedRemovals {
  readonly #objects: Objects;
  #waiting: WaitingRemoval[] = [];
  #hasBatches = true;

  constructor(objects: Objects) {
    this.#objects = objects;
  }

  /** @see Objects.remove */
  remove({ key, etag }: ObjectToRemove, { signal }: OperationOptions): Promise<void> {
    if (!this.#hasBatches || this.#objects.removeBatch === undefined)
      return this.#objects.remove(key, { signal }, etag);
    signal?.throwIfAborted();
    const removal = new Promise<void>((resolve, reject) => {
      if (this.#waiting.length === 0) setImmediate(() => this.#send());
      const end = (failure?: unknown): void =>
        failure === undefined ? resolve() : reject(failure instanceof Error ? failure : new Error());
      this.#waiting.push({ key, etag, end });
    });
    return orAborted(removal, signal);
  }

  #send(): void {
    const all = this.#waiting;
    this.#waiting = [];
    for (let start = 0; start < all.length; start += MOST_TOGETHER)
      void this.#together(all.slice(start, start + MOST_TOGETHER));
  }

  async #together(some: readonly WaitingRemoval[]): Promise<void> {
    if (some.length === 1) return this.#singly(some);
    try {
      const left = (await this.#objects.removeBatch?.(some, {})) ?? [];
      const codes = new Map(left.map(({ key, code }) => [key, code]));
      for (const { key, end } of some) end(failureFor(codes.get(key)));
    } catch (error) {
      const isRefused = error instanceof UnsupportedError || error instanceof StorageDeniedError;
      if (!isRefused) return some.forEach(({ end }) => end(error));
      // Some services check the right to remove many at the bucket.
      this.#hasBatches = false;
      await this.#singly(some);
    }
  }

  async #singly(some: readonly WaitingRemoval[]): Promise<void> {
    await forEachAtOnce(SINGLES_AT_ONCE, some, ({ key, etag, end }) =>
      this.#objects.remove(key, {}, etag).then(() => end(), end),
    );
  }
}

/** What a batch has said of an object that it has left. */
const failureFor = (code: string | undefined): Error | undefined => {
  if (code === undefined) return undefined;
  if (code === 'PreconditionFailed') return new ChangedMeanwhileError();
  return code === 'AccessDenied'
    ? new StorageDeniedError({ detail: code })
    : new StorageUnavailableError({ detail: code });
};

const SINGLES_AT_ONCE = 16;

const codeFor = (error: unknown): string => {
  if (error instanceof ChangedMeanwhileError) return 'PreconditionFailed';
  return error instanceof StorageDeniedError ? 'AccessDenied' : 'failed';
};

/** Removes objects one by one, some at the same time. Returns those that are still there, as a batch does. */
export const removeSingly = async (
  objects: readonly ObjectToRemove[],
  remove: (object: ObjectToRemove) => Promise<void>,
  { signal }: OperationOptions,
): Promise<readonly NotRemoved[]> => {
  const left: NotRemoved[] = [];
  await forEachAtOnce(SINGLES_AT_ONCE, objects, async (object) => {
    try {
      await remove(object);
    } catch (error) {
      signal?.throwIfAborted();
      left.push({ key: object.key, code: codeFor(error) });
    }
  });
  return left;
};

const NAMED = 20;

const nameOfKey = (key: string): string => key.replace(/\/$/u, '').split('/').at(-1) ?? '';

/** Removes many keys and remembers which of them it could not remove. */
export class Remover {
  readonly #objects: Objects;
  readonly #failures: NotRemoved[] = [];
  #failed = 0;
  #changed = 0;
  #hasBatches: boolean;

  constructor(objects: Objects) {
    this.#objects = objects;
    this.#hasBatches = objects.removeBatch !== undefined;
  }

  /** How many are still there because they were another version. */
  get changed(): number {
    return this.#changed;
  }

  /** Removes at most 1,000 objects in one request; one by one where the service has no such request. */
  async remove(objects: readonly ObjectToRemove[], options: OperationOptions): Promise<void> {
    const [first, ...others] = objects;
    if (first === undefined) return;
    if (!this.#hasBatches) return this.#removeSingly(objects, options);
    try {
      return await this.#removeBatch(objects, options);
    } catch (error) {
      if (!(error instanceof StowageError)) throw error;
      if (error instanceof StorageDeniedError) await this.#removeDenied(first, error, options);
      else if (!(error instanceof UnsupportedError)) throw error;
      this.#hasBatches = false;
      await this.#removeSingly(error instanceof StorageDeniedError ? others : objects, options);
    }
  }

  /** @throws StorageDeniedError, StorageUnavailableError when any key is still there, with its name */
  check(): void {
    if (this.#failed === 0) return;
    const messages = this.#failures.map(({ key }) => `"${nameOfKey(key)}" could not be removed.`);
    const more = this.#failed - messages.length;
    if (more > 0) messages.push(`${more} more could not be removed.`);
    const detail = this.#failures.map(({ key, code }) => `${key}: ${code}`).join('; ');
    const denied = this.#failures.every(({ code }) => code === 'AccessDenied');
    throw denied
      ? new StorageDeniedError({ messages, detail })
      : new StorageUnavailableError({ messages, detail });
  }

  #note(key: string, code: string): void {
    if (code === 'PreconditionFailed') {
      this.#changed += 1;
      return;
    }
    this.#failed += 1;
    if (this.#failures.length < NAMED) this.#failures.push({ key, code });
  }

  /**
   * Some services check the right to remove many at the bucket, and that to remove one at its key.
   * @throws the refusal when one is refused too
   */
  async #removeDenied(
    { key, etag }: ObjectToRemove,
    refusal: Error,
    options: OperationOptions,
  ): Promise<void> {
    try {
      await this.#objects.remove(key, options, etag);
    } catch (error) {
      throw error instanceof StorageDeniedError ? refusal : error;
    }
  }

  async #removeBatch(objects: readonly ObjectToRemove[], options: OperationOptions): Promise<void> {
    const left = (await this.#objects.removeBatch?.(objects, options)) ?? [];
    for (const { key, code } of left) this.#note(key, code);
  }

  async #removeSingly(objects: readonly ObjectToRemove[], options: OperationOptions): Promise<void> {
    const remove = ({ key, etag }: ObjectToRemove) => this.#objects.remove(key, options, etag);
    for (const { key, code } of await removeSingly(objects, remove, options)) this.#note(key, code);
  }
}
