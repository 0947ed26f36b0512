import type { Readable } from 'node:stream';
import { crc32 } from 'node:zlib';
import { ChangedMeanwhileError } from '../../errors/errors.ts';
import { PartJoiner } from './part-joiner.ts';

/** A file of an archive, opened when its bytes are wanted. */
export interface OpenedFile {
  /** Bytes, where they are known. */
  readonly size: number | undefined;
  /** Milliseconds since 1970. */
  readonly modifiedAt: number | undefined;
  /** All of a small file; a stream is ended with the entry, whatever becomes of it. */
  readonly content: Readable | Uint8Array;
}

/** An entry of an archive. */
export interface ZipEntry {
  /** With slashes between folders, and one at the end of a folder. */
  readonly name: string;
  /** Milliseconds since 1970; for folders, which are not opened. */
  readonly modifiedAt: number | undefined;
  /** Undefined for a folder. */
  readonly open: (() => Promise<OpenedFile>) | undefined;
  /** Whether its content may be read before its turn: it is small, and nothing stays open for it. */
  readonly isSmall: boolean;
}

const MAX_16 = 0xff_ff;
const MAX_32 = 0xff_ff_ff_ff;
/** Sizes stand behind the content, and names are UTF-8. */
const FLAGS = 0x08_08;
const VERSION = 20;
const VERSION_64 = 45;
/** Made by Unix: the upper half of the external attributes are its modes. */
const UNIX = 3 << 8;
const FILE_MODE = 0o100_644;
const FOLDER_MODE = 0o40_755;
const DOS_FOLDER = 0x10;

/** What the directory at the end says of an entry. */
interface Written {
  readonly name: Buffer;
  readonly isFolder: boolean;
  readonly modifiedAt: number;
  readonly offset: number;
  readonly crc: number;
  readonly size: number;
}

/** Little-endian numbers, each of 2, 4 or 8 bytes. */
const fields = (...values: readonly (readonly [bytes: 2 | 4 | 8, value: number])[]): Buffer => {
  const buffer = Buffer.alloc(values.reduce((length, [bytes]) => length + bytes, 0));
  let at = 0;
  for (const [bytes, value] of values) {
    if (bytes === 2) buffer.writeUInt16LE(value, at);
    else if (bytes === 4) buffer.writeUInt32LE(value, at);
    else buffer.writeBigUInt64LE(BigInt(value), at);
    at += bytes;
  }
  return buffer;
};

const YEAR_1980 = 1980;
const YEAR_2107 = 2107;

/** Time and date in the local time of the server, to two seconds, as the format has them. */
const dosTime = (milliseconds: number): readonly [time: number, date: number] => {
  const date = new Date(milliseconds);
  const year = Math.min(Math.max(date.getFullYear(), YEAR_1980), YEAR_2107);
  return [
    (date.getHours() << 11) | (date.getMinutes() << 5) | (date.getSeconds() >> 1),
    ((year - YEAR_1980) << 9) | ((date.getMonth() + 1) << 5) | date.getDate(),
  ];
};

/** The exact time, in UTC; empty where it cannot be written. */
const timeField = (milliseconds: number): Buffer => {
  const seconds = Math.floor(milliseconds / 1000);
  if (seconds < 0 || seconds > 0x7f_ff_ff_ff) return Buffer.alloc(0);
  return Buffer.concat([fields([2, 0x54_55], [2, 5]), Buffer.of(1), fields([4, seconds])]);
};

const localHeader = ({ name, isFolder, modifiedAt }: Written, is64: boolean): Buffer => {
  const [time, date] = dosTime(modifiedAt);
  const extra = Buffer.concat([
    is64 ? fields([2, 1], [2, 16], [8, 0], [8, 0]) : Buffer.alloc(0),
    timeField(modifiedAt),
  ]);
  const size = is64 ? MAX_32 : 0;
  return Buffer.concat([
    fields([4, 0x04_03_4b_50], [2, is64 ? VERSION_64 : VERSION]),
    fields([2, isFolder ? 0x08_00 : FLAGS], [2, 0], [2, time], [2, date]),
    fields([4, 0], [4, size], [4, size], [2, name.length], [2, extra.length]),
    name,
    extra,
  ]);
};

const descriptor = ({ crc, size }: Written, is64: boolean): Buffer =>
  fields([4, 0x08_07_4b_50], [4, crc], [is64 ? 8 : 4, size], [is64 ? 8 : 4, size]);

const directoryEntry = ({ name, isFolder, modifiedAt, offset, crc, size }: Written): Buffer => {
  const [time, date] = dosTime(modifiedAt);
  const large = [...(size >= MAX_32 ? [size, size] : []), ...(offset >= MAX_32 ? [offset] : [])];
  const is64 = large.length > 0;
  const extra = Buffer.concat([
    is64 ? fields([2, 1], [2, large.length * 8]) : Buffer.alloc(0),
    ...large.map((value) => fields([8, value])),
    timeField(modifiedAt),
  ]);
  const version = is64 ? VERSION_64 : VERSION;
  const mode = (isFolder ? FOLDER_MODE : FILE_MODE) * 0x1_00_00 + (isFolder ? DOS_FOLDER : 0);
  const [shownSize, shownOffset] = [Math.min(size, MAX_32), Math.min(offset, MAX_32)];
  return Buffer.concat([
    fields([4, 0x02_01_4b_50], [2, UNIX | VERSION_64], [2, version]),
    fields([2, isFolder ? 0x08_00 : FLAGS], [2, 0], [2, time], [2, date]),
    fields([4, crc], [4, shownSize], [4, shownSize], [2, name.length], [2, extra.length]),
    fields([2, 0], [2, 0], [2, 0], [4, mode], [4, shownOffset]),
    name,
    extra,
  ]);
};

const endOf = (count: number, offset: number, size: number): Buffer => {
  const end = fields(
    [4, 0x06_05_4b_50],
    [4, 0],
    [2, Math.min(count, MAX_16)],
    [2, Math.min(count, MAX_16)],
    [4, Math.min(size, MAX_32)],
    [4, Math.min(offset, MAX_32)],
    [2, 0],
  );
  if (count < MAX_16 && offset < MAX_32 && size < MAX_32) return end;
  return Buffer.concat([
    fields([4, 0x06_06_4b_50], [8, 44], [2, UNIX | VERSION_64], [2, VERSION_64], [4, 0], [4, 0]),
    fields([8, count], [8, count], [8, size], [8, offset]),
    fields([4, 0x07_06_4b_50], [4, 0], [8, offset + size], [4, 1]),
    end,
  ]);
};

/** What is known of content so far. */
type Sum = Pick<Written, 'crc' | 'size'>;

const NOTHING: Sum = { crc: 0, size: 0 };

const changed = (detail: string): ChangedMeanwhileError => new ChangedMeanwhileError({ detail });

/** One archive that is being written. */
class ZipWriter {
  readonly #directory: Written[] = [];
  #offset = 0;
  #left: number;

  constructor(most: number) {
    this.#left = most;
  }

  async *entry(
    { name, modifiedAt }: ZipEntry,
    file: OpenedFile | undefined,
  ): AsyncGenerator<Uint8Array, void, undefined> {
    const head: Written = {
      name: Buffer.from(name),
      isFolder: file === undefined,
      modifiedAt: file?.modifiedAt ?? modifiedAt ?? Date.now(),
      offset: this.#offset,
      crc: 0,
      size: 0,
    };
    if (file === undefined) {
      this.#directory.push(head);
      yield this.#counted(localHeader(head, false));
      return;
    }
    const is64 = (file.size ?? MAX_32) >= MAX_32;
    const header = localHeader(head, is64);
    const { content } = file;
    if (content instanceof Uint8Array) {
      const sum = this.#sum(NOTHING, content);
      yield this.#counted(header);
      yield this.#counted(content);
      yield this.#counted(descriptor(this.#add({ ...head, ...sum }, file), is64));
      return;
    }
    try {
      yield this.#counted(header);
      let sum = NOTHING;
      for await (const chunk of content as AsyncIterable<Uint8Array>) {
        sum = this.#sum(sum, chunk);
        yield this.#counted(chunk);
      }
      yield this.#counted(descriptor(this.#add({ ...head, ...sum }, file), is64));
    } finally {
      // Also when the client has left before its first byte was asked for.
      content.destroy();
    }
  }

  *end(): Generator<Uint8Array, void, undefined> {
    const start = this.#offset;
    for (const written of this.#directory) yield this.#counted(directoryEntry(written));
    yield endOf(this.#directory.length, start, this.#offset - start);
  }

  #sum({ crc, size }: Sum, chunk: Uint8Array): Sum {
    this.#left -= chunk.byteLength;
    if (this.#left < 0) throw changed('an archive has become larger than its limit');
    return { crc: crc32(chunk, crc), size: size + chunk.byteLength };
  }

  #add(written: Written, { size = written.size }: OpenedFile): Written {
    if (written.size !== size) throw changed('a file of an archive has another length than its store said');
    this.#directory.push(written);
    return written;
  }

  #counted<Bytes extends Uint8Array>(bytes: Bytes): Bytes {
    this.#offset += bytes.byteLength;
    return bytes;
  }
}

/** Small files that are read before their turn, so that the disk works while others are sent. */
const AHEAD = 4;

/** Opens files in their order, small ones before they are wanted. What is not taken is closed at the end. */
async function* openAhead(
  entries: readonly ZipEntry[],
): AsyncGenerator<readonly [ZipEntry, OpenedFile | undefined], void, undefined> {
  const waiting: { readonly entry: ZipEntry; readonly file: Promise<OpenedFile | undefined> }[] = [];
  let next = 0;
  try {
    for (;;) {
      for (let entry = entries[next]; entry !== undefined && waiting.length < AHEAD; entry = entries[next]) {
        if (waiting.length > 0 && !entry.isSmall) break;
        const file = entry.open?.() ?? Promise.resolve(undefined);
        // Told when its turn comes.
        file.catch(() => undefined);
        waiting.push({ entry, file });
        next += 1;
      }
      const first = waiting.shift();
      if (first === undefined) return;
      yield [first.entry, await first.file];
    }
  } finally {
    for (const { file } of waiting) {
      const left = await file.catch(() => undefined);
      if (left !== undefined && !(left.content instanceof Uint8Array)) left.content.destroy();
    }
  }
}

/**
 * An archive of these entries, nothing compressed, bit by bit: one file is open at a time, besides a few
 * small ones that are read ahead, and memory grows with the number of entries alone (some 2.5 KB each). A
 * file that yields another length than it has said, or more than `most` bytes with those before it, fails the
 * archive.
 * @throws ChangedMeanwhileError, and what opening and reading throw
 */
export async function* zipStream(
  entries: readonly ZipEntry[],
  most: number,
): AsyncGenerator<Uint8Array, void, undefined> {
  const writer = new ZipWriter(most);
  const joiner = new PartJoiner();
  for await (const [entry, file] of openAhead(entries)) {
    for await (const part of writer.entry(entry, file)) yield* joiner.take(part);
  }
  for (const part of writer.end()) yield* joiner.take(part);
  yield* joiner.rest();
}
