import { createReadStream } from 'node:fs';
import { mkdir, open, readdir, readFile, rename, rm, stat, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { Once } from '../../basics/concurrency/abort.ts';
import { flush, fromSystemError, ifCode, writeFlushed } from '../../basics/files/system-errors.ts';
import { BusyError, NotFoundError, orUndefined, StorageUnavailableError } from '../../errors/errors.ts';
import type { KeptRoom } from '../../operations/quotas/account.ts';
import { type AnnouncedUpload, type ArrivedFile, partTooLong } from './protocol.ts';

interface Bounds {
  readonly uploads: number;
  /** Announced size. */
  readonly bytes: number;
}

export interface WaitingLimits {
  readonly all: Bounds;
  readonly client: Bounds;
  /** Lifetime after the last byte. */
  readonly milliseconds: number;
}

/** Responses of finished uploads are stored for clients that have lost them. */
const ANSWERS_MS = 60 * 60 * 1000;
/** Lifetime of an upload without a byte: its client may have lost the address, and started anew. */
const UNTOUCHED_MS = 60 * 60 * 1000;
const MOST_ANSWERS = 1000;
const READ_BYTES = 1 << 18;
const ID = /^[0-9a-f]{40}$/u;

export interface WaitingUpload {
  readonly announced: AnnouncedUpload;
  /** Time of the last byte, or of completion, in milliseconds since 1970. */
  touchedAt: number;
  hasBytes: boolean;
  /** The response to the client once the file was stored; undefined until then. */
  answer: string | undefined;
  /** Whether an attempt to store it has begun, perhaps by a former process. */
  mayBeStored: boolean;
}

const ifGone = ifCode('ENOENT');

/** The error of a directory that cannot be used: the client has not named it. */
const unusable = (error: unknown, operation: string): Error => {
  const known = fromSystemError(error, operation);
  if (known.status >= 500) return known;
  return new StorageUnavailableError({ detail: known.detail ?? operation, cause: error });
};

const parsed = (text: string): Pick<WaitingUpload, 'announced' | 'answer'> | undefined =>
  orUndefined(() => {
    const { announced, answer } = JSON.parse(text) as WaitingUpload;
    return { announced, answer };
  });

const requireRoom = (waiting: readonly WaitingUpload[], announced: AnnouncedUpload, most: Bounds): void => {
  const bytes = waiting.reduce((sum, upload) => sum + upload.announced.bytes, announced.bytes);
  if (waiting.length >= most.uploads || bytes > most.bytes)
    throw new BusyError({ detail: 'too many unfinished uploads wait' });
};

const lengthOf = (chunks: readonly Uint8Array[]): number =>
  chunks.reduce((sum, { length }) => sum + length, 0);

/** Writes all of the chunks; a single system call may write only some. @throws StorageFullError */
const writeAt = async (handle: FileHandle, chunks: readonly Uint8Array[], position: number) => {
  try {
    let { bytesWritten: done } = await handle.writev(chunks, position);
    for (const total = lengthOf(chunks); done < total;) {
      const rest = Buffer.concat(chunks).subarray(done);
      done += (await handle.write(rest, 0, rest.length, position + done)).bytesWritten;
    }
  } catch (error) {
    throw fromSystemError(error, 'continuing an upload');
  }
};

/**
 * Unfinished uploads on a local disk: a folder for each, with its metadata and the received bytes. They
 * survive a restart. The directory must be used by only one process at a time. Memory: about 2 KB each.
 */
export class UnfinishedUploads {
  readonly #directory: string;
  readonly #limits: WaitingLimits;
  readonly #uploads = new Map<string, WaitingUpload>();
  readonly #loading = new Once<void>();
  readonly #release: (id: string) => Promise<void>;

  /** @param release releases the room that is reserved for an upload */
  constructor(
    directory: string,
    limits: WaitingLimits,
    release: (id: string) => Promise<void> = () => Promise.resolve(),
  ) {
    this.#directory = directory;
    this.#limits = limits;
    this.#release = release;
  }

  /** Creates an upload; after a failure the caller removes it. @throws BusyError; errors of the disk */
  async create(announced: AnnouncedUpload): Promise<WaitingUpload> {
    await this.#load();
    const waiting = [...this.#uploads.values()].filter(({ answer }) => answer === undefined);
    requireRoom(waiting, announced, this.#limits.all);
    const { client } = announced;
    const own = waiting.filter((other) => client !== undefined && other.announced.client === client);
    // A client without unfinished uploads may start a large one.
    if (own.length > 0) requireRoom(own, announced, this.#limits.client);
    const upload: WaitingUpload = {
      announced,
      touchedAt: Date.now(),
      hasBytes: false,
      answer: undefined,
      mayBeStored: false,
    };
    this.#uploads.set(announced.id, upload);
    try {
      await mkdir(join(this.#directory, announced.id), { recursive: true, mode: 0o700 });
      // The folder denies access to other users of the system. The file itself gets the default mode of new
      // files: a store may rename it to its destination.
      const handle = await open(this.#bytesOf(announced.id), 'wx', 0o666);
      await handle.close();
      await this.#write(upload);
      return upload;
    } catch (error) {
      throw unusable(error, 'beginning an upload');
    }
  }

  /** Expiry in its current state: milliseconds since 1970. */
  expiresAt({ touchedAt, hasBytes, answer }: WaitingUpload): number {
    if (answer !== undefined) return touchedAt + ANSWERS_MS;
    const { milliseconds } = this.#limits;
    return touchedAt + (hasBytes ? milliseconds : Math.min(milliseconds, UNTOUCHED_MS));
  }

  /** The upload with this id; undefined when there is none, or it has expired. */
  async find(id: string): Promise<WaitingUpload | undefined> {
    await this.#load();
    const upload = this.#uploads.get(id);
    return upload !== undefined && this.#isExpired(upload) ? undefined : upload;
  }

  /** Number of received bytes. @throws NotFoundError */
  async offset({ announced: { id, bytes }, answer }: WaitingUpload): Promise<number> {
    if (answer !== undefined) return bytes;
    try {
      return (await stat(this.#bytesOf(id))).size;
    } catch (error) {
      throw fromSystemError(error, 'looking at an upload');
    }
  }

  /**
   * Appends bytes, and returns the number of bytes received once all are synced to disk. Received bytes stay
   * when the content fails. Not for concurrent calls.
   * @throws errors of the content; BodyTooLargeError for more than was announced; StorageFullError and the
   *   other errors of a file system
   */
  async append(
    upload: WaitingUpload,
    content: AsyncIterable<readonly Uint8Array[]>,
    offset: number,
  ): Promise<number> {
    const { id, bytes } = upload.announced;
    let position = offset;
    const rethrow = (error: unknown): never => {
      throw fromSystemError(error, 'continuing an upload');
    };
    const handle = await open(this.#bytesOf(id), 'r+').catch(rethrow);
    try {
      for await (const chunks of content) {
        const length = lengthOf(chunks);
        if (position + length > bytes) throw partTooLong();
        await writeAt(handle, chunks, position);
        position += length;
        Object.assign(upload, { touchedAt: Date.now(), hasBytes: true });
      }
      return position;
    } finally {
      try {
        // Network file systems report a full disk only here.
        if (position > offset) await flush(handle).catch(rethrow);
      } finally {
        await handle.close();
      }
    }
  }

  fileOf({ announced: { id, bytes } }: WaitingUpload): ArrivedFile['file'] {
    return { path: this.#bytesOf(id), size: bytes };
  }

  read({ announced: { id } }: WaitingUpload): Readable {
    return createReadStream(this.#bytesOf(id), { highWaterMark: READ_BYTES });
  }

  /** Records that the file is stored, and deletes its bytes. The response is stored for an hour. */
  async finish(upload: WaitingUpload, answer: string): Promise<void> {
    Object.assign(upload, { answer, touchedAt: Date.now() });
    await this.#release(upload.announced.id);
    await this.#write(upload);
    await rm(this.#bytesOf(upload.announced.id), { force: true });
  }

  async remove(id: string): Promise<void> {
    this.#uploads.delete(id);
    await this.#release(id);
    await rm(join(this.#directory, id), { recursive: true, force: true });
  }

  /** Rooms that are reserved for unfinished uploads. @throws errors of the disk */
  async rooms(): Promise<readonly KeptRoom[]> {
    await this.#load();
    return [...this.#uploads.values()].flatMap((upload) => {
      const { answer, announced } = upload;
      return announced.room === undefined || answer !== undefined || this.#isExpired(upload)
        ? []
        : [announced.room];
    });
  }

  /** Removes expired uploads, and the oldest responses if there are too many. */
  async sweep(isInUse: (id: string) => boolean): Promise<void> {
    await this.#load();
    const all = [...this.#uploads].filter(([id]) => !isInUse(id));
    const answers = all.filter(([, { answer }]) => answer !== undefined);
    answers.sort(([, one], [, other]) => other.touchedAt - one.touchedAt);
    const surplus = new Set(answers.slice(MOST_ANSWERS).map(([id]) => id));
    for (const [id, upload] of all) {
      if (surplus.has(id) || this.#isExpired(upload)) await this.remove(id);
    }
  }

  #isExpired(upload: WaitingUpload): boolean {
    return Date.now() > this.expiresAt(upload);
  }

  #bytesOf(id: string): string {
    return join(this.#directory, id, 'bytes');
  }

  async #write({ announced, answer }: WaitingUpload): Promise<void> {
    const path = join(this.#directory, announced.id, 'upload.json');
    await writeFlushed(`${path}.new`, JSON.stringify({ announced, answer }), 'w');
    await rename(`${path}.new`, path);
  }

  /** Loads the uploads of a former process once. */
  #load(): Promise<void> {
    return this.#loading.get(async () => {
      try {
        await mkdir(this.#directory, { recursive: true, mode: 0o700 });
        for (const id of (await readdir(this.#directory)).filter((name) => ID.test(name)))
          // Left for the next process when it cannot be read now.
          await this.#readOne(id).catch(() => undefined);
      } catch (error) {
        throw unusable(error, 'reading the unfinished uploads');
      }
    });
  }

  async #readOne(id: string): Promise<void> {
    const folder = join(this.#directory, id);
    const path = join(folder, 'upload.json');
    const known = parsed((await readFile(path, 'utf8').catch(ifGone)) ?? '');
    const found = await stat(known?.answer === undefined ? this.#bytesOf(id) : path).catch(ifGone);
    // Its creation was never confirmed, or its removal was interrupted.
    if (known === undefined || found === undefined) return rm(folder, { recursive: true, force: true });
    const { mtimeMs, size } = found;
    // A former process with all bytes may have stored the file before it ended.
    const mayBeStored = size === known.announced.bytes;
    this.#uploads.set(id, { ...known, touchedAt: mtimeMs, hasBytes: size > 0, mayBeStored });
  }
}

/** For an upload that does not exist or is of another client: the response does not reveal which. */
export const unknownUpload = (): NotFoundError =>
  new NotFoundError('This upload is not known here, or has expired.');
