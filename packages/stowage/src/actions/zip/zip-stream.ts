import { Readable } from 'node:stream';
import { crc32 } from 'node:zlib';
import { ChangedMeanwhileError } from '../../errors/errors.ts';
import {
  CentralDirectory,
  descriptor,
  localHeader,
  MAX_32,
  type ContentSum,
  type EntryHead,
} from './zip-records.ts';

const PIECE_BYTES = 128 * 1024;

/**
 * Joins the parts of a stream, such as headers and contents, to pieces that are worth sending. They are copied: the
 * memory of a part is free as soon as all pieces of `take` were taken. The first part is not held back: it
 * shows that the answer has begun. What `take` and `rest` yield is what goes out, in order.
 */
export class PartJoiner {
  #piece: Buffer | undefined;
  #used = 0;
  #most = 1;

  *take(part: Uint8Array): Generator<Uint8Array, void, undefined> {
    for (let from = 0; from < part.byteLength;) {
      const piece = (this.#piece ??= Buffer.allocUnsafeSlow(PIECE_BYTES));
      const bytes = Math.min(part.byteLength - from, PIECE_BYTES - this.#used);
      piece.set(bytes === part.byteLength ? part : part.subarray(from, from + bytes), this.#used);
      this.#used += bytes;
      from += bytes;
      if (this.#used >= this.#most) yield* this.rest();
    }
  }

  *rest(): Generator<Uint8Array, void, undefined> {
    const piece = this.#piece;
    if (piece === undefined) return;
    const filled = piece.subarray(0, this.#used);
    this.#piece = undefined;
    this.#used = 0;
    this.#most = PIECE_BYTES;
    yield filled;
  }
}

/** A file of an archive, as it is when it is opened. */
export interface OpenedFile {
  /** Bytes, where they are known. */
  readonly size: number | undefined;
  /** Milliseconds since 1970. */
  readonly modifiedAt: number | undefined;
  /** All of a small file; a stream is ended with the entry, whatever becomes of it. */
  readonly content: Readable | Uint8Array;
}

export interface WholeFile extends OpenedFile {
  readonly content: Uint8Array;
}

export interface ZipEntry {
  /** With slashes between folders, and one at the end of a folder. */
  readonly name: string;
  /** Milliseconds since 1970; for folders, which are not opened. */
  readonly modifiedAt: number | undefined;
  /** Undefined for a folder. */
  readonly open: (() => Promise<OpenedFile>) | undefined;
}

/** Entries that come after each other. */
export interface ZipBatch {
  readonly entries: readonly ZipEntry[];
  /** Reads what is small before it is wanted; undefined for what is to be opened when its turn comes. */
  readonly readAhead: () => Promise<readonly (WholeFile | undefined)[]>;
  /** The archive has ended: what `readAhead` has read is not used. */
  readonly release: () => void;
}

const NOTHING: ContentSum = { crc: 0, size: 0 };

const changed = (detail: string): ChangedMeanwhileError => new ChangedMeanwhileError({ detail });

class ZipWriter {
  readonly #directory = new CentralDirectory();
  #offset = 0;
  #left: number;

  constructor(most: number) {
    this.#left = most;
  }

  *whole(entry: ZipEntry, file: WholeFile | undefined): Generator<Uint8Array, void, undefined> {
    const head = this.#headOf(entry, file);
    const sum = file === undefined ? NOTHING : this.#sum(NOTHING, file.content);
    this.#directory.add({ ...head, ...sum, offset: this.#offset, isSumBehind: false });
    yield this.#counted(localHeader(head, sum));
    if (file === undefined) return;
    yield this.#counted(file.content);
    // Behind them: the answer has begun, and breaks off.
    requireSize(file, sum);
  }

  async *streamed(
    entry: ZipEntry,
    file: OpenedFile,
    content: Readable,
  ): AsyncGenerator<Uint8Array, void, undefined> {
    try {
      const head = this.#headOf(entry, file);
      const offset = this.#offset;
      const is64 = (file.size ?? MAX_32) >= MAX_32;
      yield this.#counted(localHeader(head, undefined, is64));
      let sum = NOTHING;
      for await (const chunk of content as AsyncIterable<Uint8Array>) {
        sum = this.#sum(sum, chunk);
        yield this.#counted(chunk);
      }
      requireSize(file, sum);
      this.#directory.add({ ...head, ...sum, offset, isSumBehind: true });
      yield this.#counted(descriptor(sum, is64));
    } finally {
      // Also when the client has left before its first byte was asked for.
      content.destroy();
    }
  }

  end(): Generator<Uint8Array, void, undefined> {
    return this.#directory.end(this.#offset);
  }

  #headOf({ name, modifiedAt }: ZipEntry, file: OpenedFile | undefined): EntryHead {
    return {
      name: Buffer.from(name),
      isFolder: file === undefined,
      modifiedAt: file?.modifiedAt ?? modifiedAt ?? Date.now(),
    };
  }

  #sum({ crc, size }: ContentSum, chunk: Uint8Array): ContentSum {
    this.#left -= chunk.byteLength;
    if (this.#left < 0) throw changed('an archive has become larger than its limit');
    return { crc: crc32(chunk, crc), size: size + chunk.byteLength };
  }

  #counted<Bytes extends Uint8Array>(bytes: Bytes): Bytes {
    this.#offset += bytes.byteLength;
    return bytes;
  }
}

const requireSize = ({ size }: OpenedFile, sum: ContentSum): void => {
  if (size !== undefined && size !== sum.size)
    throw changed('a file of an archive has another length than its store said');
};

/** Batches that are read before their turn, so that the disk works while others are sent. */
const AHEAD = 4;

async function* inOrder(
  batches: Iterable<ZipBatch>,
): AsyncGenerator<readonly (readonly [ZipEntry, WholeFile | undefined])[], void, undefined> {
  const coming = batches[Symbol.iterator]();
  const waiting: { readonly batch: ZipBatch; readonly files: ReturnType<ZipBatch['readAhead']> }[] = [];
  try {
    for (;;) {
      while (waiting.length < AHEAD) {
        const next = coming.next();
        if (next.done === true) break;
        const batch = next.value;
        const files = batch.readAhead();
        // Told when its turn comes.
        files.catch(() => undefined);
        waiting.push({ batch, files });
      }
      const first = waiting.shift();
      if (first === undefined) return;
      const files = await first.files;
      yield first.batch.entries.map((entry, index) => [entry, files[index]] as const);
      first.batch.release();
    }
  } finally {
    await Promise.allSettled(waiting.map(({ files }) => files));
  }
}

async function* piecesOf(
  batches: Iterable<ZipBatch>,
  most: number,
  joiner: PartJoiner,
): AsyncGenerator<Uint8Array, void, undefined> {
  const writer = new ZipWriter(most);
  for await (const entries of inOrder(batches)) {
    for (const [entry, read] of entries) {
      const file = read ?? (await entry.open?.());
      // Not `yield*`, which waits once more for each part.
      if (file === undefined || isWhole(file)) {
        for (const part of writer.whole(entry, file)) for (const piece of joiner.take(part)) yield piece;
      } else {
        for await (const part of writer.streamed(entry, file, file.content as Readable))
          for (const piece of joiner.take(part)) yield piece;
      }
    }
  }
  for (const part of writer.end()) for (const piece of joiner.take(part)) yield piece;
  yield* joiner.rest();
}

const isWhole = (file: OpenedFile): file is WholeFile => file.content instanceof Uint8Array;

/**
 * An archive of these entries, nothing compressed, bit by bit: one large file is open at a time, some batches
 * of small ones are read ahead, and memory grows with the number of entries alone (some 55 bytes and the name
 * each). A file that yields another length than it has said, or more than `most` bytes with those before it,
 * fails the archive with ChangedMeanwhileError; so does what opening and reading throw.
 */
export class ZipStream extends Readable {
  readonly #pieces: AsyncGenerator<Uint8Array, void, undefined>;

  constructor(batches: Iterable<ZipBatch>, most: number) {
    super();
    this.#pieces = piecesOf(batches, most, new PartJoiner());
  }

  override _read(): void {
    this.#pieces.next().then(
      ({ value }) => this.push(value ?? null),
      (error: unknown) => this.destroy(error as Error),
    );
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    // Waits for a read that is under way; a client that leaves has aborted it.
    this.#pieces.return().then(
      () => callback(error),
      (failure: unknown) => callback(error ?? (failure as Error)),
    );
  }
}
