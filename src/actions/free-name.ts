import type { NumberedNames } from '../content/numbered-names.ts';
import { AlreadyExistsError, NotFoundError } from '../errors/errors.ts';
import type { StorageAdapter } from '../storage/adapter.ts';
import type { SourcePath } from '../storage/source-path.ts';
import type { NameReservations, TakenNumbers } from './name-reservations.ts';

/** Where a free name is looked for. */
export interface NameSearch {
  readonly storage: StorageAdapter;
  readonly folder: SourcePath;
  readonly names: NumberedNames;
  /** Names that nothing may get. They are passed over. */
  readonly isReserved: (name: string) => boolean;
  readonly reservations: NameReservations;
  readonly signal: AbortSignal;
}

/** Names that are asked for one by one before the whole folder is listed. */
const GUESSES = 4;
/** No folder that anybody can work with has as many variants of one name. */
const HIGHEST_NUMBER = 1_000_000;
/** Free names that other writers may take first. More are no race: the store refuses for a reason of its own. */
const MOST_LOST = 32;

/** The numbers in use, from one listing. Remembers variants of this name only. */
const listNumbers = async ({ storage, folder, names, signal }: NameSearch): Promise<TakenNumbers> => {
  const ignoreCase = !storage.capabilities.caseSensitive;
  const taken = new Set<number>();
  for await (const page of storage.list(folder, { detail: 'names', signal })) {
    for (const entry of page) {
      const number = names.numberOf(entry.name.normalize('NFC'), ignoreCase);
      if (number !== undefined) taken.add(number);
    }
  }
  return taken;
};

const takenNumbers = (search: NameSearch): Promise<TakenNumbers> => {
  const { storage, folder, names, reservations } = search;
  return reservations.shareNumbers(storage, folder.child(names.at(1)), () => listNumbers(search));
};

/** Whether the store shows nothing at the path. Only a hint: the create-only write that follows decides. */
export const isFree = async (
  { storage, signal }: Pick<NameSearch, 'storage' | 'signal'>,
  target: SourcePath,
): Promise<boolean> => {
  try {
    await storage.stat(target, { signal });
    return false;
  } catch (error) {
    if (error instanceof NotFoundError) return true;
    throw error;
  }
};

/** What became of one name: taken by us, seen to be in use, or lost to another writer who was faster. */
type Outcome<Taken> = { readonly taken: Taken } | 'in use' | 'lost';

const tryName = async <Taken>(
  search: NameSearch,
  target: SourcePath,
  take: (target: SourcePath) => Promise<Taken>,
): Promise<Outcome<Taken>> => {
  try {
    return (await isFree(search, target)) ? { taken: await take(target) } : 'in use';
  } catch (error) {
    if (error instanceof AlreadyExistsError) return 'lost';
    throw error;
  } finally {
    search.reservations.release(search.storage, target);
  }
};

/**
 * Takes the first free of the names. `take` must be create-only: its AlreadyExistsError means that another writer was
 * faster, and the next name is tried, a few times. Names that other requests of this process are about to take are passed over
 * without asking the store. Costs one `stat` per tried name; after a few taken ones a single listing of names answers for the rest.
 * @throws whatever else `take` throws; AlreadyExistsError when other writers were faster every time
 */
export const takeFreeName = async <Taken>(
  search: NameSearch,
  take: (target: SourcePath) => Promise<Taken>,
): Promise<Taken> => {
  let known: TakenNumbers | undefined;
  let misses = 0;
  let lost = 0;
  for (let number = 0; number <= HIGHEST_NUMBER && lost < MOST_LOST; number += 1) {
    if (known?.has(number) === true) continue;
    search.signal.throwIfAborted();
    const name = search.names.at(number);
    if (search.isReserved(name)) continue;
    const target = search.folder.child(name);
    if (!search.reservations.reserve(search.storage, target)) continue;
    const outcome = await tryName(search, target, take);
    if (typeof outcome === 'object') return outcome.taken;
    if (outcome === 'lost') lost += 1;
    misses += 1;
    if (misses === GUESSES) known = await takenNumbers(search);
  }
  throw new AlreadyExistsError();
};
