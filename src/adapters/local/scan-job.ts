import * as fs from 'node:fs';
import { entryOf } from './entry.ts';
import { visibleNames, type SeenName } from './names.ts';
import { ScanChain, type Vantage } from './scan-chain.ts';
import type { ScanPage, ScanRequest } from './scan-messages.ts';

const PAGE = 2000;

type Opening = Extract<ScanRequest, { type: 'open' }>;

interface Columns {
  readonly names: string[];
  readonly kinds: Uint8Array;
  readonly sizes: Float64Array;
  readonly times: Float64Array;
}

/** One listing in the scanning thread: names are read at once, looked at page by page as they are asked for. */
export class ScanJob {
  readonly #id: number;
  readonly #chain: ScanChain;
  readonly #names: readonly SeenName[];
  /** Kinds by name on disk, in a listing of names only. */
  readonly #kinds: ReadonlyMap<string, number> | undefined;
  #position = 0;

  /** @throws errors of the system */
  constructor(opening: Opening) {
    this.#id = opening.id;
    this.#chain = new ScanChain(opening.root, opening.diskNames, opening.handles);
    try {
      if (opening.namesOnly) {
        const kinds = readKinds(this.#chain.self);
        this.#kinds = kinds;
        this.#names = visibleNames([...kinds.keys()]);
      } else this.#names = visibleNames(fs.readdirSync(this.#chain.self));
    } catch (error) {
      this.#chain.close();
      throw error;
    }
  }

  /** @throws errors of the system */
  nextPage(): ScanPage {
    const names = this.#names.slice(this.#position, this.#position + PAGE);
    this.#position += names.length;
    const columns = this.#kinds === undefined ? this.#look(names) : withKinds(names, this.#kinds);
    const count = columns.names.length;
    return {
      type: 'page',
      id: this.#id,
      names: columns.names.join('/'),
      kinds: columns.kinds.slice(0, count),
      sizes: this.#kinds === undefined ? columns.sizes.slice(0, count) : undefined,
      times: this.#kinds === undefined ? columns.times.slice(0, count) : undefined,
      isLast: this.#position >= this.#names.length,
    };
  }

  close(): void {
    this.#chain.close();
  }

  #look(names: readonly SeenName[]): Columns {
    const vantage = this.#chain.vantage();
    const columns = lookAt(vantage, names);
    if (vantage.stillThere()) return columns;
    const held = this.#chain.handleVantage();
    const again = lookAt(held, names);
    if (held.stillThere()) return again;
    throw Object.assign(new Error('the folder was replaced while it was listed'), { code: 'ENOENT' });
  }
}

const lookAt = (vantage: Vantage, names: readonly SeenName[]): Columns => {
  const columns: Columns = {
    names: [],
    kinds: new Uint8Array(names.length),
    sizes: new Float64Array(names.length),
    times: new Float64Array(names.length),
  };
  for (const { raw, name } of names) {
    const stats = fs.lstatSync(`${vantage.base}/${raw}`, { throwIfNoEntry: false });
    const entry = stats === undefined ? undefined : entryOf(name, stats);
    if (entry === undefined) continue;
    const row = columns.names.push(name) - 1;
    columns.kinds[row] = entry.kind === 'folder' ? 1 : 0;
    columns.sizes[row] = entry.size ?? 0;
    columns.times[row] = entry.modifiedAt ?? 0;
  }
  return columns;
};

const withKinds = (names: readonly SeenName[], kinds: ReadonlyMap<string, number>): Columns => ({
  names: names.map((seen) => seen.name),
  kinds: Uint8Array.from(names, (seen) => kinds.get(seen.raw) ?? 0),
  sizes: new Float64Array(0),
  times: new Float64Array(0),
});

/** Names of files (0) and folders (1), without what is neither. */
const readKinds = (path: string): ReadonlyMap<string, number> => {
  const kinds = new Map<string, number>();
  for (const entry of fs.readdirSync(path, { withFileTypes: true })) {
    if (!entry.isFile() && !entry.isDirectory()) continue;
    // The replacement character may stand for bytes that are no text: such a name cannot be reached.
    if (
      entry.name.includes('\uFFFD') &&
      fs.lstatSync(`${path}/${entry.name}`, { throwIfNoEntry: false }) === undefined
    )
      continue;
    kinds.set(entry.name, entry.isDirectory() ? 1 : 0);
  }
  return kinds;
};
