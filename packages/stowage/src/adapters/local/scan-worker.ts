import * as fs from 'node:fs';
import { parentPort, type MessagePort } from 'node:worker_threads';
import { systemCode } from '../../basics/files/system-errors.ts';
import type { Entry } from '../../storage/adapter.ts';
import { entryOf, isSpecial, kindOf, statOf } from './system.ts';
import { NameFilter, type SeenName } from './names.ts';
import { openScanned, type ScannedFolder } from './scanned-folder.ts';
import { readFiles } from './small-reads.ts';
import type { ScanAnswer, ScanPage, ScanRequest } from './scan-messages.ts';
import { TreeRemoval } from './tree-removal.ts';
import { TreeScan } from './tree-scan.ts';
import { TreeTally } from './tree-tally.ts';

const PAGE = 2000;

type Opening = Extract<ScanRequest, { type: 'open' }>;

interface Columns {
  readonly names: string[];
  readonly kinds: Uint8Array;
  readonly sizes: Float64Array;
  readonly times: Float64Array;
  readonly changeTimes: Float64Array;
  readonly versions: string[];
}

/** Names of one stretch of the folder, with their kinds where the folder itself reports them. */
interface Stretch {
  readonly names: SeenName[];
  /** 1 for a folder, 0 for a file, 2 where it is to be asked for. */
  readonly kinds: number[];
  readonly isLast: boolean;
}

const UNKNOWN = 2;

/** What lies at a path; undefined for nothing, for links and for special files. */
const lookAtPath = (path: string, name: string, withVersion: boolean): Entry | undefined => {
  if (withVersion) {
    const exact = fs.lstatSync(path, { bigint: true, throwIfNoEntry: false });
    return exact && statOf(name, exact);
  }
  const stats = fs.lstatSync(path, { throwIfNoEntry: false });
  return stats && entryOf(name, stats);
};

/**
 * One listing in the scanning thread: names are read and described page by page, as they are asked for, so
 * that its memory does not grow with the folder.
 */
class ScanJob {
  readonly #id: number;
  readonly #folder: ScannedFolder;
  readonly #namesOnly: boolean;
  readonly #withVersions: boolean;
  readonly #directory: fs.Dir;
  readonly #filter = new NameFilter();

  /** @throws errors of the system */
  constructor(opening: Opening) {
    this.#id = opening.id;
    this.#namesOnly = opening.detail === 'names';
    this.#withVersions = opening.detail === 'versions';
    this.#folder = openScanned(opening);
    try {
      this.#directory = fs.opendirSync(this.#folder.self, { bufferSize: 1000 });
    } catch (error) {
      this.#folder.close();
      throw error;
    }
  }

  /** @throws errors of the system */
  nextPage(): ScanPage {
    const stretch = this.#readNames();
    const { columns, strange } = this.#folder.lookAtMany((folder) => this.#lookAt(folder, stretch));
    this.#folder.verify();
    this.#filter.omit(strange);
    const count = columns.names.length;
    return {
      type: 'page',
      id: this.#id,
      names: columns.names.join('/'),
      kinds: columns.kinds.slice(0, count),
      sizes: this.#namesOnly ? undefined : columns.sizes.slice(0, count),
      times: this.#namesOnly ? undefined : columns.times.slice(0, count),
      changeTimes: this.#namesOnly ? undefined : columns.changeTimes.slice(0, count),
      versions: this.#withVersions ? columns.versions.join(' ') : undefined,
      omitted: stretch.isLast ? this.#filter.omitted : 0,
      isLast: stretch.isLast,
    };
  }

  close(): void {
    try {
      this.#directory.closeSync();
    } finally {
      this.#folder.close();
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
          if (fs.lstatSync(`${this.#folder.self}/${seen.name}`, { throwIfNoEntry: false }) === undefined) {
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

  /** What the names are, and how many of them are nothing that is listed. */
  #lookAt(folder: string, { names, kinds }: Stretch): { columns: Columns; strange: number } {
    let strange = 0;
    const columns: Columns = {
      names: [],
      kinds: new Uint8Array(names.length),
      sizes: new Float64Array(this.#namesOnly ? 0 : names.length),
      times: new Float64Array(this.#namesOnly ? 0 : names.length),
      changeTimes: new Float64Array(this.#namesOnly ? 0 : names.length),
      versions: [],
    };
    for (const [index, { raw, name }] of names.entries()) {
      const kind = kinds[index] ?? UNKNOWN;
      if (this.#namesOnly && kind !== UNKNOWN) {
        columns.kinds[columns.names.push(name) - 1] = kind;
        continue;
      }
      const entry = lookAtPath(`${folder}/${raw}`, name, this.#withVersions);
      if (entry === undefined) {
        // An entry that is merely gone is not left out.
        if (kind === UNKNOWN) strange += 1;
        continue;
      }
      const row = columns.names.push(name) - 1;
      columns.kinds[row] = entry.kind === 'folder' ? 1 : 0;
      columns.sizes[row] = entry.size ?? 0;
      columns.times[row] = entry.modifiedAt ?? 0;
      columns.changeTimes[row] = entry.changedAt ?? 0;
      columns.versions.push(entry.etag ?? '');
    }
    return { columns, strange };
  }
}

const buffersOf = (answer: ScanAnswer): ArrayBuffer[] => {
  if (answer.type === 'files') return [answer.bytes.buffer];
  if (answer.type !== 'page' && answer.type !== 'tree-page') return [];
  const kinds = answer.type === 'page' ? answer.kinds : undefined;
  return [kinds, answer.sizes, answer.times, answer.changeTimes].flatMap((column) =>
    column === undefined ? [] : [column.buffer as ArrayBuffer],
  );
};

/**
 * The scanning thread of the local adapter: reads big folders with synchronous calls, which cost a fraction
 * of asynchronous ones and block no request here. Takes the pages of many listings in turns, as they are
 * asked for.
 */
const serve = (port: MessagePort): void => {
  const jobs = new Map<number, ScanJob | TreeScan | TreeTally | TreeRemoval>();
  const finish = (id: number): void => {
    const job = jobs.get(id);
    jobs.delete(id);
    job?.close();
  };
  const answer = (request: Exclude<ScanRequest, { type: 'end' }>): ScanAnswer | undefined => {
    if (request.type === 'close') {
      finish(request.id);
      return undefined;
    }
    try {
      if (request.type === 'files') return readFiles(request);
      if (request.type === 'open') jobs.set(request.id, new ScanJob(request));
      if (request.type === 'walk') jobs.set(request.id, new TreeScan(request));
      if (request.type === 'tally') jobs.set(request.id, new TreeTally(request));
      if (request.type === 'remove') jobs.set(request.id, new TreeRemoval(request));
      const page = jobs.get(request.id)?.nextPage();
      if (page?.isLast === true) finish(request.id);
      return page;
    } catch (error) {
      finish(request.id);
      const message = error instanceof Error ? error.message : String(error);
      return { type: 'failed', id: request.id, code: systemCode(error), message };
    }
  };
  port.on('message', (request: ScanRequest) => {
    if (request.type === 'end') {
      for (const id of [...jobs.keys()]) finish(id);
      port.close();
      return;
    }
    const result = answer(request);
    if (result !== undefined) port.postMessage(result, buffersOf(result));
  });
};

if (parentPort !== null) serve(parentPort);
