import { orAborted } from '../concurrency/or-aborted.ts';
import type { Slots } from '../concurrency/slots.ts';
import { StorageUnavailableError, StowageError } from '../errors/errors.ts';
import { pause } from '../remote-store/backoff.ts';
import { createConnectionSlots } from '../remote-store/connection-slots.ts';

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

  constructor(message: string, status: number | undefined, code: string | undefined) {
    super(message);
    this.name = code ?? 'FailedRequest';
    this.status = status;
    this.code = code;
  }
}

/** The failed request that an error of ours tells of. */
export const failedRequest = (error: unknown): FailedRequest | undefined =>
  error instanceof StowageError && error.cause instanceof FailedRequest ? error.cause : undefined;

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
  /** The error of ours for one of the library. `operation`: what was tried, for the log. */
  readonly errorOf: (error: unknown, operation: string) => StowageError;
}

/** Sends a request. `attempt` counts from 1. */
type Work<T> = (signal: AbortSignal | undefined, attempt: number) => Promise<T>;

/**
 * The requests of one store: 48 connections for downloads and as many for the rest, each request sent again
 * after what passes. Only requests that may be sent twice are to go this way.
 */
export class Requests {
  // Reads have connections of their own: a download that waits for its reader must not keep an upload from
  // starting, or both would wait for each other when one feeds the other.
  readonly #reads: Slots;
  readonly #others: Slots;
  readonly #limits: RequestLimits;
  #isClosed = false;

  constructor(limits: RequestLimits) {
    const slots = { connections: CONNECTIONS, mayWait: MAY_WAIT, waitMs: limits.waitMs };
    this.#reads = createConnectionSlots(slots);
    this.#others = createConnectionSlots(slots);
    this.#limits = limits;
  }

  /** @throws the signal's reason, or one of our errors */
  async send<T>(operation: string, signal: AbortSignal | undefined, work: Work<T>): Promise<T> {
    return this.#repeat(operation, signal, async (attempt) => {
      const free = await this.#others.take(signal);
      return this.#run(operation, signal, (own) => work(own, attempt).finally(free));
    });
  }

  /** As `send`, for an answer with a body: its connection counts as used until `release` is called. */
  async sendRead<T>(
    operation: string,
    signal: AbortSignal | undefined,
    work: Work<T>,
  ): Promise<{ readonly output: T; readonly release: () => void }> {
    return this.#repeat(operation, signal, async (attempt) => {
      const release = await this.#reads.take(signal);
      try {
        return { output: await this.#run(operation, signal, (own) => work(own, attempt)), release };
      } catch (error) {
        release();
        throw error;
      }
    });
  }

  /** What is sent from now on fails. */
  close(): void {
    this.#isClosed = true;
  }

  async #repeat<T>(
    operation: string,
    signal: AbortSignal | undefined,
    once: (attempt: number) => Promise<T>,
  ): Promise<T> {
    for (let attempt = 1; ; attempt += 1) {
      if (this.#isClosed) throw new StorageUnavailableError({ detail: 'the store was closed' });
      try {
        return await once(attempt);
      } catch (error) {
        if (attempt >= this.#limits.maxAttempts || !isPassing(error)) throw error;
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
