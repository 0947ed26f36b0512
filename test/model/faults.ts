import type { Readable } from 'node:stream';
import { type StorageAdapter, NotFoundError, StorageUnavailableError } from 'stowage/storage';
import type { Effect } from '../../tools/test-servers/fault-proxy.ts';
import { Random } from './random.ts';

/** What goes wrong between a store and the service: answers are lost, or say falsely that nothing is there. */
export class Faults {
  /** Off while stores are made, and when they are looked at in the end. */
  isOn = false;
  counts = { lost: 0, absent: 0 };
  readonly #random: Random;
  readonly #share: number;

  constructor(seed: number, share = 0.01) {
    this.#random = new Random(seed);
    this.#share = share;
  }

  pick(): 'lost' | 'absent' | undefined {
    if (!this.isOn) return undefined;
    const next = this.#random.next();
    if (next >= 2 * this.#share) return undefined;
    const fault = next < this.#share ? 'lost' : 'absent';
    this.counts[fault] += 1;
    return fault;
  }

  /** The same for a proxy of a store that speaks HTTP. */
  effect(): Effect | undefined {
    const fault = this.pick();
    if (fault === undefined) return undefined;
    if (fault === 'lost') return { kind: 'lose' };
    return {
      kind: 'answer',
      status: 404,
      code: 'NoSuchKey',
      headers: { 'x-ms-error-code': 'BlobNotFound' },
    };
  }
}

/** Operations that can go wrong; the others pass. */
const OPERATIONS: ReadonlySet<string | symbol> = new Set([
  ...['stat', 'statMany', 'read', 'write', 'makeFolder', 'removeFile', 'removeFolder', 'removeEmptyFolder'],
  ...['copyFile', 'moveFile', 'copyFolder', 'moveFolder'],
]);

type Operation = (...given: unknown[]) => Promise<unknown>;

const failing =
  (name: string | symbol, operation: Operation, faults: Faults): Operation =>
  async (...given) => {
    const fault = faults.pick();
    if (fault === 'absent') {
      if (name === 'write') (given[1] as Readable).destroy();
      throw new NotFoundError();
    }
    const result = await operation(...given);
    if (fault === undefined) return result;
    if (name === 'read') (result as { stream: Readable }).stream.destroy();
    throw new StorageUnavailableError();
  };

async function* failingList(
  pages: ReturnType<StorageAdapter['list']>,
  faults: Faults,
): ReturnType<StorageAdapter['list']> & AsyncGenerator {
  const fault = faults.pick();
  if (fault === 'absent') throw new NotFoundError();
  yield* pages;
  if (fault === 'lost') throw new StorageUnavailableError();
}

/** A store between which and the service faults happen, for stores whose protocol no proxy here speaks. */
export const faulty = (adapter: StorageAdapter, faults: Faults): StorageAdapter =>
  new Proxy(adapter, {
    get: (target, name) => {
      // Content then passes through `write` alone.
      if (name === 'stage') return undefined;
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      const operation = value.bind(target) as Operation;
      if (name === 'list')
        return (...given: Parameters<StorageAdapter['list']>) => failingList(target.list(...given), faults);
      return OPERATIONS.has(name) ? failing(name, operation, faults) : operation;
    },
  });
