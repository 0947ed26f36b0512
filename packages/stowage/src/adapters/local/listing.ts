import * as fs from 'node:fs';
import { decomposed } from '../support/spellings.ts';
import { fromSystemError, systemCode } from '../../basics/files/system-errors.ts';
import type { Entry, ListOptions } from '../../storage/adapter.ts';
import type { SourcePath } from '../../storage/source-path.ts';
import type { OpenFolder } from './confinement.ts';
import { isExact } from './by-thread.ts';
import { NameFilter, type SeenName, type SpellingIndex, isVisible } from './names.ts';
import { ScanThreadMissing } from './scan-thread.ts';
import { entryOf, statOf, lstatOf, openDirectory, isSpecial, kindOf } from './system.ts';
import { type LocalStore, attempt } from './local-store.ts';

const IN_FLIGHT = 64;
const MOST_BUFFERED = 1000;

/** Names of a folder with the kinds that the listing itself reports. */
export interface NamedKind extends SeenName {
  readonly kind: Entry['kind'] | undefined;
}

/** The entries of a folder that can be shown. */
export interface Shown<Item> {
  readonly entries: readonly Item[];
  /** How many cannot. */
  readonly omitted: number;
}

/** All visible names of a folder of at most `most` entries, else undefined. Reads no further than that. */
const readSmallFolder = async (folder: OpenFolder, most: number): Promise<Shown<NamedKind> | undefined> => {
  const directory = await openDirectory(folder.self, {
    encoding: 'utf8',
    bufferSize: Math.min(most + 1, MOST_BUFFERED),
  });
  const filter = new NameFilter();
  const kinds = new Map<string, NamedKind['kind']>();
  const entries: NamedKind[] = [];
  try {
    for (let seen = 0; ; seen += 1) {
      const entry = await directory.read();
      if (entry === null) break;
      if (seen === most) return undefined;
      if (isSpecial(entry)) {
        filter.omit();
        continue;
      }
      const taken = filter.take(entry.name);
      if (taken === undefined) kinds.set(entry.name, kindOf(entry));
      else entries.push({ ...taken, kind: kindOf(entry) });
    }
  } finally {
    await directory.close();
  }
  for (const { raw, name } of filter.rest()) {
    const composed = await lstatOf(folder.at(name)).catch(() => undefined);
    if (composed === undefined) entries.push({ raw, name, kind: kinds.get(raw) });
    else filter.omit();
  }
  return { entries, omitted: filter.omitted };
};

type Seen = (error: NodeJS.ErrnoException | null, entry: Entry | undefined) => void;
type Look = (path: fs.PathLike, name: string, seen: Seen) => void;

const lookAtEntry: Look = (path, name, seen) => {
  fs.lstat(path, (error, stats) => seen(error, error === null ? entryOf(name, stats) : undefined));
};

/** With the version, which takes exact numbers of the system. */
const lookAtVersion: Look = (path, name, seen) => {
  fs.lstat(path, { bigint: true }, (error, stats) => {
    seen(error, error === null ? statOf(name, stats) : undefined);
  });
};

/**
 * What lies at these names of a folder, in their order; undefined for what is gone, a link or a special file.
 * Callbacks, 64 in flight: half the cost of promises.
 */
const statNames = (
  folder: OpenFolder,
  names: readonly SeenName[],
  signal: AbortSignal | undefined,
  look: Look = lookAtEntry,
): Promise<(Entry | undefined)[]> =>
  new Promise((resolve, reject) => {
    const found = new Array<Entry | undefined>(names.length).fill(undefined);
    let next = 0;
    let running = 0;
    let failure: Error | undefined;
    const step = (): void => {
      if (failure === undefined && signal?.aborted === true) failure = signal.reason as Error;
      while (failure === undefined && running < IN_FLIGHT && next < names.length) ask(next++);
      // Only when nothing is under way any more: the waiting caller closes the folder's handle.
      if (running > 0) return;
      if (failure === undefined) resolve(found);
      else reject(failure);
    };
    const ask = (index: number): void => {
      const seen = names[index];
      if (seen === undefined) return;
      running += 1;
      look(folder.at(seen.raw), seen.name, (error, entry) => {
        running -= 1;
        if (error === null) found[index] = entry;
        else if (systemCode(error) !== 'ENOENT') failure ??= error;
        step();
      });
    };
    step();
  });

/** The entries of these names. For names alone, those are asked for whose kind the listing did not report. */
const describeNames = async (
  folder: OpenFolder,
  names: readonly NamedKind[],
  detail: ListOptions['detail'],
  signal: AbortSignal | undefined,
): Promise<Shown<Entry>> => {
  // The replacement character may stand for bytes that are not text: such a name cannot be reached.
  const isSure = (seen: NamedKind): boolean =>
    detail === 'names' && seen.kind !== undefined && !seen.raw.includes('\uFFFD');
  const asked = await statNames(
    folder,
    names.filter((seen) => !isSure(seen)),
    signal,
    detail === 'versions' ? lookAtVersion : lookAtEntry,
  );
  const rest = asked.values();
  let omitted = 0;
  const entries = names.flatMap((seen) => {
    if (isSure(seen))
      return [{ name: seen.name, kind: seen.kind ?? 'file', size: undefined, modifiedAt: undefined }];
    const entry = rest.next().value;
    // An entry that is merely gone is not left out.
    if (entry === undefined && (seen.kind === undefined || seen.raw.includes('\uFFFD'))) omitted += 1;
    return entry === undefined ? [] : [entry];
  });
  return { entries, omitted };
};

/**
 * What lies at these names of a folder, in their order; undefined for names that nothing lies at, or nothing
 * that can be shown. Names that are missing as they are written are asked for once more as they may be
 * spelled on the disk.
 */
export const statSeveral = async (
  folder: OpenFolder,
  names: readonly string[],
  spellings: SpellingIndex,
  signal: AbortSignal | undefined,
): Promise<readonly (Entry | undefined)[]> => {
  const found = new Array<Entry | undefined>(names.length).fill(undefined);
  const valid = names.flatMap((name, index) => (isVisible(name) ? [{ name, index }] : []));

  const askAs = async (spelling: (name: string) => string | undefined): Promise<void> => {
    const asked = valid.flatMap(({ name, index }) => {
      const raw = found[index] === undefined ? spelling(name) : undefined;
      return raw === undefined ? [] : [{ name, raw, index }];
    });
    const entries = await statNames(folder, asked, signal, lookAtVersion);
    for (const [position, { index }] of asked.entries()) found[index] = entries[position];
  };

  await askAs((name) => name);
  await askAs(decomposed);
  const respelled = new Map<string, string | undefined>();
  for (const { name, index } of valid) {
    if (found[index] === undefined) respelled.set(name, await spellings.find(folder, name));
  }
  if (respelled.size > 0) await askAs((name) => respelled.get(name));
  return found;
};

// Above it the thread is cheaper than callbacks of this thread.
const SMALL_FOLDER = 64;
const PAGE = 2000;

type Pages = AsyncGenerator<readonly Entry[], void, undefined>;

/**
 * In pages by this thread, for a process that cannot start another one. Holds the names of the whole folder.
 */
async function* listDirectly(store: LocalStore, path: SourcePath, options: ListOptions): Pages {
  const found = await attempt('list', options, () =>
    store.walker.within(path, { file: 'wrong-kind' }, ({ folder }) => readSmallFolder(folder, Infinity)),
  );
  const { entries: names, omitted }: Shown<NamedKind> = found ?? { entries: [], omitted: 0 };
  let more = 0;
  for (let start = 0; start < names.length; start += PAGE) {
    const page = await attempt('list', options, () =>
      // Opened for each page: a listing that is not read on must not keep a handle.
      store.walker.within(path, {}, ({ folder }) =>
        describeNames(folder, names.slice(start, start + PAGE), options.detail, options.signal),
      ),
    );
    more += page.omitted;
    if (page.entries.length > 0) yield page.entries;
  }
  if (omitted + more > 0) options.onOmitted?.(omitted + more);
}

/** As the thread reports it. @throws ScanThreadMissing, errors of the system */
const scanned = (
  { root, walker, scans }: LocalStore,
  diskNames: readonly string[],
  options: ListOptions,
): Pages => {
  const { detail = 'full' } = options;
  return scans.scan({ root, diskNames, detail, handles: walker.confinement.holds }, options);
};

async function* listByThread(
  store: LocalStore,
  path: SourcePath,
  diskNames: readonly string[],
  options: ListOptions,
): Pages {
  try {
    yield* scanned(store, diskNames, options);
  } catch (error) {
    options.signal?.throwIfAborted();
    if (!(error instanceof ScanThreadMissing)) throw fromSystemError(error, 'list');
    yield* listDirectly(store, path, options);
  }
}

/** Finds the folder, reads it itself where it is small, and leaves big ones to the thread. */
async function* listFound(store: LocalStore, path: SourcePath, options: ListOptions): Pages {
  const found = await attempt('list', options, () =>
    store.walker.within(path, { file: 'wrong-kind' }, async ({ folder, diskNames }) => {
      const names = await readSmallFolder(folder, SMALL_FOLDER);
      if (names === undefined) return { diskNames, shown: undefined };
      const { entries, omitted } = await describeNames(folder, names.entries, options.detail, options.signal);
      return { diskNames, shown: { entries, omitted: omitted + names.omitted } };
    }),
  );
  if (found.shown === undefined) return yield* listByThread(store, path, found.diskNames, options);
  if (found.shown.omitted > 0) options.onOmitted?.(found.shown.omitted);
  if (found.shown.entries.length > 0) yield found.shown.entries;
}

/**
 * Entries in pages. The scanning thread finds and reads folders with a fifth of the work, and the event loop stays
 * free; while it does something else, or has to start, small folders are read here in one page.
 * @see StorageAdapter.list
 */
export async function* listFolder(store: LocalStore, path: SourcePath, options: ListOptions): Pages {
  options.signal?.throwIfAborted();
  if (isExact(path) && store.scans.isFree) {
    let isBegun = false;
    try {
      for await (const page of scanned(store, path.segments, options)) {
        isBegun = true;
        yield page;
      }
      return;
    } catch (error) {
      options.signal?.throwIfAborted();
      // Before anything was seen, the other way tells what is missing.
      if (isBegun) throw fromSystemError(error, 'list');
    }
  }
  yield* listFound(store, path, options);
}
