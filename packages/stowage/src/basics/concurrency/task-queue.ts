import { BusyError } from '../../errors/errors.ts';

/** A bounded queue of tasks that wait for room to run; they start in the order of their arrival. */
export interface TaskQueue {
  /**
   * Runs the work when `weight` of the capacity is free (a heavier task than the capacity runs alone).
   * @throws BusyError when too many wait already or the wait takes too long; the signal's reason when it is
   *   aborted while waiting.
   */
  run<Result>(work: () => Promise<Result>, weight?: number, signal?: AbortSignal): Promise<Result>;
}

/** How long, and with how many others, a task may wait. */
export interface WaitLimits {
  readonly maxWaiting: number;
  readonly maxWaitMs: number;
}

/** What runs at the same time: the sum of the weights, and the number of tasks. */
export interface Capacity {
  readonly weight: number;
  readonly tasks: number;
}

interface Waiter {
  readonly weight: number;
  readonly start: () => void;
}

/** A capacity that several queues share. */
interface Shared {
  readonly capacity: Capacity;
  readonly queues: readonly Set<Waiter>[];
  weight: number;
  tasks: number;
}

const hasRoom = ({ capacity, weight, tasks }: Shared, wanted: number): boolean =>
  weight + wanted <= capacity.weight && tasks < capacity.tasks;

const enter = (shared: Shared, weight: number): void => {
  shared.weight += weight;
  shared.tasks += 1;
};

/**
 * Starts the tasks that fit, queue by queue. None overtakes a heavy task that waits for room, which would
 * otherwise wait for ever.
 */
const startNext = (shared: Shared): void => {
  for (const queue of shared.queues) {
    for (const waiter of queue) {
      if (!hasRoom(shared, waiter.weight)) return;
      queue.delete(waiter);
      enter(shared, waiter.weight);
      waiter.start();
    }
  }
};

const waitIn = (
  shared: Shared,
  queue: Set<Waiter>,
  { weight, maxWaitMs }: { readonly weight: number; readonly maxWaitMs: number },
  signal: AbortSignal | undefined,
): Promise<void> =>
  new Promise((resolve, reject) => {
    const leave = (reason: Error): void => {
      settle();
      queue.delete(waiter);
      reject(reason);
      // Tasks behind a heavy one may fit now.
      startNext(shared);
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

const createQueue = (
  shared: Shared,
  queue: Set<Waiter>,
  { maxWaiting, maxWaitMs }: WaitLimits,
): TaskQueue => ({
  run: async (work, wanted = 1, signal) => {
    signal?.throwIfAborted();
    const weight = Math.min(wanted, shared.capacity.weight);
    const isFirst = shared.queues.every(({ size }) => size === 0);
    if (isFirst && hasRoom(shared, weight)) enter(shared, weight);
    else if (queue.size >= maxWaiting) throw new BusyError();
    else await waitIn(shared, queue, { weight, maxWaitMs }, signal);
    try {
      return await work();
    } finally {
      shared.weight -= weight;
      shared.tasks -= 1;
      startNext(shared);
    }
  },
});

/**
 * Divides one capacity among several kinds of tasks. Each kind has a queue of its own; those named first go
 * first. Timers run only while a task waits.
 */
export const createSharedQueues = <Name extends string>(
  capacity: Capacity,
  limits: Readonly<Record<Name, WaitLimits>>,
): Readonly<Record<Name, TaskQueue>> => {
  const entries = Object.entries<WaitLimits>(limits).map(
    ([name, given]) => [name, given, new Set<Waiter>()] as const,
  );
  const shared: Shared = { capacity, queues: entries.map(([, , queue]) => queue), weight: 0, tasks: 0 };
  return Object.fromEntries(
    entries.map(([name, given, queue]) => [name, createQueue(shared, queue, given)]),
  ) as Record<Name, TaskQueue>;
};

/** A queue for one kind of tasks. `capacity` is the sum of the weights that run at the same time. */
export const createTaskQueue = ({
  capacity,
  ...limits
}: WaitLimits & { readonly capacity: number }): TaskQueue =>
  createSharedQueues({ weight: capacity, tasks: Number.POSITIVE_INFINITY }, { only: limits }).only;
