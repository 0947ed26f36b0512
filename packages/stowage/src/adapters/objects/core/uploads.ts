import { randomUUID } from 'node:crypto';
import { createNameLocks, type NameLocks } from '../../../basics/concurrency/name-locks.ts';
import { createSlots } from '../../../basics/concurrency/queues.ts';
import {
  AlreadyExistsError,
  BusyError,
  ChangedMeanwhileError,
  NotFoundError,
  StorageUnavailableError,
} from '../../../errors/errors.ts';
import type { OperationOptions } from '../../../storage/adapter.ts';
import { ContentReader, sendParts, type HeldBytes, type Part, type PartLimits } from './parts.ts';
import { PART_BYTES, type ObjectFacts, type Objects, type Upload, type Uploaded } from './objects.ts';
import { failedRequest, isPassing } from './requests.ts';

// Contents wait in memory, up to 8 MB each, while they are sent: together at most some 200 MB.
const BUFFERS = 24;
const MAY_WAIT = 2000;

/** What an object is stored under, and by what the service decides. */
export type UploadTarget = Pick<Upload, 'key' | 'createOnly' | 'ifMatch'>;

/** An upload in parts that has begun. Nothing has the key before it is complete. */
export interface PartedUpload {
  /** Bytes of the parts before this one, where they follow one another. */
  send(part: Part & { readonly start: number }): Promise<void>;
  /** Gives the parts their key. Resolves with the version. */
  complete(parts: number, size: number): Promise<string | undefined>;
  /** Drops what was sent, as far as the service can; never rejects. */
  abort(): Promise<void>;
}

/** A content that is too large for memory: its beginning, and the rest. */
export interface LargeContent {
  readonly first: HeldBytes | undefined;
  readonly reader: ContentReader;
}

/** Stores contents under their keys, whole or not at all, as one service takes them. */
export abstract class Uploads implements Pick<Objects, 'locks' | 'upload' | 'putFolder'> {
  /** Writes and moves of one key follow one another inside this process. */
  readonly locks: NameLocks = createNameLocks();
  abstract readonly limits: PartLimits;
  readonly #memory = createSlots(BUFFERS, MAY_WAIT);

  /** Optional: called before anything of the content is read. @throws UnsupportedError (`ifMatch`) */
  prepare?(upload: Upload, options: OperationOptions): Promise<void>;
  /** Optional: stores a large content in one request; undefined where it is to go in parts. */
  putLarge?(upload: Upload, content: LargeContent, options: OperationOptions): Promise<Uploaded | undefined>;
  abstract find(key: string, options: OperationOptions): Promise<ObjectFacts | undefined>;
  /** Resolves with the version. @throws ChangedMeanwhileError for a refused condition */
  abstract put(target: UploadTarget, bytes: Buffer, options: OperationOptions): Promise<string | undefined>;
  /** @throws ChangedMeanwhileError for a refused condition */
  abstract begin(target: UploadTarget, options: OperationOptions): Promise<PartedUpload>;

  /** Up to 8 MB: one request. Above: parts of 8 MB. @throws AlreadyExistsError, ChangedMeanwhileError */
  async upload(upload: Upload, options: OperationOptions): Promise<Uploaded> {
    await this.prepare?.(upload, options);
    try {
      // The key before the memory: uploads that wait for a key must not hold what its holder needs to go on.
      return await this.locks.hold(upload.key, options, () => this.#send(upload, options));
    } catch (error) {
      const isTaken =
        error instanceof ChangedMeanwhileError && upload.createOnly && upload.ifMatch === undefined;
      throw isTaken ? new AlreadyExistsError({ cause: error }) : error;
    }
  }

  /** @see Objects.putFolder */
  async putFolder(key: string, createOnly: boolean, options: OperationOptions): Promise<void> {
    try {
      await this.put({ key, createOnly, ifMatch: undefined }, Buffer.alloc(0), options);
    } catch (error) {
      throw error instanceof ChangedMeanwhileError ? new AlreadyExistsError({ cause: error }) : error;
    }
  }

  async #send(upload: Upload, options: OperationOptions): Promise<Uploaded> {
    const reader = new ContentReader(upload.chunks);
    const held = await this.#readFirst(upload, reader, options);
    try {
      if (held === undefined || !(await reader.isAtEnd()))
        return await this.#putLarge(upload, { first: held, reader }, options);
      return { size: held.bytes.length, etag: await this.put(upload, held.bytes, options) };
    } finally {
      held?.free();
    }
  }

  /**
   * Settles a removal of what is there. "Not found" and "changed" may mean that an attempt before has removed it, and
   * the former is not believed of what a look still finds.
   * @throws ChangedMeanwhileError where another version has the key, StorageUnavailableError
   */
  protected async settleRemoval(
    removal: Promise<unknown>,
    key: string,
    options: OperationOptions,
  ): Promise<void> {
    try {
      await removal;
    } catch (error) {
      const isMissed = error instanceof NotFoundError;
      if (!isMissed && !(error instanceof ChangedMeanwhileError)) throw error;
      if ((await this.find(key, options)) === undefined) return;
      throw isMissed
        ? new StorageUnavailableError({ detail: 'a removal finds nothing where something is', cause: error })
        : error;
    }
  }

  /** What one request could store, if the content may be so small. Waits for memory before it reads. */
  async #readFirst(
    { size }: Upload,
    reader: ContentReader,
    { signal }: OperationOptions,
  ): Promise<HeldBytes | undefined> {
    if (size !== undefined && size > PART_BYTES) return undefined;
    const free = await this.#memory.take(signal);
    try {
      return { bytes: await reader.upTo(Math.min(size ?? PART_BYTES, PART_BYTES)), free };
    } catch (error) {
      free();
      throw error;
    }
  }

  async #putLarge(upload: Upload, large: LargeContent, options: OperationOptions): Promise<Uploaded> {
    const { signal } = options;
    await this.#avoidRefusal(upload, options);
    const whole = await this.putLarge?.(upload, large, options);
    if (whole !== undefined) return whole;
    const parted = await this.begin(upload, options);
    const content = { ...large, size: upload.size, memory: this.#memory };
    let count = 0;
    let start = 0;
    try {
      const size = await sendParts(content, this.limits, signal, (part) => {
        const sent = parted.send({ ...part, start });
        count = part.number;
        start += part.bytes.length;
        return sent;
      });
      signal?.throwIfAborted();
      return { size, etag: await parted.complete(count, size) };
    } catch (error) {
      await parted.abort();
      throw error;
    }
  }

  /** Looks before a large content is sent for nothing; the service decides all the same. */
  async #avoidRefusal({ key, createOnly, ifMatch }: Upload, options: OperationOptions): Promise<void> {
    if (!createOnly && ifMatch === undefined) return;
    const found = await this.find(key, options);
    if (createOnly ? found !== undefined : found?.etag !== ifMatch) throw new ChangedMeanwhileError();
  }
}

/** What is read of an object to recognise it. */
export interface MarkedObject {
  readonly mark: string | undefined;
  readonly etag: string | undefined;
}

/**
 * What lies under the key of a write that has failed, where an attempt before may have stored it whose answer was lost.
 * Its mark, a random text in the metadata, shows whose object it is. A version would not: it may be that of the same
 * content of another writer.
 */
export const seenAfter = async (
  failure: unknown,
  find: () => Promise<MarkedObject | undefined>,
): Promise<MarkedObject | undefined> => {
  const failed = failedRequest(failure);
  if (failed === undefined) return undefined;
  // A refusal of the first attempt: nothing was stored. Busy: parts may be gone because another upload is complete.
  const mayBeStored = failed.attempts > 1 || failed.status === undefined || isPassing(failure);
  return mayBeStored ? find().catch(() => undefined) : undefined;
};

/**
 * A write that succeeds also when it is refused because an attempt before has stored it. `write` gets the mark for the
 * metadata, none where the write has no condition, and resolves with the version.
 * @throws ChangedMeanwhileError for a create-only write whenever something has the key, and what `write` throws
 */
export const markedWrite = async (
  { createOnly, ifMatch }: Pick<UploadTarget, 'createOnly' | 'ifMatch'>,
  write: (mark: string | undefined) => Promise<string | undefined>,
  find: () => Promise<MarkedObject | undefined>,
  { signal }: OperationOptions,
): Promise<string | undefined> => {
  if (!createOnly && ifMatch === undefined) return write(undefined);
  const mark = randomUUID();
  try {
    return await write(mark);
  } catch (error) {
    const found = await seenAfter(error, find);
    if (found?.mark === mark) return found.etag;
    signal?.throwIfAborted();
    // Parts are gone when another upload has taken the key.
    const isTaken = error instanceof BusyError && createOnly && ifMatch === undefined && found !== undefined;
    throw isTaken ? new ChangedMeanwhileError({ cause: error }) : error;
  }
};
