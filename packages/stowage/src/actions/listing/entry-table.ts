import type { Compare } from '../../basics/concurrency/time-slice.ts';
import type { Entries, Entry } from '../../storage/entry.ts';

/** The sort keys of items; a number that the store does not report sorts first. */
export interface Facets<Item> {
  readonly compareNames: Compare<Item>;
  readonly size: (item: Item) => number;
  readonly time: (item: Item) => number;
  readonly isFolder: (item: Item) => boolean;
}

/** Room for the name of each row at first; a table of longer names grows. */
const NAME_BYTES = 32;
/** Most bytes that UTF-8 needs for a UTF-16 unit. */
const BYTES_PER_UNIT = 3;
/** A value that the store does not report; sorts first. */
const UNKNOWN = -Infinity;

const shown = (value: number | undefined): number | undefined => (value === UNKNOWN ? undefined : value);

/**
 * UTF-8 bytes sort like UTF-16 units with one exception: characters of two units (first byte 0xf0 on) come
 * before those from U+E000 on (0xee, 0xef). This adjusts the first byte.
 */
const rankOf = (byte: number): number => (byte >= 0xf0 ? byte - 2 : byte >= 0xee ? byte + 5 : byte);

/** A column with the beginning of a shorter one. */
const grown = <Column extends Float64Array | Uint32Array | Uint8Array>(from: Column, to: Column): Column => {
  to.set(from);
  return to;
};

/** Many entries of a folder, stored in columns: about 60 bytes each, a third of the memory of objects. */
export class EntryTable {
  #length = 0;
  #names: Buffer;
  /** Start of each name, and the end of the last one. */
  #starts: Uint32Array;
  #isFolder: Uint8Array;
  #sizes: Float64Array;
  #times: Float64Array;
  #changeTimes: Float64Array;
  /** Created for the first version: most listings need none. */
  #versions: (string | undefined)[] | undefined;

  /** Sort keys by row number. */
  readonly facets: Facets<number> = {
    compareNames: (left, right) => this.#compareNames(left, right),
    size: (row) => this.#sizes[row] ?? UNKNOWN,
    time: (row) => this.#times[row] ?? UNKNOWN,
    isFolder: (row) => this.#isFolder[row] === 1,
  };

  /** @param rows initial capacity: unwritten memory is not committed, but growth leaves a copy behind */
  constructor(rows: number) {
    this.#names = Buffer.allocUnsafeSlow(rows * NAME_BYTES);
    this.#starts = new Uint32Array(rows + 1);
    this.#isFolder = new Uint8Array(rows);
    this.#sizes = new Float64Array(rows);
    this.#times = new Float64Array(rows);
    this.#changeTimes = new Float64Array(rows);
  }

  get length(): number {
    return this.#length;
  }

  add({ name, kind, size, modifiedAt, changedAt, etag }: Entry): void {
    const row = this.#length;
    const start = this.#starts[row] ?? 0;
    if (row === this.#isFolder.length) this.#addRows(row * 2);
    const most = start + name.length * BYTES_PER_UNIT;
    if (most > this.#names.length) {
      this.#names = grown(this.#names, Buffer.allocUnsafeSlow(Math.max(most, this.#names.length * 2)));
    }
    this.#starts[row + 1] = start + this.#names.write(name, start);
    this.#isFolder[row] = kind === 'folder' ? 1 : 0;
    this.#sizes[row] = size ?? UNKNOWN;
    this.#times[row] = modifiedAt ?? UNKNOWN;
    this.#changeTimes[row] = changedAt ?? UNKNOWN;
    if (etag !== undefined) (this.#versions ??= [])[row] = etag;
    this.#length = row + 1;
  }

  /** Creates the entry of a row; each call returns a new, equal object. */
  entry(row: number): Entry {
    return {
      name: this.#names.toString('utf8', this.#starts[row], this.#starts[row + 1]),
      kind: this.#isFolder[row] === 1 ? 'folder' : 'file',
      size: shown(this.#sizes[row]),
      modifiedAt: shown(this.#times[row]),
      changedAt: shown(this.#changeTimes[row]),
      etag: this.#versions?.[row],
    };
  }

  /** The entries of these rows, created on access. */
  entries(rows: Uint32Array): Entries {
    const at = (index: number): Entry | undefined => {
      const row = rows[index];
      return row === undefined ? undefined : this.entry(row);
    };
    const all = (row: number): Entry => this.entry(row);
    return {
      length: rows.length,
      at,
      *[Symbol.iterator]() {
        for (const row of rows) yield all(row);
      },
    };
  }

  /** Compares in the order of UTF-16 units, as strings compare. */
  #compareNames(left: number, right: number): number {
    const names = this.#names;
    let [one, other] = [this.#starts[left] ?? 0, this.#starts[right] ?? 0];
    const [oneEnd, otherEnd] = [this.#starts[left + 1] ?? 0, this.#starts[right + 1] ?? 0];
    while (one < oneEnd && other < otherEnd) {
      const difference = rankOf(names[one] ?? 0) - rankOf(names[other] ?? 0);
      if (difference !== 0) return difference;
      one += 1;
      other += 1;
    }
    return oneEnd - one - (otherEnd - other);
  }

  #addRows(rows: number): void {
    this.#sizes = grown(this.#sizes, new Float64Array(rows));
    this.#times = grown(this.#times, new Float64Array(rows));
    this.#changeTimes = grown(this.#changeTimes, new Float64Array(rows));
    this.#isFolder = grown(this.#isFolder, new Uint8Array(rows));
    this.#starts = grown(this.#starts, new Uint32Array(rows + 1));
  }
}
