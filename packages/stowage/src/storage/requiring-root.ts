import { inTimeLimit, orAborted } from '../basics/concurrency/abort.ts';
import * as errors from '../errors/errors.ts';
import type { StagedFile, StatOptions, StorageAdapter } from './adapter.ts';
import { SourcePath } from './source-path.ts';

const CHECK_MS = 30_000;
/** Maximum number of checks per second; further ones in that second reuse the last result. */
const MOST_CHECKS = 20;
const SECOND = 1000;

type Operation = (...given: unknown[]) => unknown;

const isPromise = (value: unknown): value is Promise<unknown> =>
  typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function';

/** The options among the arguments of an operation. */
const optionsIn = (given: readonly unknown[]): StatOptions =>
  given.slice(1).find((one) => typeof one === 'object' && one !== null && !(one instanceof SourcePath)) ?? {};

/** @throws StorageUnavailableError unless the root exists, or must not be checked */
const checkRoot = async (adapter: StorageAdapter): Promise<void> => {
  try {
    await inTimeLimit(CHECK_MS, undefined, (signal) =>
      orAborted<unknown>(
        adapter.checkRoot?.({ signal }) ?? adapter.stat(SourcePath.root, { signal }),
        signal,
      ),
    );
  } catch (cause) {
    // The store responds, but grants no access to its root itself.
    if (cause instanceof errors.StorageDeniedError || cause instanceof errors.UnsupportedError) return;
    throw new errors.StorageUnavailableError({ detail: 'the root of the source does not respond', cause });
  }
};

/** Checks the root after an item was not found. Each check starts after the calls that share it. */
const createRootChecks = (adapter: StorageAdapter): (() => Promise<void>) => {
  let last: Promise<void> = Promise.resolve();
  let next: Promise<void> | undefined;
  let [since, checks] = [-SECOND, 0];
  const check = async (): Promise<void> => {
    next = undefined;
    const now = performance.now();
    if (now - since >= SECOND) [since, checks] = [now, 0];
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
 * Wraps a store so that NotFoundError means that an item is really missing: where the root itself is missing
 * or does not respond, operations fail with StorageUnavailableError instead. An unmounted folder, a deleted
 * bucket and a proxy that responds 404 to everything are outages; they must not cause items to be removed,
 * recreated or reported as missing.
 *
 * Costs one check of the root for each NotFoundError, shared by concurrent ones, at most 20 a second.
 */
export const requiringRoot = <Store extends StorageAdapter>(adapter: Store): Store => {
  const checks = createRootChecks(adapter);
  const failureOf = async (error: unknown, given: readonly unknown[]): Promise<unknown> => {
    if (!(error instanceof errors.NotFoundError)) return error;
    const [path] = given;
    if (path instanceof SourcePath && path.isRoot)
      return new errors.StorageUnavailableError({
        detail: 'the root of the source is missing',
        cause: error,
      });
    const { signal, mayMiss } = optionsIn(given);
    if (mayMiss === true) return error;
    return orAborted(checks(), signal).then(
      () => error,
      (failure: unknown) => failure,
    );
  };
  async function* pagesOf(pages: AsyncIterable<unknown>, given: readonly unknown[]) {
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
    // An empty proxy target: an adapter may be frozen, and proxy invariants would apply to its properties.
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
