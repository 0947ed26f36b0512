import { Readable } from 'node:stream';
import { spool } from '../../../storage/spool.ts';
import { createNameLocks, type NameLocks } from '../../../basics/concurrency/name-locks.ts';
import { createSlots } from '../../../basics/concurrency/slots.ts';
import { AlreadyExistsError, ChangedMeanwhileError, UnsupportedError } from '../../../errors/errors.ts';
import { ContentReader } from '../core/content-reader.ts';
import { PART_BYTES, type Upload, type Uploaded } from '../core/objects.ts';
import type { HeldBytes } from '../core/parts.ts';
import type { OperationOptions } from '../../../storage/adapter.ts';
import type { Bucket, Condition, SizedContent } from './bucket.ts';
import type { ConditionalWrites } from './conditional-writes.ts';
import { NOTHING, writtenVersion, type Support } from './known-services.ts';
import { contentParts, inParts } from './multipart.ts';

// The most that services take in one request.
const MAX_SINGLE_BYTES = 5 * 1024 ** 3;
// Contents wait in memory, up to 8 MB each, while they are sent: together at most some 200 MB.
const BUFFERS = 24;
const MAY_WAIT = 2000;

/** An upload on its way, and what its service decides by itself. */
interface Task extends Upload {
  readonly support: Support;
  readonly reader: ContentReader;
}

const isConditional = ({ createOnly, ifMatch }: Upload): boolean => createOnly || ifMatch !== undefined;

/** What the service is to decide a write by. */
const conditionOf = ({ createOnly, ifMatch, support }: Task): Condition => ({
  ...(createOnly && support.create ? { IfNoneMatch: '*' } : {}),
  ...(ifMatch === undefined ? {} : { IfMatch: writtenVersion(ifMatch, support) }),
});

/** What a refusal of a conditional write means. */
const refusalOf = (task: Task, error: unknown): unknown => {
  if (!(error instanceof ChangedMeanwhileError) || !isConditional(task)) return error;
  return task.createOnly && task.ifMatch === undefined ? new AlreadyExistsError({ cause: error }) : error;
};

/** Stores contents under their keys, whole or not at all. */
export class Uploader {
  /** Writes and moves of one key wait for each other: most services do not decide between them. */
  readonly locks: NameLocks = createNameLocks();
  readonly #memory = createSlots(BUFFERS, MAY_WAIT);
  readonly #bucket: Bucket;
  readonly #conditional: ConditionalWrites;

  constructor(bucket: Bucket, conditional: ConditionalWrites) {
    this.#bucket = bucket;
    this.#conditional = conditional;
  }

  /**
   * Up to 8 MB: one request, repeated when it fails. Above: parts of 8 MB, three at a time. A large
   * conditional write goes as one request from a temporary file where the service decides only those (up to 5
   * GB); beyond, and where it has no conditional writes, the key is looked at just before the completion.
   * @throws AlreadyExistsError, ChangedMeanwhileError, UnsupportedError (`ifMatch`)
   */
  async upload(request: Upload, options: OperationOptions): Promise<Uploaded> {
    const support = isConditional(request) ? await this.#conditional.learn(options) : NOTHING;
    if (request.ifMatch !== undefined && support.match === undefined) {
      throw new UnsupportedError({ detail: 'the service has no PutObject with If-Match' });
    }
    const task: Task = { ...request, support, reader: new ContentReader(request.chunks) };
    const held = await this.#readFirst(task, options);
    const send = async (): Promise<Uploaded> => {
      try {
        const isWhole = held !== undefined && (await task.reader.isAtEnd());
        return isWhole
          ? await this.#putBytes(task, held.bytes, options)
          : await this.#putLarge(task, held, options);
      } catch (error) {
        throw refusalOf(task, error);
      }
    };
    try {
      return await this.locks.hold(request.key, options, send);
    } finally {
      held?.free();
    }
  }

  /** What one request could store, if the content may be so small. Waits for memory before it reads. */
  async #readFirst({ size, reader }: Task, { signal }: OperationOptions): Promise<HeldBytes | undefined> {
    if (size !== undefined && size > PART_BYTES) return undefined;
    const free = await this.#memory.take(signal);
    try {
      return { bytes: await reader.upTo(Math.min(size ?? PART_BYTES, PART_BYTES)), free };
    } catch (error) {
      free();
      throw error;
    }
  }

  /** Decides where the service does not, and avoids sending a large content for nothing. */
  async #requireFree({ key, createOnly, ifMatch }: Task, options: OperationOptions): Promise<void> {
    if (createOnly && (await this.#bucket.find(key, options)) !== undefined) throw new AlreadyExistsError();
    if (ifMatch !== undefined) await this.#bucket.requireVersion(key, ifMatch, options);
  }

  async #putBytes(task: Task, bytes: Buffer, options: OperationOptions): Promise<Uploaded> {
    if (task.createOnly && !task.support.create) await this.#requireFree(task, options);
    const etag = await this.#bucket.put(task.key, bytes, conditionOf(task), options);
    return { size: bytes.length, etag };
  }

  #putLarge(task: Task, first: HeldBytes | undefined, options: OperationOptions): Promise<Uploaded> {
    const { create, complete } = task.support;
    const fits = task.size === undefined || task.size <= MAX_SINGLE_BYTES;
    return isConditional(task) && create && !complete && fits
      ? this.#putFile(task, first, options)
      : this.#putParts(task, first, options);
  }

  async #putFile(task: Task, first: HeldBytes | undefined, options: OperationOptions): Promise<Uploaded> {
    await this.#requireFree(task, options);
    const { key, open, size, reader } = task;
    const put = async (content: SizedContent): Promise<Uploaded> => {
      const etag = await this.#bucket.put(key, content, conditionOf(task), options);
      return { size: content.size, etag };
    };
    if (open !== undefined && size !== undefined) return put({ open, size });
    async function* whole(): AsyncGenerator<Uint8Array, void, undefined> {
      if (first !== undefined) yield first.bytes;
      yield* reader.remaining();
    }
    const file = await spool(Readable.from(whole(), { objectMode: false }), options);
    first?.free();
    try {
      return await put(file);
    } finally {
      await file.remove();
    }
  }

  #putParts(task: Task, first: HeldBytes | undefined, options: OperationOptions): Promise<Uploaded> {
    const { key, reader, size, support } = task;
    const target = {
      key,
      attributes: this.#bucket.attributes(key),
      condition: support.complete ? conditionOf(task) : {},
      check: support.complete ? undefined : () => this.#requireFree(task, options),
    };
    const content = { reader, size, first, memory: this.#memory };
    return inParts(this.#bucket, target, options, contentParts(this.#bucket, content, options));
  }
}
