import { inTimeLimit, orAborted } from '../../../basics/concurrency/abort.ts';
import { StorageTimeoutError, StorageUnavailableError } from '../../../errors/errors.ts';
import { createSlots, type Slots } from '../../../basics/concurrency/queues.ts';

/** A connection that outlives the operations that use it. */
export interface PooledConnection {
  /** False once it was closed, lost, or left in a state that others cannot use. */
  readonly isOpen: boolean;
  /** Ends it and all that waits on it. May be called several times; never throws. */
  close(): void;
}

/** How a pool opens, shares and closes its connections. */
export interface PoolOptions<Connection> {
  readonly connections: number;
  /** Users that share one connection at the same time. */
  readonly perConnection: number;
  /** Most users that read at the same time, for as long as their readers take. */
  readonly readers: number;
  readonly idleMs: number;
  /** How long a user waits while no connection becomes free. */
  readonly waitMs: number;
  /** Opens one, within its own limit of time; the signal aborts when the pool is closed. */
  readonly open: (signal: AbortSignal) => Promise<Connection>;
  /** Whether the server refused another connection, so that those that are open have to do for a while. */
  readonly isRefusal?: (error: unknown) => boolean;
}

interface Member<Connection> {
  readonly opening: Promise<Connection>;
  opened: Connection | undefined;
  users: number;
  idle: NodeJS.Timeout | undefined;
}

/** A connection in use. Its holder gives it back, once. */
export interface Lease<Connection> {
  readonly connection: Connection;
  readonly release: () => void;
}

const MAY_WAIT = 1000;
/** How long a connection that the server refused beside others is not asked for again. */
const REFUSED_MS = 10_000;
const CLOSED = 'the store was closed';

/**
 * A bounded number of connections to one server, opened when they are needed, shared as `perConnection` says,
 * and closed when they were not used for a while. Lost ones are forgotten; the next user opens another.
 */
export class ConnectionPool<Connection extends PooledConnection> {
  readonly #options: PoolOptions<Connection>;
  readonly #members = new Set<Member<Connection>>();
  readonly #users;
  // Whatever readers do, others find room: a reader takes as long as it likes.
  readonly #readers;
  readonly #closing = new AbortController();

  constructor(options: PoolOptions<Connection>) {
    const { connections, perConnection, readers, waitMs } = options;
    const limits = { mayWait: MAY_WAIT, waitMs };
    this.#options = options;
    this.#users = createConnectionSlots({ ...limits, connections: connections * perConnection });
    this.#readers = createConnectionSlots({ ...limits, connections: readers });
  }

  /** Runs `work` with a connection. `work` must not take another one: all could wait for all. */
  async use<T>(signal: AbortSignal | undefined, work: (connection: Connection) => Promise<T>): Promise<T> {
    const { connection, release } = await this.take(signal);
    try {
      return await work(connection);
    } finally {
      release();
    }
  }

  /** A connection for a read, which its reader gives back. @throws as createConnectionSlots */
  async takeForReading(signal: AbortSignal | undefined): Promise<Lease<Connection>> {
    const free = await this.#readers.take(signal);
    try {
      const { connection, release } = await this.take(signal);
      const both = (): void => {
        release();
        free();
      };
      return { connection, release: both };
    } catch (error) {
      free();
      throw error;
    }
  }

  /** Closes all connections, those in use too. */
  async close(): Promise<void> {
    this.#closing.abort(new StorageUnavailableError({ detail: CLOSED }));
    const members = [...this.#members];
    for (const member of members) this.#forget(member);
    await Promise.allSettled(members.map(async ({ opening }) => (await opening).close()));
  }

  /** A connection, which its user gives back. @throws as createConnectionSlots */
  async take(signal: AbortSignal | undefined): Promise<Lease<Connection>> {
    for (;;) {
      const free = await this.#users.take(signal);
      if (this.#closing.signal.aborted) {
        free();
        throw new StorageUnavailableError({ detail: CLOSED });
      }
      const member = this.#choose();
      let isReleased = false;
      const release = (): void => {
        if (isReleased) return;
        isReleased = true;
        this.#leave(member);
        free();
      };
      try {
        return { connection: await orAborted(member.opening, signal), release };
      } catch (error) {
        if (this.#members.size === 0 || this.#options.isRefusal?.(error) !== true) {
          release();
          throw error;
        }
        // Its slot stays taken: the caller waits for one of the others.
        setTimeout(release, REFUSED_MS).unref();
      }
    }
  }

  /** The open connection with the fewest users, unless all are in use and there may be another. */
  #choose(): Member<Connection> {
    for (const member of this.#members) if (member.opened?.isOpen === false) this.#forget(member);
    const [least] = [...this.#members].sort((one, other) => one.users - other.users);
    const mayOpen = this.#members.size < this.#options.connections;
    const member = least === undefined || (least.users > 0 && mayOpen) ? this.#add() : least;
    clearTimeout(member.idle);
    member.users += 1;
    return member;
  }

  #add(): Member<Connection> {
    const member: Member<Connection> = {
      opening: this.#options.open(this.#closing.signal),
      opened: undefined,
      users: 0,
      idle: undefined,
    };
    member.opening.then(
      (connection) => {
        member.opened = connection;
        // The pool was closed meanwhile.
        if (!this.#members.has(member)) connection.close();
      },
      () => this.#forget(member),
    );
    this.#members.add(member);
    return member;
  }

  #leave(member: Member<Connection>): void {
    member.users -= 1;
    if (member.opened?.isOpen === false) this.#forget(member);
    if (member.users > 0 || !this.#members.has(member)) return;
    const end = (): void => {
      this.#forget(member);
      member.opening.then(
        (connection) => connection.close(),
        () => undefined,
      );
    };
    member.idle = setTimeout(end, this.#options.idleMs).unref();
  }

  #forget(member: Member<Connection>): void {
    clearTimeout(member.idle);
    this.#members.delete(member);
  }
}

/** How connections to a server are shared. */
export interface ConnectionLimits {
  readonly connections: number;
  /** Requests that may wait for one; one more fails with BusyError. */
  readonly mayWait: number;
  /** How long a request waits while no connection becomes free. */
  readonly waitMs: number;
}

/**
 * Slots for the connections to one server. A download keeps its slot as long as its reader takes, so waiting
 * has a limit: a request fails with StorageTimeoutError when no slot has become free for `waitMs`. While
 * slots become free it keeps waiting.
 */
export const createConnectionSlots = ({ connections, mayWait, waitMs }: ConnectionLimits): Slots => {
  const slots = createSlots(connections, mayWait);
  let freedAt = 0;

  const takeInTime = async (signal: AbortSignal | undefined): Promise<() => void> => {
    const limit = new AbortController();
    const since = performance.now();
    const check = (): void => {
      const idle = performance.now() - Math.max(since, freedAt);
      if (idle < waitMs) timer = setTimeout(check, waitMs - idle);
      else limit.abort(new StorageTimeoutError({ detail: 'all connections to the server are in use' }));
    };
    let timer = setTimeout(check, waitMs);
    try {
      return await slots.take(signal === undefined ? limit.signal : AbortSignal.any([signal, limit.signal]));
    } finally {
      clearTimeout(timer);
    }
  };

  return {
    take: async (signal) => {
      const free = await takeInTime(signal);
      return () => {
        freedAt = performance.now();
        free();
      };
    },
  };
};

/** No answer came within the time; the connection was given up. */
export class SilenceError extends Error {
  readonly code = 'ETIMEDOUT';
}

/** The connection ended while something waited for its answer. */
export class LostConnectionError extends Error {}

/** What a promise gives, unless it takes longer. @throws SilenceError */
export const inTime = <Value>(promise: Promise<Value>, ms: number): Promise<Value> =>
  inTimeLimit(
    ms,
    undefined,
    (limit) => orAborted(promise, limit),
    () => new SilenceError('no answer in time'),
  );
