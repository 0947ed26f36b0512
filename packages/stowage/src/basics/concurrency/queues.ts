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
  const waiting: (() => void)[] = [];
  const check = (): void => {
    if (failures.length > 0) throw failures[0];
  };
  return {
    add: async (task) => {
      // `Promise.race` would add a reaction to a long task with each wait, as long as that runs.
      while (running.size >= limit) await new Promise<void>((resolve) => waiting.push(resolve));
      check();
      const run: Promise<void> = task()
        .catch((error: unknown) => void failures.push(error))
        .finally(() => {
          running.delete(run);
          for (const resolve of waiting.splice(0)) resolve();
        });
      running.add(run);
    },
    drain: async () => {
      await Promise.all(running);
      check();
    },
  };
};

/** Runs `work`, whose `add` starts tasks, at most `limit` at a time. Settles when none is running. */
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
interface UserShare {
  readonly slots?: number;
  readonly waiting?: number;
}

interface WaitLimits {
  readonly maxWaiting: number;
  /** Default: no limit. */
  readonly maxWaitMs?: number;
}

/** Limits of concurrent tasks: the sum of their weights, and their number. */
interface Capacity {
  readonly weight: number;
  readonly tasks: number;
}

interface Waiter {
  readonly weight: number;
  readonly start: () => void;
}

/** A capacity that is shared by lanes; earlier ones have priority. */
interface Shared {
  readonly capacity: Capacity;
  readonly lanes: Lane[];
  weight: number;
  tasks: number;
}

const sharedBy = (capacity: Capacity): Shared => ({ capacity, lanes: [], weight: 0, tasks: 0 });

const hasRoom = ({ capacity, weight, tasks }: Shared, wanted: number): boolean =>
  weight + wanted <= capacity.weight && tasks < capacity.tasks;

const nextIn = ({ lanes }: Shared): Waiter | undefined => {
  for (const lane of lanes) {
    const next = lane.next();
    if (next !== undefined) return next;
  }
  return undefined;
};

/** Starts the tasks that fit, in their order. None overtakes a waiting heavy task, which might starve. */
const startNext = (shared: Shared): void => {
  for (let next = nextIn(shared); next !== undefined && hasRoom(shared, next.weight); next = nextIn(shared))
    next.start();
};

/** A bounded queue of tasks that wait for capacity, by their users. Timers run only while a task waits. */
class Lane {
  readonly #shared: Shared;
  readonly #limits: WaitLimits;
  readonly #share: Required<UserShare>;
  /** In order of their next turn. */
  readonly #waiting = new Map<string, Set<Waiter>>();
  readonly #held = new Map<string, number>();
  #queued = 0;

  constructor(shared: Shared, limits: WaitLimits, { slots = Infinity, waiting = Infinity }: UserShare = {}) {
    this.#shared = shared;
    this.#limits = limits;
    this.#share = { slots, waiting };
    shared.lanes.push(this);
  }

  /** As `take`, but undefined when it would have to wait. */
  tryTake(user = '', weight = 1): (() => void) | undefined {
    const isFree = this.#mayHold(user) && hasRoom(this.#shared, weight) && nextIn(this.#shared) === undefined;
    return isFree ? this.#enter(user, weight) : undefined;
  }

  /**
   * Waits for a slot, or until `weight` of the capacity is free (a task heavier than the capacity runs alone).
   * Returns the function that releases it; calling it again has no effect.
   * @param user slots are assigned to the users in turn, however many each waits for
   * @throws BusyError when too many tasks wait or the wait takes too long; the signal's reason when it is
   * aborted while waiting
   */
  async take(signal: AbortSignal | undefined, user = '', wanted = 1): Promise<() => void> {
    signal?.throwIfAborted();
    const weight = Math.min(wanted, this.#shared.capacity.weight);
    return this.tryTake(user, weight) ?? this.#wait(user, weight, signal);
  }

  /** Runs work that takes `weight` of the capacity. @throws as `take`, and errors of `work` */
  run<Result>(work: () => Promise<Result>, weight = 1, signal?: AbortSignal): Promise<Result> {
    return inSlot(this, signal, '', work, weight);
  }

  /** The task whose turn is next, among those whose users may hold more. */
  next(): Waiter | undefined {
    for (const [user, own] of this.#waiting) if (this.#mayHold(user)) for (const waiter of own) return waiter;
    return undefined;
  }

  #mayHold(user: string): boolean {
    return (this.#held.get(user) ?? 0) < this.#share.slots;
  }

  #enter(user: string, weight: number): () => void {
    this.#hold(user, 1, weight);
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      this.#hold(user, -1, -weight);
      startNext(this.#shared);
    };
  }

  #hold(user: string, tasks: number, weight: number): void {
    this.#shared.tasks += tasks;
    this.#shared.weight += weight;
    const now = (this.#held.get(user) ?? 0) + tasks;
    if (now === 0) this.#held.delete(user);
    else this.#held.set(user, now);
  }

  #wait(user: string, weight: number, signal: AbortSignal | undefined): Promise<() => void> {
    const own = this.#waiting.get(user) ?? new Set();
    const { maxWaiting, maxWaitMs } = this.#limits;
    if (this.#queued >= maxWaiting || own.size >= this.#share.waiting)
      throw new BusyError({ detail: 'too many operations wait for their turn' });
    return new Promise((resolve, reject) => {
      const settle = (): void => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', onAbort);
        this.#queued -= 1;
        own.delete(waiter);
        if (own.size === 0) this.#waiting.delete(user);
      };
      const leave = (reason: Error): void => {
        settle();
        reject(reason);
        // Tasks behind a heavy one may fit now.
        startNext(this.#shared);
      };
      const onAbort = (): void => leave(signal?.reason as Error);
      const start = (): void => {
        settle();
        if (this.#waiting.delete(user)) this.#waiting.set(user, own);
        resolve(this.#enter(user, weight));
      };
      const waiter: Waiter = { weight, start };
      const timer = maxWaitMs === undefined ? undefined : setTimeout(() => leave(new BusyError()), maxWaitMs);
      signal?.addEventListener('abort', onAbort, { once: true });
      this.#waiting.set(user, own.add(waiter));
      this.#queued += 1;
    });
  }
}

/** A bounded number of slots, and a bounded queue for them. */
export const createSlots = (count: number, maxWaiting: number, share?: UserShare): Lane =>
  new Lane(sharedBy({ weight: count, tasks: count }), { maxWaiting }, share);

export type Slots = Pick<Lane, 'take'>;

/** Runs work in a slot. @throws as `take`, and errors of `work` */
export const inSlot = async <Result>(
  slots: Slots,
  signal: AbortSignal | undefined,
  user: string,
  work: () => Promise<Result>,
  weight?: number,
): Promise<Result> => {
  const leave = await slots.take(signal, user, weight);
  try {
    return await work();
  } finally {
    leave();
  }
};

export type TaskQueue = Pick<Lane, 'run'>;

/** Divides one capacity among several kinds of tasks, each with its own queue; earlier names have priority. */
export const createSharedQueues = <Name extends string>(
  capacity: Capacity,
  limits: Readonly<Record<Name, WaitLimits>>,
) => {
  const shared = sharedBy(capacity);
  const entries = Object.entries<WaitLimits>(limits).map(([name, given]) => [name, new Lane(shared, given)]);
  return Object.fromEntries(entries) as Readonly<Record<Name, TaskQueue>>;
};

/** A queue for one kind of tasks. `capacity` limits the sum of the weights of running tasks. */
export const createTaskQueue = (limits: WaitLimits & { readonly capacity: number }): TaskQueue =>
  new Lane(sharedBy({ weight: limits.capacity, tasks: Infinity }), limits);
