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
  removals: Removals,
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
  removals: Removals,
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

/** A removal that waits for others. */
interface WaitingRemoval extends ObjectToRemove {
  readonly end: (failure?: Error) => void;
}

const SINGLES_AT_ONCE = 16;

/** The removals of one store: several objects in one request where the service has one for that. */
export class Removals {
  readonly #objects: Objects;
  #waiting: WaitingRemoval[] = [];
  /** Until the service refuses them, and removes one object alone. */
  #sendsBatches: boolean;

  constructor(objects: Objects) {
    this.#objects = objects;
    this.#sendsBatches = objects.batches !== undefined;
  }

  /**
   * Removes one object, together with others that are removed at the same time. What becomes of each is its
   * caller's alone. A removal that has begun is waited for, also when the signal aborts: as long as the service may
   * carry it out, the caller holds the lock of the key, and nothing is stored there that it would take.
   * @see Objects.remove
   */
  async remove({ key, etag }: ObjectToRemove, { signal }: OperationOptions): Promise<void> {
    signal?.throwIfAborted();
    if (!this.#sendsBatches) return this.#objects.remove(key, {}, etag);
    return new Promise<void>((resolve, reject) => {
      if (this.#waiting.length === 0) setImmediate(() => this.#removeWaiting());
      const end = (failure?: Error): void => (failure === undefined ? resolve() : reject(failure));
      this.#waiting.push({ key, etag, end });
    });
  }

  /**
   * Removes objects. Returns those that are still there.
   * @throws StorageDeniedError where many at once are refused, and one alone as well
   */
  async removeAll(
    objects: readonly ObjectToRemove[],
    options: OperationOptions,
  ): Promise<readonly NotRemoved[]> {
    const answer = await this.#removeTogether(objects, options);
    if ('left' in answer) return answer.left;
    const [first, ...others] = objects;
    const { refusal } = answer;
    if (first === undefined || !(refusal instanceof StorageDeniedError))
      return this.#removeSingly(objects, options, refusal);
    // Some services check the right to remove many at the bucket, and that to remove one at its key.
    await this.#objects.remove(first.key, options, first.etag).catch((error: unknown) => {
      throw error instanceof StorageDeniedError ? refusal : error;
    });
    return this.#removeSingly(others, options, refusal);
  }

  #removeWaiting(): void {
    const all = this.#waiting;
    this.#waiting = [];
    const most = this.#objects.batches?.most ?? all.length;
    for (let start = 0; start < all.length; start += most)
      void this.#removeFor(all.slice(start, start + most));
  }

  async #removeFor(callers: readonly WaitingRemoval[]): Promise<void> {
    try {
      const answer = callers.length > 1 ? await this.#removeTogether(callers, {}) : {};
      const left = 'left' in answer ? answer.left : await this.#removeSingly(callers, {}, answer.refusal);
      const failures = new Map(left.map(({ key, failure }) => [key, failure]));
      for (const { key, end } of callers) end(failures.get(key));
    } catch (error) {
      for (const { end } of callers) end(error as Error);
    }
  }

  /** Returns what is left, or, where the service takes no batches, its refusal if this request has shown it. */
  async #removeTogether(
    objects: readonly ObjectToRemove[],
    options: OperationOptions,
  ): Promise<{ readonly left: readonly NotRemoved[] } | { readonly refusal?: Error }> {
    const { batches } = this.#objects;
    if (batches === undefined || !this.#sendsBatches) return {};
    const left: NotRemoved[] = [];
    try {
      for (let start = 0; start < objects.length; start += batches.most)
        left.push(...(await batches.remove(objects.slice(start, start + batches.most), options)));
    } catch (error) {
      if (!(error instanceof UnsupportedError || error instanceof StorageDeniedError)) throw error;
      return { refusal: error };
    }
    const untold = new Set(left.flatMap(({ key, failure }) => (failure === undefined ? key : [])));
    const again = await this.#removeSingly(
      objects.filter(({ key }) => untold.has(key)),
      options,
    );
    return { left: [...left.filter(({ failure }) => failure !== undefined), ...again] };
  }

  async #removeSingly(
    objects: readonly ObjectToRemove[],
    options: OperationOptions,
    refusal?: Error,
  ): Promise<readonly NotRemoved[]> {
    const left: NotRemoved[] = [];
    await forEachAtOnce(SINGLES_AT_ONCE, objects, async ({ key, etag }) => {
      try {
        await this.#objects.remove(key, options, etag);
      } catch (error) {
        options.signal?.throwIfAborted();
        if (!(error instanceof StowageError)) throw error;
        left.push({ key, failure: error });
      }
    });
    if (refusal !== undefined && left.length < objects.length) this.#sendsBatches = false;
    return left;
  }
}

const NAMED = 20;

const nameOfKey = (key: string): string => key.replace(/\/$/u, '').split('/').at(-1) ?? '';

/** The removals of one operation on a folder: removes many keys, and remembers which of them it could not remove. */
export class FolderRemoval {
  readonly #removals: Removals;
  readonly #failures: NotRemoved[] = [];
  #failed = 0;
  #changed = 0;

  constructor(removals: Removals) {
    this.#removals = removals;
  }

  /** How many are still there because they were another version. */
  get changed(): number {
    return this.#changed;
  }

  /** @see Removals.removeAll */
  async remove(objects: readonly ObjectToRemove[], options: OperationOptions): Promise<void> {
    for (const left of await this.#removals.removeAll(objects, options)) {
      if (left.failure instanceof ChangedMeanwhileError) {
        this.#changed += 1;
        continue;
      }
      this.#failed += 1;
      if (this.#failures.length < NAMED) this.#failures.push(left);
    }
  }

  /** @throws StorageDeniedError, StorageUnavailableError when any key is still there, with its name */
  check(): void {
    if (this.#failed === 0) return;
    const messages = this.#failures.map(({ key }) => `"${nameOfKey(key)}" could not be removed.`);
    const more = this.#failed - messages.length;
    if (more > 0) messages.push(`${more} more could not be removed.`);
    const detail = this.#failures.map(({ key, failure }) => `${key}: ${String(failure?.detail)}`).join('; ');
    const denied = this.#failures.every(({ failure }) => failure instanceof StorageDeniedError);
    throw denied
      ? new StorageDeniedError({ messages, detail })
      : new StorageUnavailableError({ messages, detail });
  }
}
