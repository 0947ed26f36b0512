import { StorageDeniedError, StorageUnavailableError, StowageError } from '../../errors/errors.ts';
import type { OperationOptions } from '../../storage/adapter.ts';
import { createLimiter } from '../../storage/limiter.ts';
import type { Bucket } from './bucket.ts';
import { statusOf } from './errors.ts';

const SINGLES_AT_ONCE = 16;
const NAMED = 20;
const NO_BATCHES: ReadonlySet<number | undefined> = new Set([400, 405, 411, 501]);

/** One key that is still there, and why. */
interface Failure {
  readonly key: string;
  readonly code: string;
}

const nameOfKey = (key: string): string => key.replace(/\/$/u, '').split('/').at(-1) ?? '';

/** Removes many keys and remembers which of them it could not remove. */
export class Remover {
  readonly #bucket: Bucket;
  readonly #failures: Failure[] = [];
  #failed = 0;
  #batches = true;

  constructor(bucket: Bucket) {
    this.#bucket = bucket;
  }

  /** Removes at most 1,000 keys in one request; one by one, 16 at once, where the service has no request for many. */
  async remove(keys: readonly string[], options: OperationOptions): Promise<void> {
    if (keys.length === 0) return;
    if (!this.#batches) return this.#removeSingly(keys, options);
    try {
      await this.#removeBatch(keys, options);
    } catch (error) {
      if (!(error instanceof StowageError) || !NO_BATCHES.has(statusOf(error.cause))) throw error;
      this.#batches = false;
      await this.#removeSingly(keys, options);
    }
  }

  /** @throws StorageDeniedError or StorageUnavailableError when any key is still there, with a message for each of the first 20 */
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

  #note(failure: Failure): void {
    this.#failed += 1;
    if (this.#failures.length < NAMED) this.#failures.push(failure);
  }

  async #removeBatch(keys: readonly string[], { signal }: OperationOptions): Promise<void> {
    const Delete = { Quiet: true, Objects: keys.map((Key) => ({ Key })) };
    const answer = await this.#bucket.connection.send('DeleteObjects', signal, ({ sdk, client, http }) =>
      client.send(new sdk.DeleteObjectsCommand({ Bucket: this.#bucket.name, Delete }), http),
    );
    for (const { Key, Code } of answer.Errors ?? []) {
      if (Code !== 'NoSuchKey') this.#note({ key: Key ?? '', code: Code ?? 'unknown' });
    }
  }

  async #removeSingly(keys: readonly string[], options: OperationOptions): Promise<void> {
    const limiter = createLimiter(SINGLES_AT_ONCE);
    try {
      for (const key of keys) {
        await limiter.add(async () => {
          try {
            await this.#bucket.remove(key, options);
          } catch (error) {
            options.signal?.throwIfAborted();
            const denied = error instanceof StorageDeniedError;
            this.#note({ key, code: denied ? 'AccessDenied' : 'failed' });
          }
        });
      }
    } finally {
      await limiter.drain();
    }
  }
}
