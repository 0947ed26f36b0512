import * as fs from 'node:fs';
import { isSpecial, kindOf } from './direct-scan.ts';
import { entryOf } from './entry.ts';
import { NameFilter, type SeenName } from './names.ts';
import { ScanChain, type LookupBase } from './scan-chain.ts';
import type { ScanPage, ScanRequest } from './scan-messages.ts';

const PAGE = 2000;

type Opening = Extract<ScanRequest, { type: 'open' }>;

interface Columns {
  readonly names: string[];
  readonly kinds: Uint8Array;
  readonly sizes: Float64Array;
  readonly times: Float64Array;
}

/** Names of one stretch of the folder, with their kinds where the folder itself reports them. */
interface Stretch {
  readonly names: SeenName[];
  /** 1 for a folder, 0 for a file, 2 where it is to be asked for. */
  readonly kinds: number[];
  readonly isLast: boolean;
}

const UNKNOWN = 2;

/**
 * One listing in the scanning thread: names are read and described page by page, as they are asked for, so that its memory
 * does not grow with the folder.
 */
export class ScanJob {
  readonly #id: number;
  readonly #chain: ScanChain;
  readonly #namesOnly: boolean;
  readonly #directory: fs.Dir;
  readonly #filter = new NameFilter();

  /** @throws errors of the system */
  constructor(opening: Opening) {
    this.#id = opening.id;
    this.#namesOnly = opening.namesOnly;
    this.#chain = new ScanChain(opening.root, opening.diskNames, opening.handles);
    try {
      this.#directory = fs.opendirSync(this.#chain.self, { bufferSize: 1000 });
    } catch (error) {
      this.#chain.close();
      throw error;
    }
  }

  /** @throws errors of the system */
  nextPage(): ScanPage {
    const stretch = this.#readNames();
    const columns = this.#look(stretch);
    const count = columns.names.length;
    return {
      type: 'page',
      id: this.#id,
      names: columns.names.join('/'),
      kinds: columns.kinds.slice(0, count),
      sizes: this.#namesOnly ? undefined : columns.sizes.slice(0, count),
      times: this.#namesOnly ? undefined : columns.times.slice(0, count),
      omitted: stretch.isLast ? this.#filter.omitted : 0,
      isLast: stretch.isLast,
    };
  }

  close(): void {
    try {
      this.#directory.closeSync();
    } finally {
      this.#chain.close();
    }
  }

  #readNames(): Stretch {
    const names: SeenName[] = [];
    const kinds: number[] = [];
    for (let read = 0; read < PAGE; read += 1) {
      const entry = this.#directory.readSync();
      if (entry === null) {
        // Their kinds are asked for: few, and remembering them would cost more.
        for (const seen of this.#filter.rest()) {
          if (fs.lstatSync(`${this.#chain.self}/${seen.name}`, { throwIfNoEntry: false }) === undefined) {
            names.push(seen);
            kinds.push(UNKNOWN);
          } else this.#filter.omit();
        }
        return { names, kinds, isLast: true };
      }
      if (isSpecial(entry)) {
        this.#filter.omit();
        continue;
      }
      const seen = this.#filter.take(entry.name);
      if (seen === undefined) continue;
      names.push(seen);
      const kind = kindOf(entry);
      // The replacement character may stand for bytes that are not text: such a name cannot be reached.
      kinds.push(kind === undefined || seen.raw.includes('\uFFFD') ? UNKNOWN : kind === 'folder' ? 1 : 0);
    }
    return { names, kinds, isLast: false };
  }

  #look(stretch: Stretch): Columns {
    const lookup = this.#chain.safeBase();
    const columns = this.#lookAt(lookup, stretch);
    if (lookup.stillThere()) return columns;
    const held = this.#chain.handleBase();
    const again = this.#lookAt(held, stretch);
    if (held.stillThere()) return again;
    throw Object.assign(new Error('the folder was replaced while it was listed'), { code: 'ENOENT' });
  }

  #lookAt(lookup: LookupBase, { names, kinds }: Stretch): Columns {
    const columns: Columns = {
      names: [],
      kinds: new Uint8Array(names.length),
      sizes: new Float64Array(this.#namesOnly ? 0 : names.length),
      times: new Float64Array(this.#namesOnly ? 0 : names.length),
    };
    for (const [index, { raw, name }] of names.entries()) {
      const kind = kinds[index] ?? UNKNOWN;
      if (this.#namesOnly && kind !== UNKNOWN) {
        columns.kinds[columns.names.push(name) - 1] = kind;
        continue;
      }
      const stats = fs.lstatSync(`${lookup.base}/${raw}`, { throwIfNoEntry: false });
      const entry = stats === undefined ? undefined : entryOf(name, stats);
      if (entry === undefined) {
        // What is merely gone is not left out.
        if (kind === UNKNOWN) this.#filter.omit();
        continue;
      }
      const row = columns.names.push(name) - 1;
      columns.kinds[row] = entry.kind === 'folder' ? 1 : 0;
      columns.sizes[row] = entry.size ?? 0;
      columns.times[row] = entry.modifiedAt ?? 0;
    }
    return columns;
  }
}
