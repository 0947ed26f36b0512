import { NotFoundError, StorageTimeoutError, StorageUnavailableError } from 'stowage/storage';
import type { StorageAdapter } from '../../packages/stowage/dist/storage/adapter.js';
import type { Random } from './random.ts';

/** How often what goes wrong, from 0 to 1. */
export interface FaultRates {
  /** The store has done it, and its answer is lost. */
  readonly lost: number;
  /** The store does not show what is there. */
  readonly missing: number;
  /** The store has not answered in time, and does it a moment later. */
  readonly late: number;
}

/** A store whose faults can be ended. */
export interface FaultyStore {
  readonly storage: StorageAdapter;
  readonly counts: { lost: number; missing: number; late: number };
  /** Ends the faults, and resolves when all that was late has landed. */
  heal(): Promise<void>;
}

const LOOKS = new Set(['stat', 'read', 'statMany']);
const CHANGES = new Set([
  'write',
  'makeFolder',
  'removeFile',
  'removeFolder',
  'removeEmptyFolder',
  'copyFile',
  'moveFile',
  'copyFolder',
  'moveFolder',
]);
// What streams content cannot be done later: its content is gone by then.
const MAY_BE_LATE = new Set(['removeFile', 'removeEmptyFolder', 'moveFile', 'moveFolder', 'copyFile']);
const LATE_MS = 20;

type Operation = (...input: unknown[]) => Promise<unknown>;

/** A store that fails at random, as one does behind a bad network and a node that lags behind. */
export const withRandomFaults = (inner: StorageAdapter, rates: FaultRates, random: Random): FaultyStore => {
  const counts = { lost: 0, missing: 0, late: 0 };
  const landing: Promise<unknown>[] = [];
  let isIll = true;
  const hits = (kind: keyof FaultRates): boolean => {
    if (!isIll || !random.chance(rates[kind])) return false;
    counts[kind] += 1;
    return true;
  };
  const withoutSignal = (input: unknown[]): unknown[] =>
    input.map((one) =>
      typeof one === 'object' && one !== null && 'signal' in one ? { ...one, signal: undefined } : one,
    );
  const failing =
    (name: string, operation: Operation): Operation =>
    async (...input) => {
      if (hits('missing')) throw new NotFoundError();
      if (MAY_BE_LATE.has(name) && hits('late')) {
        const pause = new Promise((resolve) => setTimeout(resolve, LATE_MS));
        landing.push(pause.then(() => operation(...withoutSignal(input))).catch(() => undefined));
        throw new StorageTimeoutError();
      }
      const result = await operation(...input);
      if (CHANGES.has(name) && hits('lost')) throw new StorageUnavailableError();
      return result;
    };
  const storage = new Proxy(inner, {
    get: (target, key) => {
      const value: unknown = Reflect.get(target, key);
      if (typeof value !== 'function') return value;
      const bound = (value as Operation).bind(target);
      const name = String(key);
      if (LOOKS.has(name) || CHANGES.has(name)) return failing(name, bound);
      if (name !== 'stage') return bound;
      return async (...input: unknown[]) => {
        const staged = (await bound(...input)) as { commit: Operation };
        const commit = failing('write', staged.commit.bind(staged));
        return new Proxy(staged, {
          get: (one, part) => {
            const member: unknown = part === 'commit' ? commit : Reflect.get(one, part);
            return typeof member === 'function' ? (member as Operation).bind(one) : member;
          },
        });
      };
    },
  });
  const heal = async (): Promise<void> => {
    isIll = false;
    await Promise.all(landing);
  };
  return { storage, counts, heal };
};
