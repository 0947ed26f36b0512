import { inTimeLimit, orAborted, withOwnSignal } from '../../../basics/concurrency/abort.ts';
import { StorageTimeoutError, StorageUnavailableError } from '../../../errors/errors.ts';
import { createSlots, type Slots } from '../../../basics/concurrency/queues.ts';

/** A connection that outlives single operations, to be reused. */
export interface PooledConnection {
  /** False after it was closed, lost, or left in a state that others cannot use. */
  readonly isOpen: boolean;
  /** Closes the connection and fails everything waiting on it. May be called several times; never throws. */
  close(): void;
}

interface PoolOptions<Connection> {
  readonly connections: number;
  /** Users that share one connection at the same time. */
  readonly perConnection: number;
  /** Maximum number of concurrent readers, which may hold their connections for long. */
  readonly readers: number;
  readonly idleMs: number;
  /** Longest wait of a user while no connection becomes free. */
  readonly waitMs: number;
  /** Opens a connection, within its own time limit; the signal aborts when the pool is closed. */
  readonly open: (signal: AbortSignal) => Promise<Connection>;
  /** Whether the server rejects further connections, so that the open ones must suffice for a while. */
  readonly isRefusal?: (error: unknown) => boolean;
}

interface Member<Connection> {
  readonly opening: Promise<Connection>;
  opened: Connection | undefined;
  users: number;
  idle: NodeJS.Timeout | undefined;
}

/** A connection in use. Its holder releases it, once. */
interface Lease<Connection> {
  readonly connection: Connection;
  readonly release: () => void;
}

const MAY_WAIT = 1000;
/** Pause before another connection is tried after the server rejected one. */
const REFUSED_MS = 10_000;
const CLOSED = 'the store was closed';

/**
 * A bounded pool of connections to one server: opened on demand, shared as `perConnection` says, and closed
 * when idle. Lost connections are dropped; the next user opens another.
 */
export class ConnectionPool<Connection extends PooledConnection> {
  readonly #options: PoolOptions<Connection>;
  readonly #members = new Set<Member<Connection>>();
  readonly #users;
  // Readers may take as long as they like, so their number is limited: other operations must find free slots.
  readonly #readers;
  readonly #closing = new AbortController();
  #refusedAt = Number.NEGATIVE_INFINITY;

  constructor(options: PoolOptions<Connection>) {
    const { connections, perConnection, readers, waitMs } = options;
    const limits = { mayWait: MAY_WAIT, waitMs };
    this.#options = options;
    this.#users = createConnectionSlots({ ...limits, connections: connections * perConnection });
    this.#readers = createConnectionSlots({ ...limits, connections: readers });
  }

  /** Runs `work` with a connection. `work` must not take another one, which could deadlock. */
  async use<T>(signal: AbortSignal | undefined, work: (connection: Connection) => Promise<T>): Promise<T> {
    const { connection, release } = await this.take(signal);
    try {
      return await work(connection);
    } finally {
      release();
    }
  }

  /** A connection for a read; its reader releases it. @throws as createConnectionSlots */
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

  /** Closes all connections, including those in use. */
  async close(): Promise<void> {
    this.#closing.abort(new StorageUnavailableError({ detail: CLOSED }));
    const members = [...this.#members];
    for (const member of members) this.#forget(member);
    await Promise.allSettled(members.map(async ({ opening }) => (await opening).close()));
  }

  /** A connection; its user releases it. @throws as createConnectionSlots */
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
        this.#refusedAt = performance.now();
        // The caller shares another connection; else its slot stays taken for the pause, and it waits for one.
        if (this.#options.perConnection > 1) release();
        else setTimeout(release, REFUSED_MS).unref();
      }
    }
  }

  /** The open connection with the fewest users; a new one when all are in use and the limit allows it. */
  #choose(): Member<Connection> {
    for (const member of this.#members) if (member.opened?.isOpen === false) this.#forget(member);
    const [least] = [...this.#members].sort((one, other) => one.users - other.users);
    const { connections, perConnection } = this.#options;
    const mustShare = perConnection > 1 && performance.now() - this.#refusedAt < REFUSED_MS;
    const mayOpen = this.#members.size < connections && !mustShare;
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

interface ConnectionLimits {
  readonly connections: number;
  /** Maximum number of waiting requests; further ones fail with BusyError. */
  readonly mayWait: number;
  /** Longest wait of a request while no connection becomes free. */
  readonly waitMs: number;
}

/**
 * Slots for the connections to one server. A download keeps its slot as long as its reader takes, so waiting
 * is limited: a request fails with StorageTimeoutError when no slot has become free for `waitMs`. While slots
 * become free it keeps waiting.
 */
export const createConnectionSlots = ({ connections, mayWait, waitMs }: ConnectionLimits): Slots => {
  const slots = createSlots(connections, mayWait);
  let freedAt = 0;

  const takeInTime = async (signal: AbortSignal | undefined): Promise<() => void> => {
    signal?.throwIfAborted();
    const free = slots.tryTake();
    if (free !== undefined) return free;
    const limit = new AbortController();
    const since = performance.now();
    const check = (): void => {
      const idle = performance.now() - Math.max(since, freedAt);
      if (idle < waitMs) timer = setTimeout(check, waitMs - idle);
      else limit.abort(new StorageTimeoutError({ detail: 'all connections to the server are in use' }));
    };
    let timer = setTimeout(check, waitMs);
    try {
      const signals = signal === undefined ? limit.signal : [signal, limit.signal];
      return await withOwnSignal(signals, (either) => slots.take(either));
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

/** No response arrived in time; the connection was given up. */
export class SilenceError extends Error {
  readonly code = 'ETIMEDOUT';
}

/** The connection ended while a request waited for its response. */
export class LostConnectionError extends Error {}

/** Adds a time limit to a promise. @throws SilenceError */
export const inTime = <Value>(promise: Promise<Value>, ms: number): Promise<Value> =>
  inTimeLimit(
    ms,
    undefined,
    (limit) => orAborted(promise, limit),
    () => new SilenceError('no response in time'),
  );
