import { BusyError } from '../../errors/errors.ts';

/** Runs a bounded number of tasks concurrently. */
export interface Limiter {
  /** Starts the task when a slot is free. Rejects, without starting it, with an earlier task's failure. */
  add(task: () => Promise<void>): Promise<void>;
  /** Waits until every task has ended. Rejects with the first failure. Must be called in every case. */
  drain(): Promise<void>;
}

/** A limiter that runs at most `limit` tasks concurrently. */
export const createLimiter = (limit: number): Limiter => {
  const running = new Set<Promise<void>>();
  const failures: unknown[] = [];
  const check = (): void => {
    if (failures.length > 0) throw failures[0];
  };
  return {
    add: async (task) => {
      while (running.size >= limit) await Promise.race(running);
      check();
      const run: Promise<void> = task()
        .catch((error: unknown) => void failures.push(error))
        .finally(() => running.delete(run));
      running.add(run);
    },
    drain: async () => {
      await Promise.all(running);
      check();
    },
  };
};

/**
 * Runs `work`, whose `add` starts tasks, at most `limit` at a time. Settles, as `drain` does, when none is running.
 */
export const inParallel = async <Result>(
  limit: number,
  work: (add: Limiter['add']) => Promise<Result>,
): Promise<Result> => {
  const limiter = createLimiter(limit);
  try {
    return await work((task) => limiter.add(task));
  } finally {
    await limiter.drain();
  }
};

/** Runs `work` for each item, at most `limit` at a time. Settles, as `drain` does, when none is running. */
export const forEachAtOnce = <Item>(
  limit: number,
  items: Iterable<Item> | AsyncIterable<Item>,
  work: (item: Item) => Promise<void>,
): Promise<void> =>
  inParallel(limit, async (add) => {
    for await (const item of items) await add(() => work(item));
  });

/** Limits for one user, so that others always get slots; default: no limit. */
export interface UserShare {
  readonly slots?: number;
  readonly waiting?: number;
}

/** A bounded number of slots, and a bounded queue for them. */
class FairSlots {
  readonly #mayWait: number;
  readonly #share: Required<UserShare>;
  /** In order of their next turn. */
  readonly #waiting = new Map<string, Set<() => void>>();
  readonly #held = new Map<string, number>();
  #free: number;
  #queued = 0;

  constructor(count: number, mayWait: number, { slots = count, waiting = mayWait }: UserShare) {
    this.#free = count;
    this.#mayWait = mayWait;
    this.#share = { slots, waiting };
  }

  /** As `take`, but undefined when it would have to wait. */
  tryTake(user = ''): (() => void) | undefined {
    if (!this.#mayHold(user)) return undefined;
    this.#hold(user, 1);
    return this.#once(user);
  }

  /**
   * Waits for a slot. Returns the function that releases it; calling it again has no effect.
   * @param user slots are assigned to the users in turn, however many each waits for
   * @throws the signal's reason; BusyError when the queue is full
   */
  async take(signal: AbortSignal | undefined, user = ''): Promise<() => void> {
    signal?.throwIfAborted();
    const immediate = this.tryTake(user);
    if (immediate !== undefined) return immediate;
    const own = this.#waiting.get(user) ?? new Set();
    if (this.#queued >= this.#mayWait || own.size >= this.#share.waiting)
      throw new BusyError({ detail: 'too many operations wait for their turn' });
    await new Promise<void>((resolve, reject) => {
      const enter = (): void => {
        signal?.removeEventListener('abort', leave);
        resolve();
      };
      const leave = (): void => {
        this.#drop(user, enter);
        reject(signal?.reason as Error);
      };
      this.#waiting.set(user, own.add(enter));
      this.#queued += 1;
      signal?.addEventListener('abort', leave, { once: true });
    });
    return this.#once(user);
  }

  #mayHold(user: string): boolean {
    return this.#free > 0 && (this.#held.get(user) ?? 0) < this.#share.slots;
  }

  #hold(user: string, more: number): void {
    this.#free -= more;
    const now = (this.#held.get(user) ?? 0) + more;
    if (now === 0) this.#held.delete(user);
    else this.#held.set(user, now);
  }

  #drop(user: string, enter: () => void): void {
    const own = this.#waiting.get(user);
    if (own?.delete(enter) !== true) return;
    this.#queued -= 1;
    if (own.size === 0) this.#waiting.delete(user);
  }

  #once(user: string): () => void {
    let given = false;
    return () => {
      if (given) return;
      given = true;
      this.#hold(user, -1);
      this.#admit();
    };
  }

  #admit(): void {
    for (const [user, own] of this.#waiting) {
      const [enter] = own;
      if (enter === undefined || !this.#mayHold(user)) continue;
      this.#drop(user, enter);
      if (this.#waiting.delete(user)) this.#waiting.set(user, own);
      this.#hold(user, 1);
      return enter();
    }
  }
}

export const createSlots = (count: number, mayWait: number, share: UserShare = {}): FairSlots =>
  new FairSlots(count, mayWait, share);

export type Slots = Pick<FairSlots, 'take'>;

/** Runs work in a slot. @throws as `take`, and errors of `work` */
export const inSlot = async <Result>(
  slots: Slots,
  signal: AbortSignal | undefined,
  user: string,
  work: () => Promise<Result>,
): Promise<Result> => {
  const leave = await slots.take(signal, user);
  try {
    return await work();
  } finally {
    leave();
  }
};

/** A bounded queue of tasks that wait for capacity; they start in the order of their arrival. */
export interface TaskQueue {
  /**
   * Runs the work when `weight` of the capacity is free (a task heavier than the capacity runs alone).
   * @throws BusyError when too many tasks wait or the wait takes too long; the signal's reason when it is
   * aborted while waiting
   */
  run<Result>(work: () => Promise<Result>, weight?: number, signal?: AbortSignal): Promise<Result>;
}

export interface WaitLimits {
  readonly maxWaiting: number;
  readonly maxWaitMs: number;
}

/** Limits of concurrent tasks: the sum of their weights, and their number. */
export interface Capacity {
  readonly weight: number;
  readonly tasks: number;
}

interface Waiter {
  readonly weight: number;
  readonly start: () => void;
}

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

/** Starts the tasks that fit, queue by queue. None overtakes a waiting heavy task, which might starve. */
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
 * Divides one capacity among several kinds of tasks. Each kind has its own queue; earlier names have
 * priority. Timers run only while a task waits.
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

/** A queue for one kind of tasks. `capacity` limits the sum of the weights of running tasks. */
export const createTaskQueue = ({ capacity, ...limits }: WaitLimits & { readonly capacity: number }) =>
  createSharedQueues({ weight: capacity, tasks: Number.POSITIVE_INFINITY }, { only: limits }).only;
