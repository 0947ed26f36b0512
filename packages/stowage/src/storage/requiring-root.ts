import { inTimeLimit, orAborted } from '../basics/concurrency/abort.ts';
import {
  NotFoundError,
  StorageDeniedError,
  StorageUnavailableError,
  UnsupportedError,
} from '../errors/errors.ts';
import type { StagedFile, StatOptions, StorageAdapter } from './adapter.ts';
import { SourcePath } from './source-path.ts';

const CHECK_MS = 30_000;
/** Checks within a second after which the last one stands for the rest of it. */
const MOST_CHECKS = 20;
const SECOND = 1000;

type Operation = (...given: unknown[]) => unknown;

const isPromise = (value: unknown): value is Promise<unknown> =>
  typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function';

/** The options among what an operation was given. */
const optionsIn = (given: readonly unknown[]): StatOptions =>
  given.slice(1).find((one) => typeof one === 'object' && one !== null && !(one instanceof SourcePath)) ?? {};

/** @throws StorageUnavailableError unless the root is there, or may not be checked */
const checkRoot = async (adapter: StorageAdapter): Promise<void> => {
  try {
    await inTimeLimit(CHECK_MS, undefined, (signal) =>
      orAborted<unknown>(
        adapter.checkRoot?.({ signal }) ?? adapter.stat(SourcePath.root, { signal }),
        signal,
      ),
    );
  } catch (cause) {
    // The store answers, and its rights end above its files.
    if (cause instanceof StorageDeniedError || cause instanceof UnsupportedError) return;
    throw new StorageUnavailableError({ detail: 'the root of the source does not answer', cause });
  }
};

/**
 * Checks the root after something was not found. Every caller gets a check that has begun after that: those who
 * ask while one is under way share the next.
 */
const createRootChecks = (adapter: StorageAdapter): (() => Promise<void>) => {
  let last: Promise<void> = Promise.resolve();
  let next: Promise<void> | undefined;
  let [since, checks] = [0, 0];
  const check = async (): Promise<void> => {
    next = undefined;
    if (Date.now() - since >= SECOND) [since, checks] = [Date.now(), 0];
    if (checks >= MOST_CHECKS) return;
    checks += 1;
    try {
      await checkRoot(adapter);
    } catch (error) {
      checks = 0;
      throw error;
    }
  };
  return () => {
    if (next !== undefined) return next;
    next = last.then(check, check);
    last = next;
    return next;
  };
};

/**
 * The same store, in which what is not found is missing for certain: where the root itself is not found, or
 * does not answer, an operation fails with StorageUnavailableError instead of NotFoundError. A folder that is
 * not mounted, a bucket that is gone and a proxy that answers 404 to everything are outages, and nothing may
 * be removed, made again or said to be missing because of them.
 *
 * Costs one check of the root for each NotFoundError, shared by those of the same moment, at most 20 a second.
 */
export const requiringRoot = <Store extends StorageAdapter>(adapter: Store): Store => {
  const checks = createRootChecks(adapter);
  const failureOf = async (error: unknown, given: readonly unknown[]): Promise<unknown> => {
    if (!(error instanceof NotFoundError)) return error;
    const [path] = given;
    if (path instanceof SourcePath && path.isRoot)
      return new StorageUnavailableError({ detail: 'the root of the source is missing', cause: error });
    const { signal, mayMiss } = optionsIn(given);
    if (mayMiss === true) return error;
    return orAborted(checks(), signal).then(
      () => error,
      (failure: unknown) => failure,
    );
  };
  async function* pagesOf(
    pages: AsyncIterable<unknown>,
    given: readonly unknown[],
  ): AsyncGenerator<unknown, void, undefined> {
    try {
      yield* pages;
    } catch (error) {
      throw await failureOf(error, given);
    }
  }
  const watched = <Target extends object>(target: Target): Target => {
    const watch =
      (operation: Operation, name: string | symbol): Operation =>
      (...given) => {
        const result = operation.apply(target, given);
        if (name === 'list' || name === 'walk') return pagesOf(result as AsyncIterable<unknown>, given);
        if (!isPromise(result)) return result;
        const told = result.then(undefined, async (error: unknown) => {
          throw await failureOf(error, given);
        });
        return name === 'stage' ? told.then((staged) => watched(staged as StagedFile)) : told;
      };
    // An empty target: what it says of itself binds a proxy, and an adapter may be frozen.
    return new Proxy({} as Target, {
      has: (_, name) => Reflect.has(target, name),
      get: (_, name) => {
        const value: unknown = Reflect.get(target, name, target);
        return typeof value === 'function' ? watch(value as Operation, name) : value;
      },
    });
  };
  return watched(adapter);
};
