import { orAborted } from '../concurrency/or-aborted.ts';
import { QuotaExceededError } from '../errors/errors.ts';
import type { Logger } from '../log/logger.ts';
import type { StorageAdapter } from '../storage/adapter.ts';
import { measure, type Measure } from '../storage/measure.ts';
import { SourcePath } from '../storage/source-path.ts';

const HOUR_MS = 60 * 60_000;
/** After a count during which something changed: what changed may be counted twice. */
const SOON_MS = 5 * 60_000;

/** What a source may hold; see the setting `quota`. */
export interface QuotaLimits {
  readonly bytes?: number | undefined;
  readonly files?: number | undefined;
}

/** A store with a quota. */
export interface QuotaTarget {
  readonly storage: StorageAdapter;
  readonly limits: QuotaLimits;
  /** Folders of this name hold what the service has made and can make again: they do not count. */
  readonly derivedName: string | undefined;
  /** Files that the service keeps for itself: they do not count. */
  readonly ignores: (path: SourcePath) => boolean;
  /** Keeps the store open during a count; returns the way to give it back. */
  readonly hold: () => () => void;
}

/** What is known of one store. Forgetting it costs another count. */
interface Account {
  used: Measure | undefined;
  counting: Promise<void> | undefined;
  /** What was added during the running count. */
  added: { bytes: number; files: number };
  nextAt: number;
}

/**
 * Knows how much every store with a quota holds: counted by a walk at the first use, kept up to date by what
 * this process does, and counted again every hour of use.
 */
export interface Quotas {
  /**
   * What the store holds. Where `need` does not fit in, a count that is due is waited for: things may have
   * left the store. @throws the failure of the count, the signal's reason
   */
  usage(target: QuotaTarget, signal: AbortSignal, need?: Measure): Promise<Measure>;
  /**
   * Takes room for as long as `work` lasts, and for good when it succeeds. What is taken is taken for
   * everybody: of two who want the last room one gets it.
   * @throws QuotaExceededError before `work` begins; what `work` throws
   */
  withRoom<T>(target: QuotaTarget, need: Measure, signal: AbortSignal, work: () => Promise<T>): Promise<T>;
  /** Something has left the store. */
  free(storage: StorageAdapter, freed: Measure): void;
  /** Something has left the store, and nobody knows how much: the next use counts again. */
  forget(storage: StorageAdapter): void;
  /** Aborts running counts, and resolves when they have ended. */
  close(): Promise<void>;
}

/** Whether what a store is to take fits in beside what it holds. */
export const fits = (
  used: Measure,
  need: Measure,
  { bytes = Infinity, files = Infinity }: QuotaLimits,
): boolean => {
  const isTooLarge = need.bytes > 0 && used.bytes + need.bytes > bytes;
  const isTooMany = need.files > 0 && used.files + need.files > files;
  return !isTooLarge && !isTooMany;
};

const newAccount = (): Account => ({
  used: undefined,
  counting: undefined,
  added: { bytes: 0, files: 0 },
  nextAt: 0,
});

const add = (account: Account, bytes: number, files: number): void => {
  if (account.counting !== undefined) {
    account.added.bytes += bytes;
    account.added.files += files;
  }
  if (account.used === undefined) return;
  const { used } = account;
  account.used = { bytes: Math.max(0, used.bytes + bytes), files: Math.max(0, used.files + files) };
};

const count = async (
  account: Account,
  { storage, derivedName, ignores }: QuotaTarget,
  signal: AbortSignal,
): Promise<void> => {
  account.added = { bytes: 0, files: 0 };
  const found = await measure(storage, SourcePath.root, 'folder', {
    signal,
    derivedName,
    ignores,
    isTolerant: true,
  });
  const { bytes, files } = account.added;
  // What came meanwhile may be in the count already: too much is better than too little.
  account.used = { bytes: found.bytes + Math.max(0, bytes), files: found.files + Math.max(0, files) };
  account.nextAt = performance.now() + (bytes === 0 && files === 0 ? HOUR_MS : SOON_MS);
};

/** Quotas that have not counted anything. */
export const createQuotas = (log: Logger): Quotas => {
  const accounts = new WeakMap<StorageAdapter, Account>();
  const running = new Set<Promise<void>>();
  const closing = new AbortController();

  const accountOf = (storage: StorageAdapter): Account => {
    const account = accounts.get(storage) ?? newAccount();
    accounts.set(storage, account);
    return account;
  };

  /** Begins a count when one is due. */
  const tend = (target: QuotaTarget): Account => {
    const account = accountOf(target.storage);
    const isDue = account.used === undefined || performance.now() >= account.nextAt;
    if (!isDue || account.counting !== undefined || closing.signal.aborted) return account;
    const release = target.hold();
    account.nextAt = performance.now() + SOON_MS;
    const counting = count(account, target, closing.signal).finally(() => {
      account.counting = undefined;
      running.delete(settled);
      release();
    });
    account.counting = counting;
    const settled = counting.catch((error: unknown) => {
      if (!closing.signal.aborted) log.warn('A source could not be counted for its quota.', { error });
    });
    running.add(settled);
    return account;
  };

  const usage: Quotas['usage'] = async (target, signal, need = { bytes: 0, files: 0 }) => {
    const account = tend(target);
    const isKnown = account.used !== undefined && fits(account.used, need, target.limits);
    if (!isKnown && account.counting !== undefined) await orAborted(account.counting, signal);
    // A count that was aborted because the service ends.
    if (account.used === undefined) throw new QuotaExceededError();
    return account.used;
  };

  return {
    usage,
    withRoom: async (target, need, signal, work) => {
      const used = await usage(target, signal, need);
      const account = accountOf(target.storage);
      // Nothing may be awaited between the last look and this.
      if (!fits(account.used ?? used, need, target.limits)) throw new QuotaExceededError();
      add(account, need.bytes, need.files);
      try {
        return await work();
      } catch (error) {
        add(account, -need.bytes, -need.files);
        throw error;
      }
    },
    free: (storage, { bytes, files }) => add(accountOf(storage), -bytes, -files),
    forget: (storage) => {
      accountOf(storage).nextAt = 0;
    },
    close: async () => {
      closing.abort();
      await Promise.all(running);
    },
  };
};
