import { createLimiter } from '../../../basics/concurrency/limiter.ts';
import {
  ChangedMeanwhileError,
  StorageDeniedError,
  StorageUnavailableError,
  StowageError,
  UnsupportedError,
} from '../../../errors/errors.ts';
import type { OperationOptions } from '../../../storage/adapter.ts';
import type { NotRemoved, Objects, ObjectToRemove } from './objects.ts';

const SINGLES_AT_ONCE = 16;
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

  /**
   * @throws StorageDeniedError or StorageUnavailableError when any key is still there, with a message for
   * each of the first 20
   */
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
    const limiter = createLimiter(SINGLES_AT_ONCE);
    const codeFor = (error: unknown): string => {
      if (error instanceof ChangedMeanwhileError) return 'PreconditionFailed';
      return error instanceof StorageDeniedError ? 'AccessDenied' : 'failed';
    };
    try {
      for (const { key, etag } of objects) {
        await limiter.add(async () => {
          try {
            await this.#objects.remove(key, options, etag);
          } catch (error) {
            options.signal?.throwIfAborted();
            this.#note(key, codeFor(error));
          }
        });
      }
    } finally {
      await limiter.drain();
    }
  }
}
