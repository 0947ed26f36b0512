import { decomposed } from '../support/spellings.ts';
import { fromSystemError, ifCode } from '../../basics/files/system-errors.ts';
import type { Entry, ListOptions } from '../../storage/adapter.ts';
import type { SourcePath } from '../../storage/source-path.ts';
import type { OpenFolder } from './confinement.ts';
import { isExact } from './by-thread.ts';
import {
  isVisible,
  type ListedName,
  readListedNames,
  type SeenName,
  type Shown,
  type SpellingIndex,
} from './names.ts';
import { ScanThreadMissing } from './scan-thread.ts';
import { attempt, entryOf, exactLstat, isUnreadable, lstatOf, type Name, statOf } from './system.ts';
import type { LocalStore } from './local-store.ts';

const IN_FLIGHT = 64;
/** For missing entries: decomposed letters may make a name too long. */
const ifAbsent = ifCode('ENOENT', 'ENAMETOOLONG');

type StatCall = (path: Name, name: string) => Promise<Entry | undefined>;

const statEntry: StatCall = async (path, name) => entryOf(name, await lstatOf(path));

/** With the ETag, which needs 64-bit numbers. */
const statVersion: StatCall = async (path, name) => statOf(name, await exactLstat(path));

/**
 * The entries of these names of a folder, in their order; undefined for missing entries, links and special
 * files. Settles when no call is running: the caller then closes the folder's handle.
 */
const statNames = async (
  folder: OpenFolder,
  names: readonly SeenName[],
  signal: AbortSignal | undefined,
  stat: StatCall,
): Promise<(Entry | undefined)[]> => {
  const found = new Array<Entry | undefined>(names.length).fill(undefined);
  const remaining = names.entries();
  /** No names are left, or a call has failed. */
  let isOver = false;
  const work = async (): Promise<void> => {
    for (const [index, { raw, name }] of remaining) {
      if (signal?.aborted === true) throw signal.reason;
      if (isOver) return;
      found[index] = await stat(folder.at(raw), name).catch(ifAbsent);
    }
  };
  const workers = Array.from({ length: Math.min(IN_FLIGHT, names.length) }, () =>
    work().finally(() => (isOver = true)),
  );
  await Promise.allSettled(workers);
  await Promise.all(workers);
  return found;
};

/** The entries of these names. With detail `names`, stats only names whose kind the listing did not show. */
const describeNames = async (
  folder: OpenFolder,
  names: readonly ListedName[],
  detail: ListOptions['detail'],
  signal: AbortSignal | undefined,
): Promise<Shown<Entry>> => {
  const isSure = (seen: ListedName): boolean => detail === 'names' && seen.kind !== undefined;
  const unreadable = new Map<string, Error>();
  const asked = await statNames(
    folder,
    names.filter((seen) => !isSure(seen)),
    signal,
    (path, name) =>
      (detail === 'versions' ? statVersion : statEntry)(path, name).catch((error: unknown) => {
        if (!isUnreadable(error)) throw error;
        unreadable.set(name, error as Error);
        return undefined;
      }),
  );
  // A single one is left out; where all are unreadable, the folder is.
  const [failure] = unreadable.values();
  if (failure !== undefined && asked.length > 1 && asked.every((entry) => entry === undefined)) throw failure;
  const rest = asked.values();
  let omitted = 0;
  const entries = names.flatMap((seen) => {
    if (isSure(seen))
      return [{ name: seen.name, kind: seen.kind ?? 'file', size: undefined, modifiedAt: undefined }];
    const entry = rest.next().value;
    // An entry that was removed in the meantime does not count as left out.
    if (entry === undefined && (seen.kind === undefined || unreadable.has(seen.name))) omitted += 1;
    return entry === undefined ? [] : [entry];
  });
  return { entries, omitted };
};

/**
 * The entries of these names of a folder, in their order; undefined for missing or hidden ones. Names that
 * are not found as written are retried in their spelling on disk.
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
    const entries = await statNames(folder, asked, signal, statVersion);
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

// For larger folders the thread is cheaper than callbacks in this thread.
const SMALL_FOLDER = 64;
const PAGE = 2000;

type Pages = AsyncGenerator<readonly Entry[], void, undefined>;

/** Lists in pages without the thread, if it cannot be started. Holds the names of the whole folder. */
async function* listDirectly(store: LocalStore, path: SourcePath, options: ListOptions): Pages {
  const found = await attempt('list', options, () =>
    store.walker.within(path, { file: 'wrong-kind' }, ({ folder }) => readListedNames(folder)),
  );
  const { entries: names, omitted }: Shown<ListedName> = found ?? { entries: [], omitted: 0 };
  let more = 0;
  for (let start = 0; start < names.length; start += PAGE) {
    const page = await attempt('list', options, () =>
      // Opened for each page: a listing that is not consumed must not hold a handle.
      store.walker.within(path, {}, ({ folder }) =>
        describeNames(folder, names.slice(start, start + PAGE), options.detail, options.signal),
      ),
    );
    more += page.omitted;
    if (page.entries.length > 0) yield page.entries;
  }
  if (omitted + more > 0) options.onOmitted?.(omitted + more);
}

/** Lists with the thread. @throws ScanThreadMissing, errors of the system */
const scanned = ({ root, walker, scans }: LocalStore, diskNames: readonly string[], options: ListOptions) => {
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

/** Finds the folder, reads a small one directly, and leaves a large one to the thread. */
async function* listFound(store: LocalStore, path: SourcePath, options: ListOptions): Pages {
  const found = await attempt('list', options, () =>
    store.walker.within(path, { file: 'wrong-kind' }, async ({ folder, diskNames }) => {
      const names = await readListedNames(folder, SMALL_FOLDER);
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
 * Lists entries in pages. The scanning thread finds and reads folders with a fifth of the work and keeps the
 * event loop free; while it is busy or not running, small folders are read here in one page.
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
      // Before the first page, listing without the thread reports the cause.
      if (isBegun) throw fromSystemError(error, 'list');
    }
  }
  yield* listFound(store, path, options);
}
