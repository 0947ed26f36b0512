/** What is known of an entry before it is opened. */
export interface PlannedEntry {
  /** With slashes between folders, and one at the end of a folder. */
  readonly name: string;
  readonly size: number | undefined;
  readonly modifiedAt: number | undefined;
}

const PAGE = 1000;

interface Page {
  /** UTF-8, with a line feed behind each, which no name holds. */
  readonly names: Buffer;
  /** NaN where nothing is known. */
  readonly sizes: Float64Array;
  readonly times: Float64Array;
}

const known = (value: number | undefined): number | undefined =>
  value === undefined || Number.isNaN(value) ? undefined : value;

/** Many entries in little memory: some 16 bytes and the name each. */
export class PlannedEntries {
  readonly #pages: Page[] = [];
  #last: PlannedEntry[] = [];
  #count = 0;

  get count(): number {
    return this.#count;
  }

  add(entry: PlannedEntry): void {
    this.#count += 1;
    if (this.#last.push(entry) < PAGE) return;
    const columnOf = (of: (entry: PlannedEntry) => number | undefined): Float64Array =>
      Float64Array.from(this.#last, (each) => of(each) ?? Number.NaN);
    this.#pages.push({
      names: Buffer.from(this.#last.map(({ name }) => name).join('\n')),
      sizes: columnOf(({ size }) => size),
      times: columnOf(({ modifiedAt }) => modifiedAt),
    });
    this.#last = [];
  }

  /** All entries, once: they are forgotten as they are taken. */
  *take(): Generator<PlannedEntry, void, undefined> {
    for (let page = this.#pages.shift(); page !== undefined; page = this.#pages.shift()) {
      const { sizes, times } = page;
      for (const [row, name] of page.names.toString().split('\n').entries())
        yield { name, size: known(sizes[row]), modifiedAt: known(times[row]) };
    }
    yield* this.#last.splice(0);
  }
}
