import { fileCopyNames, isWindowsDevice, withoutCase } from '../../basics/content/file-name.ts';

const REPLACEMENT = '_';
/** What Windows takes in no name. Control characters and backslashes are in none of a source. */
const REFUSED = /[<>:"|?*]/gu;

/** All that may have to be changed: most names need no closer look. */
const SUSPECT = /[<>:"|?*]|[. ]$|^(?:con|prn|aux|nul|com|lpt)/iu;

/** A name as Windows can unpack it; nearly all stay as they are. */
const portable = (segment: string): string => {
  if (!SUSPECT.test(segment)) return segment;
  const safe = segment.replaceAll(REFUSED, REPLACEMENT);
  if (/[. ]$/u.test(safe)) return `${safe.slice(0, -1)}${REPLACEMENT}`;
  return isWindowsDevice(safe) ? REPLACEMENT + safe : safe;
};

/**
 * The names in an archive, such that nothing is lost where it is unpacked: what Windows refuses becomes `_`,
 * and a file whose name differs from another one by letter case alone gets a number. Folders that differ so
 * become one. Memory: the path of each entry.
 */
export class PortableNames {
  /** By path without its case: the number to be tried next. */
  readonly #taken = new Map<string, number>();
  /** The folder of the last file, and what it is called. */
  #folder = '';
  #parent = '';

  /** A folder, before the files are named: with a slash at its end. */
  folder(path: string): string {
    const name = path.split('/').map(portable).join('/');
    const key = withoutCase(name.slice(0, -1));
    if (!this.#taken.has(key)) this.#taken.set(key, 1);
    return name;
  }

  file(path: string): string {
    const end = path.lastIndexOf('/') + 1;
    const folder = path.slice(0, end);
    if (folder !== this.#folder) {
      this.#folder = folder;
      this.#parent = folder.split('/').map(portable).join('/');
    }
    const parent = this.#parent;
    const name = portable(path.slice(end));
    const key = withoutCase(parent + name);
    let number = this.#taken.get(key);
    if (number === undefined) {
      this.#taken.set(key, 1);
      return parent + name;
    }
    const names = fileCopyNames(name);
    for (; ; number += 1) {
      const numbered = parent + names.at(number);
      if (this.#taken.has(withoutCase(numbered))) continue;
      this.#taken.set(key, number + 1).set(withoutCase(numbered), 1);
      return numbered;
    }
  }
}

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
