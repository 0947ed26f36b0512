import { foldedFor, type NumberedNames, uploadNames } from '../basics/content/file-name.ts';
import type { SameNameStrategy } from '../config/settings/values.ts';
import { AlreadyExistsError, ifMissing, NotFoundError, WrongKindError } from '../errors/errors.ts';
import type { ReadableStore, StorageAdapter } from '../storage/adapter.ts';
import { createStoreKeys, type Located, type LocationLocks } from '../storage/location.ts';
import type { SourcePath } from '../storage/source-path.ts';
import type { SourceView } from '../view/source-view.ts';
import { storeOf } from '../view/writable.ts';
import type { Put } from './change.ts';

/** Numbers already used by variants of one name. */
type TakenNumbers = ReadonlySet<number>;

/**
 * The numbers taken around a name. Concurrent requests share one listing. When it fails, only the request that
 * started it fails; the others list for themselves.
 */
export type ShareNumbers = (
  storage: ReadableStore,
  path: SourcePath,
  list: () => Promise<TakenNumbers>,
) => Promise<TakenNumbers>;

export const createShareNumbers = (): ShareNumbers => {
  const listings = new Map<string, Promise<TakenNumbers>>();
  const keyInStore = createStoreKeys();
  return async (storage, path, list) => {
    const key = foldedFor(storage, keyInStore(storage, path));
    const running = listings.get(key);
    if (running !== undefined) return running.catch(list);
    const own = list().finally(() => listings.delete(key));
    listings.set(key, own);
    return own;
  };
};

/** What the search for a name needs of the services. */
interface NameServices {
  readonly shareNumbers: ShareNumbers;
  readonly locations: Pick<LocationLocks, 'tryName'>;
}

interface SearchContext {
  readonly services: NameServices;
  readonly signal: AbortSignal;
}

export interface NameSearch extends NameServices {
  readonly storage: StorageAdapter;
  readonly folder: SourcePath;
  readonly names: NumberedNames;
  /** Reserved names, which are skipped. */
  readonly isReserved: (name: string) => boolean;
  readonly signal: AbortSignal;
  /** The path that the change has locked already. */
  readonly held?: SourcePath;
  /** The file of which a copy is made. */
  readonly original?: Located | undefined;
  /** First number to try, when lower ones are known to be taken. Default: 0. */
  readonly first?: number;
  /** An attempt costs much more than a `stat`: check each name before trying it. */
  readonly isCostly?: boolean;
}

/** Names tried one by one before the whole folder is listed. */
const GUESSES = 4;
const HIGHEST_NUMBER = 1_000_000;
/** Attempts that other writers may win. Beyond that, the store rejects for another reason than a race. */
const MOST_LOST = 32;

const stemOf = (names: NumberedNames): string => {
  const [one, other] = [[...names.at(1)], [...names.at(HIGHEST_NUMBER * 2)]];
  const differs = one.findIndex((letter, index) => letter !== other[index]);
  return one.slice(0, differs).join('');
};

/** The numbers in use, from one listing. Retains variants of this name only. */
const listNumbers = async ({ storage, folder, names, signal }: NameSearch): Promise<TakenNumbers> => {
  const ignoreCase = !storage.capabilities.caseSensitive;
  const startingWith = ignoreCase ? undefined : stemOf(names);
  const taken = new Set<number>();
  for await (const page of storage.list(folder, { detail: 'names', startingWith, signal })) {
    for (const entry of page) {
      const number = names.numberOf(entry.name.normalize('NFC'), ignoreCase);
      if (number !== undefined) taken.add(number);
    }
  }
  return taken;
};

const takenNumbers = (search: NameSearch): Promise<TakenNumbers> => {
  const { storage, folder, names, shareNumbers } = search;
  return shareNumbers(storage, folder.child(names.at(1)), () => listNumbers(search));
};

/** Whether the store shows nothing at the path. Only a hint: the create-only write that follows decides. */
export const isFree = async (
  { storage, signal }: { readonly storage: ReadableStore; readonly signal: AbortSignal | undefined },
  target: SourcePath,
): Promise<boolean> => (await storage.stat(target, { signal, mayMiss: true }).catch(ifMissing)) === undefined;

/** Outcome of one attempt: taken by this request, already in use, or lost to another writer. */
type Outcome<Taken> = { readonly taken: Taken } | 'in use' | 'lost';

const tryName = async <Taken>(
  search: NameSearch,
  target: SourcePath,
  isLookedAt: boolean,
  take: (target: SourcePath) => Promise<Taken>,
): Promise<Outcome<Taken>> => {
  try {
    return !isLookedAt || (await isFree(search, target)) ? { taken: await take(target) } : 'in use';
  } catch (error) {
    if (error instanceof AlreadyExistsError) return 'lost';
    throw error;
  }
};

/**
 * Takes the first free of the names. `take` must be create-only: its AlreadyExistsError means that another
 * writer was faster, and the next name is tried, a limited number of times. The name is locked until `take`
 * has ended; names that others have locked are skipped without asking the store. Costs one `stat` per tried
 * name, none for the first few where the store decides; after a few taken names one listing of names finds
 * the rest, limited to variants of this name where the store supports prefixes.
 * @throws all other errors of `take`; AlreadyExistsError when other writers were faster every time
 */
export const takeFreeName = async <Taken>(
  search: NameSearch,
  take: (target: SourcePath) => Promise<Taken>,
): Promise<Taken> => {
  const decides = search.storage.capabilities.atomicCreate && search.isCostly !== true;
  let known: TakenNumbers | undefined;
  let misses = 0;
  let lost = 0;
  for (let number = search.first ?? 0; number <= HIGHEST_NUMBER && lost < MOST_LOST; number += 1) {
    if (known?.has(number) === true) continue;
    search.signal.throwIfAborted();
    const name = search.names.at(number);
    if (search.isReserved(name)) continue;
    const target = search.folder.child(name);
    const isLookedAt = !decides || misses >= GUESSES;
    const attempt = () => tryName(search, target, isLookedAt, take);
    const outcome = await (search.held?.equals(target) === true
      ? attempt()
      : search.locations.tryName({ storage: search.storage, path: target }, search.original, attempt));
    if (outcome === undefined) continue;
    if (typeof outcome === 'object') return outcome.taken;
    if (outcome === 'lost') lost += 1;
    misses += 1;
    if (misses === GUESSES) known = await takenNumbers(search);
  }
  throw new AlreadyExistsError();
};

export const searchIn = (
  { services: { shareNumbers, locations }, signal }: SearchContext,
  open: SourceView,
  folder: SourcePath,
  names: NumberedNames,
): NameSearch => ({
  shareNumbers,
  locations,
  storage: storeOf(open),
  folder,
  names,
  isReserved: (name) => open.reserves(name),
  signal,
});

/** The error of strategy `error`, and of `replace` when a folder has the name. Its details name the first. */
export const nameTaken = (
  names: readonly [string, ...string[]],
  kind: 'file' | 'folder' = 'file',
  cause?: unknown,
): AlreadyExistsError =>
  new AlreadyExistsError({
    cause,
    messages: names.map((name) =>
      kind === 'file' ? `The file "${name}" already exists.` : `A folder named "${name}" already exists.`,
    ),
    details: { name: names[0] },
  });

/** Stores the file at a path. */
type PutAt<Stored> = (
  target: SourcePath,
  how: Pick<Put, 'createOnly' | 'isNoFolder' | 'isLocked'>,
) => Promise<Stored>;

/** Target of a file: its name is sanitised, has an allowed extension and is not reserved. */
export interface WantedName {
  readonly open: SourceView;
  readonly path: SourcePath;
  readonly strategy: SameNameStrategy;
}

const putOver = async <Stored>({ signal }: SearchContext, { open, path }: WantedName, put: PutAt<Stored>) => {
  // Such as a symbolic link, which no lookup shows.
  let isUnseen = false;
  try {
    if (await isFree({ storage: storeOf(open), signal }, path))
      return await put(path, { createOnly: true, isNoFolder: true });
  } catch (error) {
    if (!(error instanceof AlreadyExistsError)) throw error;
    isUnseen = true;
  }
  try {
    return await put(path, {});
  } catch (error) {
    if (isUnseen && (error instanceof WrongKindError || error instanceof NotFoundError))
      throw nameTaken([path.name], 'file', error);
    throw error instanceof WrongKindError ? nameTaken([path.name], 'folder') : error;
  }
};

const putOnce = async <Stored>({ path }: WantedName, put: PutAt<Stored>): Promise<Stored> => {
  try {
    return await put(path, { createOnly: true });
  } catch (error) {
    throw error instanceof AlreadyExistsError ? nameTaken([path.name], 'file', error.cause) : error;
  }
};

/**
 * Stores a file under its name, or resolves a conflict by the strategy: `addNumber` uses the first free
 * variant, `replace` the same name (never over a folder), `error` fails. Returns the result of `put`. The
 * store's create-only writes decide, so that racing requests never share a name.
 * @throws AlreadyExistsError (400) by strategy `error`, or when a folder has a name to be replaced; all other
 * errors of `put`
 */
export const storeByStrategy = <Stored>(
  context: SearchContext,
  wanted: WantedName,
  put: PutAt<Stored>,
): Promise<Stored> => {
  const { open, path, strategy } = wanted;
  if (strategy === 'replace') return putOver(context, wanted, put);
  if (strategy === 'error') return putOnce(wanted, put);
  const search = searchIn(context, open, path.parent, uploadNames(path.name));
  return takeFreeName(search, (target) => put(target, { createOnly: true, isLocked: true }));
};
