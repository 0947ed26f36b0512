import { randomUUID } from 'node:crypto';
import { createNameLocks, type NameLocks } from '../../../basics/concurrency/name-locks.ts';
import { createSlots } from '../../../basics/concurrency/queues.ts';
import * as errors from '../../../errors/errors.ts';
import type { OperationOptions } from '../../../storage/adapter.ts';
import { ContentReader, sendParts, type HeldBytes, type Part, type PartLimits } from './parts.ts';
import { PART_BYTES, type ObjectFacts, type Objects, type Upload, type Uploaded } from './objects.ts';
import { failedRequest, isPassing } from './requests.ts';

// Contents are in memory while they are sent, up to 8 MB each: some 200 MB in total at most.
const BUFFERS = 24;
const MAY_WAIT = 2000;

/** Key of an object, the conditions for storing it, and attributes of the object that it replaces. */
export type UploadTarget = Pick<Upload, 'key' | 'createOnly' | 'ifMatch' | 'kept'>;

/** A running upload in parts. No object has the key before it is complete. */
export interface PartedUpload {
  send(part: Part): Promise<void>;
  /** Completes the object. Resolves with its ETag. */
  complete(parts: number, size: number): Promise<string | undefined>;
  /** Discards the parts, as far as the service can; never rejects. */
  abort(): Promise<void>;
}

/** A content that is too large for memory: its beginning, and the rest. */
export interface LargeContent {
  readonly first: HeldBytes | undefined;
  readonly reader: ContentReader;
}

/** Stores contents under their keys, completely or not at all. Subclasses send the requests of a service. */
export abstract class Uploads implements Pick<Objects, 'locks' | 'upload' | 'putFolder'> {
  /** Serializes writes and moves of one key within this process. */
  readonly locks: NameLocks = createNameLocks();
  abstract readonly limits: PartLimits;
  readonly #memory = createSlots(BUFFERS, MAY_WAIT);

  /** Optional: stores a large content in one request; undefined where it must be sent in parts. */
  putLarge?(upload: Upload, content: LargeContent, options: OperationOptions): Promise<Uploaded | undefined>;
  abstract find(key: string, options: OperationOptions): Promise<ObjectFacts | undefined>;
  /** Resolves with the ETag. @throws ChangedMeanwhileError when a condition fails */
  abstract put(target: UploadTarget, bytes: Buffer, options: OperationOptions): Promise<string | undefined>;
  /** @throws ChangedMeanwhileError when a condition fails */
  abstract begin(target: UploadTarget, options: OperationOptions): Promise<PartedUpload>;

  /** One request up to 8 MB, else parts of 8 MB. @throws AlreadyExistsError, ChangedMeanwhileError */
  async upload(upload: Upload, options: OperationOptions): Promise<Uploaded> {
    try {
      // The lock before the memory: an upload waiting for a lock must not hold memory that its holder needs.
      return await this.locks.hold(upload.key, options, () => this.#send(upload, options));
    } catch (error) {
      const isTaken =
        error instanceof errors.ChangedMeanwhileError && upload.createOnly && upload.ifMatch === undefined;
      throw isTaken ? new errors.AlreadyExistsError({ cause: error }) : error;
    }
  }

  async putFolder(key: string, createOnly: boolean, options: OperationOptions): Promise<void> {
    try {
      await this.put({ key, createOnly, ifMatch: undefined }, Buffer.alloc(0), options);
    } catch (error) {
      throw error instanceof errors.ChangedMeanwhileError
        ? new errors.AlreadyExistsError({ cause: error })
        : error;
    }
  }

  async #send(upload: Upload, options: OperationOptions): Promise<Uploaded> {
    const reader = new ContentReader(upload.chunks);
    const held = await this.#readFirst(upload, reader, options);
    try {
      if (held === undefined || !(await reader.isAtEnd()))
        return await this.#putLarge(upload, { first: held, reader }, options);
      options.signal?.throwIfAborted();
      // Without the signal: an aborted request could come late, and replace what others have stored since.
      return { size: held.bytes.length, etag: await this.put(upload, held.bytes, {}) };
    } finally {
      held?.free();
    }
  }

  /**
   * Handles the result of removing an existing object. "Not found" and "changed" may mean that an earlier
   * attempt has removed it; "not found" is checked by a lookup.
   * @throws ChangedMeanwhileError when another version has the key, StorageUnavailableError
   */
  protected async settleRemoval(
    removal: Promise<unknown>,
    key: string,
    options: OperationOptions,
  ): Promise<void> {
    try {
      await removal;
    } catch (error) {
      const isMissed = error instanceof errors.NotFoundError;
      if (!isMissed && !(error instanceof errors.ChangedMeanwhileError)) throw error;
      if ((await this.find(key, options)) === undefined) return;
      throw isMissed
        ? new errors.StorageUnavailableError({
            detail: 'a removal finds nothing where something is',
            cause: error,
          })
        : error;
    }
  }

  /** Reads the content of a single request, if it may be that small. Waits for memory before reading. */
  async #readFirst({ size }: Upload, reader: ContentReader, { signal }: OperationOptions) {
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
    try {
      const { parts, size } = await sendParts(content, this.limits, signal, (part) => parted.send(part));
      signal?.throwIfAborted();
      return { size, etag: await parted.complete(parts, size) };
    } catch (error) {
      await parted.abort();
      throw error;
    }
  }

  /** Checks the conditions before a large content is sent in vain; the service still decides. */
  async #avoidRefusal({ key, createOnly, ifMatch }: Upload, options: OperationOptions): Promise<void> {
    if (!createOnly && ifMatch === undefined) return;
    const found = await this.find(key, options);
    if (createOnly ? found !== undefined : found?.etag !== ifMatch) throw new errors.ChangedMeanwhileError();
  }
}

/** Properties that identify an object after a lost response. */
export interface MarkedObject {
  readonly mark: string | undefined;
  readonly etag: string | undefined;
}

/**
 * The object under the key of a failed write, when an earlier attempt with a lost response may have stored
 * it. Its mark, a random text in the metadata, identifies the writer. An ETag would not: another writer may
 * have stored the same content.
 */
export const seenAfter = async (
  failure: unknown,
  find: () => Promise<MarkedObject | undefined>,
): Promise<MarkedObject | undefined> => {
  const failed = failedRequest(failure);
  if (failed === undefined) return undefined;
  // The first attempt was rejected: nothing was stored. Busy: a completed upload may have removed the parts.
  const mayBeStored = failed.attempts > 1 || failed.status === undefined || isPassing(failure);
  return mayBeStored ? find().catch(() => undefined) : undefined;
};

/**
 * A write that also succeeds when it is rejected because an earlier attempt has stored the object. `write`
 * gets the mark for the metadata (none for a write without a condition), and resolves with the ETag.
 * @throws ChangedMeanwhileError for a create-only write whenever an object has the key, and errors of `write`
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
    const isTaken =
      error instanceof errors.BusyError && createOnly && ifMatch === undefined && found !== undefined;
    throw isTaken ? new errors.ChangedMeanwhileError({ cause: error }) : error;
  }
};
