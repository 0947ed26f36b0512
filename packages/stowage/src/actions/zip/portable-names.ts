import { fileCopyNames, isWindowsDevice, withoutCase } from '../../basics/content/file-name.ts';

const REPLACEMENT = '_';
/** Characters that Windows rejects. Names of a source contain neither control characters nor backslashes. */
const REFUSED = /[<>:"|?*]/gu;

/** A quick test for names that may have to be changed: few match. */
const SUSPECT = /[<>:"|?*]|[. ]$|^(?:con|prn|aux|nul|com|lpt)/iu;

/** A name that Windows can unpack; nearly all stay unchanged. */
const portable = (segment: string): string => {
  if (!SUSPECT.test(segment)) return segment;
  const safe = segment.replaceAll(REFUSED, REPLACEMENT);
  if (/[. ]$/u.test(safe)) return `${safe.slice(0, -1)}${REPLACEMENT}`;
  return isWindowsDevice(safe) ? REPLACEMENT + safe : safe;
};

/**
 * Makes the names in an archive safe to unpack: characters that Windows rejects become `_`, and a file whose
 * name differs from another only by letter case gets a number. Folders that differ so become one. Memory: the
 * path of each entry.
 */
export class PortableNames {
  /** Next number to try, by path without letter case. */
  readonly #taken = new Map<string, number>();
  /** The folder of the last file, and its name in the archive. */
  #folder = '';
  #parent = '';

  /** Adds a folder, with a trailing slash; folders must be added before files. */
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
  /** With slashes between folders, and a trailing one for a folder. */
  readonly name: string;
  readonly size: number | undefined;
  readonly modifiedAt: number | undefined;
}

const PAGE = 1000;

interface Page {
  /** UTF-8, each followed by a line feed, which no name contains. */
  readonly names: Buffer;
  /** NaN for unknown values. */
  readonly sizes: Float64Array;
  readonly times: Float64Array;
}

const known = (value: number | undefined): number | undefined =>
  value === undefined || Number.isNaN(value) ? undefined : value;

/** A compact list of many entries: some 16 bytes and the name each. */
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

  /** All entries, once: each page is freed when it has been read. */
  *take(): Generator<PlannedEntry, void, undefined> {
    for (let page = this.#pages.shift(); page !== undefined; page = this.#pages.shift()) {
      const { sizes, times } = page;
      for (const [row, name] of page.names.toString().split('\n').entries())
        yield { name, size: known(sizes[row]), modifiedAt: known(times[row]) };
    }
    yield* this.#last.splice(0);
  }
}
