import { orAborted } from '../../../basics/concurrency/abort.ts';
import type { Slots } from '../../../basics/concurrency/queues.ts';
import { type ErrorsByCode, StorageUnavailableError, StowageError } from '../../../errors/errors.ts';
import { errorOfStatus, pause } from '../../remote/core/http.ts';
import { createConnectionSlots } from '../../remote/core/connections.ts';

const MAY_WAIT = 2000;
const CONNECTIONS = 48;
const BACKOFF = { firstMs: 100, longestMs: 20_000 };
const PASSING: ReadonlySet<number> = new Set([408, 429, 500, 502, 503, 504]);
const LOST: ReadonlySet<string> = new Set([
  'ECONNRESET',
  'ECONNREFUSED',
  'ECONNABORTED',
  'EPIPE',
  'ETIMEDOUT',
  'EAI_AGAIN',
]);

/** What the log may read of a failed request: nothing that was signed, no key and no token. */
export class FailedRequest extends Error {
  readonly status: number | undefined;
  /** Of the service, or of the system where there was no answer. */
  readonly code: string | undefined;

  /** How often the request was sent, where the library sends it again by itself. */
  readonly attempts: number;
  /** By which the service finds the request in its own log. */
  readonly requestId: string | undefined;

  constructor(
    message: string,
    status: number | undefined,
    code: string | undefined,
    { attempts = 1, requestId }: { readonly attempts?: number; readonly requestId?: string | undefined } = {},
  ) {
    super(message);
    this.name = code ?? 'FailedRequest';
    this.status = status;
    this.code = code;
    this.attempts = attempts;
    this.requestId = requestId;
  }
}

/** The failed request that an error of ours tells of. */
export const failedRequest = (error: unknown): FailedRequest | undefined =>
  error instanceof StowageError && error.cause instanceof FailedRequest ? error.cause : undefined;

/**
 * The error that a failed request means: by its code where that is known, else by its status.
 * @param operation what was tried and at which name, for the log
 */
export const errorOfRequest = (
  cause: FailedRequest,
  operation: string,
  byCode: ErrorsByCode<string>,
): StowageError => {
  const { code, status } = cause;
  const reasons = [code, status].filter((fact) => fact !== undefined).join(', ');
  const facts = { detail: `${operation} failed (${reasons})`, cause };
  const kind = byCode.get(code);
  return kind === undefined ? errorOfStatus(status, facts) : new kind(facts);
};

/** Whether the same request may succeed in a moment: there was no answer, or the service asks for it. */
const isPassing = (error: unknown): boolean => {
  const failed = failedRequest(error);
  if (failed === undefined) return false;
  return failed.status === undefined ? LOST.has(failed.code ?? '') : PASSING.has(failed.status);
};

/** How requests of one store are sent. */
export interface RequestLimits {
  /** How long a request may wait while no connection becomes free, in milliseconds. */
  readonly waitMs: number;
  readonly maxAttempts: number;
  /** Most connections of each of the two kinds. Default: 48. */
  readonly connections?: number;
  /** Whether a failed request is sent again. Default: after what passes in a moment. */
  readonly mayRepeat?: (error: unknown) => boolean;
  /** The error of ours for one of the library. `operation`: what was tried, for the log. */
  readonly errorOf: (error: unknown, operation: string) => StowageError;
}

/** Sends a request. `attempt` counts from 1. */
type Work<T> = (signal: AbortSignal | undefined, attempt: number) => Promise<T>;

/**
 * The requests of one store: connections for downloads and as many for the rest, each request sent again
 * after what passes. Only requests that may be sent twice are to go this way.
 */
export class Requests {
  // Reads have connections of their own: a download that waits for its reader must not keep an upload from
  // starting, or both would wait for each other when one feeds the other.
  readonly #reads: Slots;
  readonly #others: Slots;
  readonly #limits: RequestLimits;
  readonly #mayRepeat: (error: unknown) => boolean;
  #isClosed = false;

  constructor(limits: RequestLimits) {
    const { connections = CONNECTIONS } = limits;
    const slots = { connections, mayWait: MAY_WAIT, waitMs: limits.waitMs };
    this.#reads = createConnectionSlots(slots);
    this.#others = createConnectionSlots(slots);
    this.#limits = limits;
    this.#mayRepeat = limits.mayRepeat ?? isPassing;
  }

  /** @throws the signal's reason, or one of our errors */
  async send<T>(
    operation: string,
    signal: AbortSignal | undefined,
    work: Work<T>,
    mayRepeat = this.#mayRepeat,
  ): Promise<T> {
    const once = async (attempt: number): Promise<T> => {
      const free = await this.#others.take(signal);
      return this.#run(operation, signal, (own) => work(own, attempt).finally(free));
    };
    return this.#repeat(signal, once, mayRepeat);
  }

  /** As `send`, for an answer with a body: its connection counts as used until `release` is called. */
  async sendRead<T>(
    operation: string,
    signal: AbortSignal | undefined,
    work: Work<T>,
  ): Promise<{ readonly output: T; readonly release: () => void }> {
    const once = async (attempt: number) => {
      const release = await this.#reads.take(signal);
      try {
        return { output: await this.#run(operation, signal, (own) => work(own, attempt)), release };
      } catch (error) {
        release();
        throw error;
      }
    };
    return this.#repeat(signal, once, this.#mayRepeat);
  }

  /** What is sent from now on fails. */
  close(): void {
    this.#isClosed = true;
  }

  async #repeat<T>(
    signal: AbortSignal | undefined,
    once: (attempt: number) => Promise<T>,
    mayRepeat: (error: unknown) => boolean,
  ): Promise<T> {
    for (let attempt = 1; ; attempt += 1) {
      if (this.#isClosed) throw new StorageUnavailableError({ detail: 'the store was closed' });
      try {
        return await once(attempt);
      } catch (error) {
        if (attempt >= this.#limits.maxAttempts || !mayRepeat(error)) throw error;
      }
      await pause(attempt, BACKOFF, signal);
    }
  }

  async #run<T>(
    operation: string,
    signal: AbortSignal | undefined,
    work: (signal: AbortSignal | undefined) => Promise<T>,
  ): Promise<T> {
    // One of its own: one signal may stand for very many requests, and warns when too many listen to it.
    const own = signal === undefined ? undefined : AbortSignal.any([signal]);
    try {
      return await orAborted(work(own), own);
    } catch (error) {
      signal?.throwIfAborted();
      throw this.#limits.errorOf(error, operation);
    }
  }
}
