/** Metadata of an entry in an archive. */
export interface EntryHead {
  /** UTF-8, with slashes between folders, and a trailing one for a folder. */
  readonly name: Buffer;
  readonly isFolder: boolean;
  /** Milliseconds since 1970. */
  readonly modifiedAt: number;
}

/** Checksum and length of content. */
export interface ContentSum {
  readonly crc: number;
  /** Bytes. */
  readonly size: number;
}

export const MAX_32 = 0xff_ff_ff_ff;
const MAX_16 = 0xff_ff;
const UTF_8 = 0x08_00;
/** Flag: checksum and length follow the content. */
const SUM_BEHIND = 0x00_08;
const VERSION = 20;
const VERSION_64 = 45;
/** Creator Unix: the upper half of the external attributes is the file mode. */
const UNIX = 3 << 8;
const FILE_MODE = 0o100_644;
const FOLDER_MODE = 0o40_755;
const DOS_FOLDER = 0x10;
const LOCAL_BYTES = 30;
const DIRECTORY_BYTES = 46;
const TIME_BYTES = 9;

const YEAR_1980 = 1980;
const YEAR_2107 = 2107;

/** Date in the upper half, time in the lower, in the server's time zone, in steps of two seconds. */
const dosTime = (milliseconds: number): number => {
  const date = new Date(milliseconds);
  const year = Math.min(Math.max(date.getFullYear(), YEAR_1980), YEAR_2107);
  const time = (date.getHours() << 11) | (date.getMinutes() << 5) | (date.getSeconds() >> 1);
  return (((((year - YEAR_1980) << 9) | ((date.getMonth() + 1) << 5) | date.getDate()) << 16) | time) >>> 0;
};

const exactSeconds = (milliseconds: number): number | undefined => {
  const seconds = Math.floor(milliseconds / 1000);
  return seconds < 0 || seconds > 0x7f_ff_ff_ff ? undefined : seconds;
};

const writeTime = (into: Buffer, at: number, seconds: number | undefined): void => {
  if (seconds === undefined) return;
  into.writeUInt32LE(0x00_05_54_55, at);
  into[at + 4] = 1;
  into.writeUInt32LE(seconds, at + 5);
};

const write64 = (into: Buffer, at: number, ...values: readonly number[]): void => {
  into.writeUInt16LE(1, at);
  into.writeUInt16LE(values.length * 8, at + 2);
  for (const [index, value] of values.entries()) into.writeBigUInt64LE(BigInt(value), at + 4 + index * 8);
};

/** Header before a content. Without `sum` a descriptor follows the content, in 64 bits if `is64`. */
export const localHeader = (
  { name, modifiedAt }: EntryHead,
  sum: ContentSum | undefined,
  is64 = false,
): Buffer => {
  const seconds = exactSeconds(modifiedAt);
  const bytes64 = is64 ? 20 : 0;
  const extra = bytes64 + (seconds === undefined ? 0 : TIME_BYTES);
  const header = Buffer.allocUnsafe(LOCAL_BYTES + name.length + extra);
  const size = is64 ? MAX_32 : (sum?.size ?? 0);
  header.writeUInt32LE(0x04_03_4b_50, 0);
  header.writeUInt16LE(is64 ? VERSION_64 : VERSION, 4);
  header.writeUInt16LE(sum === undefined ? UTF_8 | SUM_BEHIND : UTF_8, 6);
  header.writeUInt16LE(0, 8);
  header.writeUInt32LE(dosTime(modifiedAt), 10);
  header.writeUInt32LE(sum?.crc ?? 0, 14);
  header.writeUInt32LE(size, 18);
  header.writeUInt32LE(size, 22);
  header.writeUInt16LE(name.length, 26);
  header.writeUInt16LE(extra, 28);
  name.copy(header, LOCAL_BYTES);
  const at = LOCAL_BYTES + name.length;
  if (is64) write64(header, at, 0, 0);
  writeTime(header, at + bytes64, seconds);
  return header;
};

/** Descriptor after content whose header has no checksum. */
export const descriptor = ({ crc, size }: ContentSum, is64: boolean): Buffer => {
  const bytes = Buffer.allocUnsafe(is64 ? 24 : 16);
  bytes.writeUInt32LE(0x08_07_4b_50, 0);
  bytes.writeUInt32LE(crc, 4);
  if (is64) {
    bytes.writeBigUInt64LE(BigInt(size), 8);
    bytes.writeBigUInt64LE(BigInt(size), 16);
  } else {
    bytes.writeUInt32LE(size, 8);
    bytes.writeUInt32LE(size, 12);
  }
  return bytes;
};

export interface WrittenEntry extends EntryHead, ContentSum {
  /** Offset of its header. */
  readonly offset: number;
  /** Whether its checksum follows the content. */
  readonly isSumBehind: boolean;
}

const directoryEntry = (entry: WrittenEntry): Buffer => {
  const { name, isFolder, modifiedAt, offset, crc, size } = entry;
  const large = [...(size >= MAX_32 ? [size, size] : []), ...(offset >= MAX_32 ? [offset] : [])];
  const seconds = exactSeconds(modifiedAt);
  const bytes64 = large.length === 0 ? 0 : 4 + large.length * 8;
  const extra = bytes64 + (seconds === undefined ? 0 : TIME_BYTES);
  const record = Buffer.allocUnsafe(DIRECTORY_BYTES + name.length + extra);
  record.writeUInt32LE(0x02_01_4b_50, 0);
  record.writeUInt16LE(UNIX | VERSION_64, 4);
  record.writeUInt16LE(bytes64 === 0 ? VERSION : VERSION_64, 6);
  record.writeUInt16LE(entry.isSumBehind ? UTF_8 | SUM_BEHIND : UTF_8, 8);
  record.writeUInt16LE(0, 10);
  record.writeUInt32LE(dosTime(modifiedAt), 12);
  record.writeUInt32LE(crc, 16);
  record.writeUInt32LE(Math.min(size, MAX_32), 20);
  record.writeUInt32LE(Math.min(size, MAX_32), 24);
  record.writeUInt16LE(name.length, 28);
  record.writeUInt16LE(extra, 30);
  record.fill(0, 32, 38);
  record.writeUInt32LE((isFolder ? FOLDER_MODE : FILE_MODE) * 0x1_00_00 + (isFolder ? DOS_FOLDER : 0), 38);
  record.writeUInt32LE(Math.min(offset, MAX_32), 42);
  name.copy(record, DIRECTORY_BYTES);
  const at = DIRECTORY_BYTES + name.length;
  if (bytes64 > 0) write64(record, at, ...large);
  writeTime(record, at + bytes64, seconds);
  return record;
};

const PART_BYTES = 64 * 1024;

/** The directory of an archive, stored in its final bytes: some 55 an entry and its name. */
export class CentralDirectory {
  readonly #parts: Buffer[] = [];
  #part = Buffer.allocUnsafeSlow(PART_BYTES);
  #used = 0;
  #count = 0;
  #bytes = 0;

  add(entry: WrittenEntry): void {
    const record = directoryEntry(entry);
    if (this.#used + record.length > PART_BYTES) this.#finishPart();
    this.#used += record.copy(this.#part, this.#used);
    this.#count += 1;
    this.#bytes += record.length;
  }

  /** The directory, which begins at `offset`, and the end of the archive. Frees yielded parts. */
  *end(offset: number): Generator<Buffer, void, undefined> {
    this.#finishPart();
    for (let part = this.#parts.shift(); part !== undefined; part = this.#parts.shift()) yield part;
    yield endOf(this.#count, offset, this.#bytes);
  }

  #finishPart(): void {
    if (this.#used > 0) this.#parts.push(this.#part.subarray(0, this.#used));
    this.#part = Buffer.allocUnsafeSlow(PART_BYTES);
    this.#used = 0;
  }
}

const endOf = (count: number, offset: number, size: number): Buffer => {
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06_05_4b_50, 0);
  end.writeUInt16LE(Math.min(count, MAX_16), 8);
  end.writeUInt16LE(Math.min(count, MAX_16), 10);
  end.writeUInt32LE(Math.min(size, MAX_32), 12);
  end.writeUInt32LE(Math.min(offset, MAX_32), 16);
  if (count < MAX_16 && offset < MAX_32 && size < MAX_32) return end;
  const end64 = Buffer.alloc(56);
  end64.writeUInt32LE(0x06_06_4b_50, 0);
  end64.writeUInt32LE(44, 4);
  end64.writeUInt16LE(UNIX | VERSION_64, 12);
  end64.writeUInt16LE(VERSION_64, 14);
  for (const [index, value] of [count, count, size, offset].entries())
    end64.writeBigUInt64LE(BigInt(value), 24 + index * 8);
  const locator = Buffer.alloc(20);
  locator.writeUInt32LE(0x07_06_4b_50, 0);
  locator.writeBigUInt64LE(BigInt(offset + size), 8);
  locator.writeUInt32LE(1, 16);
  return Buffer.concat([end64, locator, end]);
};
