import * as errors from '../../../errors/errors.ts';
import type { OperationOptions } from '../../../storage/adapter.ts';
import { originalMayStay } from '../../../storage/move-tree.ts';
import { PART_BYTES, type Objects, type NotRemoved, type ObjectToRemove } from './objects.ts';
import { forEachAtOnce } from '../../../basics/concurrency/queues.ts';

interface CopiedObject {
  /** The source with its ETag as reported before the copy. */
  readonly source: { readonly key: string; readonly size: number; readonly etag: string | undefined };
  readonly target: { readonly key: string; readonly etag: string | undefined };
  /** The target's key was free before. */
  readonly created: boolean;
}

/** A removal waiting to be sent with others. */
interface WaitingRemoval extends ObjectToRemove {
  readonly end: (failure?: Error) => void;
}

const SINGLES_AT_ONCE = 16;

/** Removals of one store: combined into one request where the service supports batches. */
export class Removals {
  readonly #objects: Objects;
  #waiting: WaitingRemoval[] = [];
  /** Becomes false when the service rejects batches; objects are then removed one by one. */
  #sendsBatches: boolean;

  constructor(objects: Objects) {
    this.#objects = objects;
    this.#sendsBatches = objects.batches !== undefined;
  }

  /**
   * Removes one object, in a batch with others that are removed at the same time; its outcome concerns only
   * its caller. A removal that was sent is waited for, even when the signal aborts: until then the caller
   * holds the lock of the key, so that nothing is stored there that the removal would hit.
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

  /** Removes objects. Returns those that still exist. @throws StorageDeniedError */
  async removeAll(objects: readonly ObjectToRemove[]): Promise<readonly NotRemoved[]> {
    const result = await this.#removeTogether(objects);
    if ('left' in result) return result.left;
    const [first, ...others] = objects;
    const { refusal } = result;
    if (first === undefined || !(refusal instanceof errors.StorageDeniedError))
      return this.#removeSingly(objects, refusal);
    // Some services check the permission for batches at the bucket, and that for single removals at the key.
    await this.#objects.remove(first.key, {}, first.etag).catch((error: unknown) => {
      throw error instanceof errors.StorageDeniedError ? refusal : error;
    });
    return this.#removeSingly(others, refusal);
  }

  /**
   * Completes a move by removing its source, ignoring the caller's signal because the copy exists. When the
   * removal is definitely rejected, nothing has moved: the created copy is removed.
   * @throws ChangedMeanwhileError (the source was replaced and stays), StorageDeniedError; MovedInPartError
   * when the source may still exist beside its copy
   */
  async finishMove({ source, target, created }: CopiedObject): Promise<void> {
    try {
      await this.#removeSource(source);
    } catch (error) {
      // An attempt with a lost response may have removed it.
      const left = await this.#objects.find(source.key, {}).catch(() => 'unknown' as const);
      if (left === undefined) return;
      // After "busy", an attempt without a response may still succeed: the copy may be the only object left.
      const isRefused =
        error instanceof errors.StorageDeniedError || error instanceof errors.ChangedMeanwhileError;
      if (!isRefused || left === 'unknown') throw originalMayStay(error);
      const isAlone = !created || (await this.#withdrawCopy(target).catch(() => false));
      throw isAlone ? error : originalMayStay(error);
    }
  }

  /**
   * @throws ChangedMeanwhileError when the source was replaced since: decided by the service where it can;
   * else checked only after a copy in parts, which may have taken minutes
   */
  async #removeSource({ key, size, etag }: CopiedObject['source']): Promise<void> {
    const isDecided = this.#objects.decides.remove;
    if (!isDecided && size > PART_BYTES) {
      const now = await this.#objects.find(key, {});
      if (now !== undefined && now.etag !== etag) throw new errors.ChangedMeanwhileError();
    }
    await this.remove({ key, etag: isDecided ? etag : undefined }, {});
  }

  /**
   * Removes the copy of a move that the service has rejected, unless another client has replaced it: most
   * services have no conditional removal. Returns whether the copy is gone.
   */
  async #withdrawCopy({ key, etag }: CopiedObject['target']): Promise<boolean> {
    if (etag === undefined) return false;
    if ((await this.#objects.find(key, {}))?.etag === etag)
      await this.#objects.remove(key, {}, this.#objects.decides.remove ? etag : undefined);
    return true;
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
      const result = callers.length > 1 ? await this.#removeTogether(callers) : {};
      const left = 'left' in result ? result.left : await this.#removeSingly(callers, result.refusal);
      const failures = new Map(left.map(({ key, failure }) => [key, failure]));
      for (const { key, end } of callers) end(failures.get(key));
    } catch (error) {
      for (const { end } of callers) end(error as Error);
    }
  }

  /** Returns the remaining objects or, when this request showed that batches are unsupported, its error. */
  async #removeTogether(objects: readonly ObjectToRemove[]) {
    const { batches } = this.#objects;
    if (batches === undefined || !this.#sendsBatches) return {};
    const left: NotRemoved[] = [];
    try {
      for (let start = 0; start < objects.length; start += batches.most)
        left.push(...(await batches.remove(objects.slice(start, start + batches.most), {})));
    } catch (error) {
      if (!(error instanceof errors.UnsupportedError || error instanceof errors.StorageDeniedError))
        throw error;
      return { refusal: error };
    }
    const untold = new Set(left.flatMap(({ key, failure }) => (failure === undefined ? key : [])));
    const again = await this.#removeSingly(objects.filter(({ key }) => untold.has(key)));
    return { left: [...left.filter(({ failure }) => failure !== undefined), ...again] };
  }

  async #removeSingly(objects: readonly ObjectToRemove[], refusal?: Error) {
    const left: NotRemoved[] = [];
    await forEachAtOnce(SINGLES_AT_ONCE, objects, async ({ key, etag }) => {
      try {
        await this.#objects.remove(key, {}, etag);
      } catch (error) {
        if (!(error instanceof errors.StowageError)) throw error;
        left.push({ key, failure: error });
      }
    });
    if (refusal !== undefined && left.length < objects.length) this.#sendsBatches = false;
    return left;
  }
}

const NAMED = 20;

const nameOfKey = (key: string): string => key.replace(/\/$/u, '').split('/').at(-1) ?? '';

/** Removes many keys for one operation on a folder, and records those that could not be removed. */
export const folderRemoval = (removals: Removals) => {
  const failures: NotRemoved[] = [];
  let [failed, changed, removed] = [0, 0, 0];
  return {
    get removed(): number {
      return removed;
    },
    /** Number of objects that still exist because their version was different. */
    get changed(): number {
      return changed;
    },
    remove: async (objects: readonly ObjectToRemove[]): Promise<void> => {
      const all = await removals.removeAll(objects);
      removed += objects.length - all.length;
      for (const left of all) {
        if (left.failure instanceof errors.ChangedMeanwhileError) changed += 1;
        else if ((failed += 1) <= NAMED) failures.push(left);
      }
    },
    /** @throws StorageDeniedError, StorageUnavailableError naming the keys that still exist */
    check: (): void => {
      if (failed === 0) return;
      const messages = failures.map(({ key }) => `"${nameOfKey(key)}" could not be removed.`);
      const more = failed - messages.length;
      if (more > 0) messages.push(`${more} more could not be removed.`);
      const detail = failures.map(({ key, failure }) => `${key}: ${String(failure?.detail)}`).join('; ');
      const isDenied = failures.every(({ failure }) => failure instanceof errors.StorageDeniedError);
      throw new (isDenied ? errors.StorageDeniedError : errors.StorageUnavailableError)({
        messages,
        detail,
        details: { removed },
      });
    },
  };
};
