import { BusyError } from '../errors/errors.ts';

/** A bounded number of tasks at a time; the others wait in the order of their arrival. */
export interface Lanes {
  /**
   * Runs the work when `weight` of the capacity is free (a heavier task than the capacity runs alone).
   * @throws BusyError when too many wait already or the wait takes too long; the signal's reason when it is aborted while waiting.
   */
  run<Result>(work: () => Promise<Result>, weight?: number, signal?: AbortSignal): Promise<Result>;
}

/** How long, and with how many others, a task may wait. */
export interface WaitLimits {
  readonly maxWaiting: number;
  readonly maxWaitMs: number;
}

interface Waiter {
  readonly weight: number;
  readonly start: () => void;
}

/** What those share that divide a capacity. */
interface Road {
  readonly capacity: number;
  readonly queues: readonly Set<Waiter>[];
  busy: number;
}

/** Starts whoever fits, queue by queue. Nobody overtakes a heavy task that waits for room, which would otherwise wait for ever. */
const startNext = (road: Road): void => {
  for (const queue of road.queues) {
    for (const waiter of queue) {
      if (road.busy + waiter.weight > road.capacity) return;
      queue.delete(waiter);
      road.busy += waiter.weight;
      waiter.start();
    }
  }
};

const isFree = (road: Road, weight: number): boolean =>
  road.busy + weight <= road.capacity && road.queues.every((queue) => queue.size === 0);

const waitIn = (
  road: Road,
  queue: Set<Waiter>,
  { weight, maxWaitMs }: { readonly weight: number; readonly maxWaitMs: number },
  signal: AbortSignal | undefined,
): Promise<void> =>
  new Promise((resolve, reject) => {
    const leave = (reason: Error): void => {
      settle();
      queue.delete(waiter);
      reject(reason);
      // Whoever stood behind a heavy task may fit now.
      startNext(road);
    };
    const onAbort = (): void => leave(signal?.reason as Error);
    const timer = setTimeout(() => leave(new BusyError()), maxWaitMs);
    const settle = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
    };
    const start = (): void => {
      settle();
      resolve();
    };
    const waiter: Waiter = { weight, start };
    signal?.addEventListener('abort', onAbort, { once: true });
    queue.add(waiter);
  });

const createQueue = (road: Road, queue: Set<Waiter>, { maxWaiting, maxWaitMs }: WaitLimits): Lanes => ({
  run: async (work, wanted = 1, signal) => {
    signal?.throwIfAborted();
    const weight = Math.min(wanted, road.capacity);
    if (isFree(road, weight)) road.busy += weight;
    else if (queue.size >= maxWaiting) throw new BusyError();
    else await waitIn(road, queue, { weight, maxWaitMs }, signal);
    try {
      return await work();
    } finally {
      road.busy -= weight;
      startNext(road);
    }
  },
});

/**
 * Divides one capacity (cores, bytes) among several kinds of tasks. Each kind has a waiting line of its own; those named first go first.
 * Timers run only while somebody waits.
 */
export const createSharedLanes = <Name extends string>(
  capacity: number,
  limits: Readonly<Record<Name, WaitLimits>>,
): Readonly<Record<Name, Lanes>> => {
  const entries = Object.entries<WaitLimits>(limits).map(
    ([name, given]) => [name, given, new Set<Waiter>()] as const,
  );
  const road: Road = { capacity, queues: entries.map(([, , queue]) => queue), busy: 0 };
  return Object.fromEntries(
    entries.map(([name, given, queue]) => [name, createQueue(road, queue, given)]),
  ) as Record<Name, Lanes>;
};

/** Lanes for one kind of tasks. `capacity` is the sum of the weights that run at the same time. */
export const createLanes = ({ capacity, ...limits }: WaitLimits & { readonly capacity: number }): Lanes =>
  createSharedLanes(capacity, { only: limits }).only;
