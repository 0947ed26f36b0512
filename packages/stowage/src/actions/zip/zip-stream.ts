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
/** From this size on, a copy costs more than a piece of its own. */
const LARGE_BYTES = 32 * 1024;

/**
 * Joins the parts of a stream, such as headers and contents, into pieces of a useful size. `take` copies a
 * part: its memory is free once all pieces have been consumed. The first part is sent immediately, to show
 * that the response has begun. `take`, `pass` and `rest` yield the output in order.
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

  /** Like `take`, for a part whose memory is not reused: a large one is not copied. */
  *pass(part: Uint8Array): Generator<Uint8Array, void, undefined> {
    if (part.byteLength < LARGE_BYTES) return yield* this.take(part);
    yield* this.rest();
    yield part;
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

/** A file of an archive at the time of opening. */
export interface OpenedFile {
  /** Bytes; undefined when unknown. */
  readonly size: number | undefined;
  /** Milliseconds since 1970. */
  readonly modifiedAt: number | undefined;
  /** All of a small file, or a stream, which is destroyed after the entry in every case. */
  readonly content: Readable | Uint8Array;
}

export interface WholeFile extends OpenedFile {
  readonly content: Uint8Array;
}

export interface ZipEntry {
  /** With slashes between folders, and a trailing one for a folder. */
  readonly name: string;
  /** Milliseconds since 1970; used for folders, which are not opened. */
  readonly modifiedAt: number | undefined;
  /** Undefined for a folder. */
  readonly open: (() => Promise<OpenedFile>) | undefined;
}

/** Consecutive entries. */
export interface ZipBatch {
  readonly entries: readonly ZipEntry[];
  /** Reads small files in advance; undefined for entries that are to be opened later. */
  readonly readAhead: () => Promise<readonly (WholeFile | undefined)[]>;
  /** Called when the archive no longer uses the results of `readAhead`. */
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
    // Checked after the content: the response has begun, and is aborted.
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
      // Also when the client disconnects before the first byte is read.
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

/** Batches that are read ahead, so that the disk works while others are sent. */
const AHEAD = 4;

async function* inOrder(batches: Iterable<ZipBatch>) {
  const coming = batches[Symbol.iterator]();
  const waiting: { readonly batch: ZipBatch; readonly files: ReturnType<ZipBatch['readAhead']> }[] = [];
  try {
    for (;;) {
      while (waiting.length < AHEAD) {
        const next = coming.next();
        if (next.done === true) break;
        const batch = next.value;
        const files = batch.readAhead();
        // The failure is handled when the batch is awaited.
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

async function* piecesOf(batches: Iterable<ZipBatch>, most: number, joiner: PartJoiner) {
  const writer = new ZipWriter(most);
  for await (const entries of inOrder(batches)) {
    for (const [entry, read] of entries) {
      const file = read ?? (await entry.open?.());
      // Not `yield*`, which awaits once more for each part.
      if (file === undefined || isWhole(file)) {
        for (const part of writer.whole(entry, file)) for (const piece of joiner.take(part)) yield piece;
      } else {
        for await (const part of writer.streamed(entry, file, file.content as Readable))
          for (const piece of joiner.pass(part)) yield piece;
      }
    }
  }
  for (const part of writer.end()) for (const piece of joiner.take(part)) yield piece;
  yield* joiner.rest();
}

const isWhole = (file: OpenedFile): file is WholeFile => file.content instanceof Uint8Array;

/**
 * An uncompressed archive of these entries, generated as a stream: one large file is open at a time, some
 * batches of small ones are read ahead, and memory grows only with the number of entries (some 55 bytes and
 * the name each). A file whose length differs from its stat, or that exceeds `most` bytes in total, fails the
 * archive with ChangedMeanwhileError; errors of opening and reading fail it too.
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
    // Waits for a running read; a disconnecting client has aborted it.
    this.#pieces.return().then(
      () => callback(error),
      (failure: unknown) => callback(error ?? (failure as Error)),
    );
  }
}
