import type { Readable } from 'node:stream';
import { Once, orAborted } from '../../../basics/concurrency/abort.ts';
import type { Slots } from '../../../basics/concurrency/queues.ts';
import * as errors from '../../../errors/errors.ts';
import { errorOfStatus, pause, retryAfter } from '../../remote/core/http.ts';
import { createConnectionSlots } from '../../remote/core/connections.ts';
import type { Download, ObjectFacts } from './objects.ts';

const MAY_WAIT = 2000;
const CONNECTIONS = 48;
const BACKOFF = { firstMs: 100, longestMs: 20_000 };
/**
 * Wait after 429 and 503, with which services limit requests by the second. Google Cloud Storage and R2 also
 * say 429 until they store an object again, a second later.
 */
const RATE_MS = 1000;
const RATED: ReadonlySet<number | undefined> = new Set([429, 503]);
const PASSING: ReadonlySet<number> = new Set([408, 429, 500, 502, 503, 504]);
const LOST: ReadonlySet<string> = new Set([
  'ECONNRESET',
  'ECONNREFUSED',
  'ECONNABORTED',
  'EPIPE',
  'ETIMEDOUT',
  'EAI_AGAIN',
  'ENOTFOUND',
  'EHOSTUNREACH',
  'ENETUNREACH',
]);

/** Facts about a failed request, from a library or a response. */
interface Failure {
  readonly message: string;
  readonly status: number | undefined;
  /** Code of the service, or of the system when there was no response. */
  readonly code: string | undefined;
  /** Id of the request in the service's own log. */
  readonly requestId?: string | undefined;
  /** Additional text for the log. */
  readonly note?: string | undefined;
  /** Value of `Retry-After`. */
  readonly retryAfter?: string | undefined;
}

/** A failed request, for the log: contains no signed data, no key and no token. */
class FailedRequest extends Error {
  readonly status: number | undefined;
  readonly code: string | undefined;
  readonly requestId: string | undefined;
  readonly note: string | undefined;
  /** Wait in milliseconds that the service asks for. */
  readonly retryAfterMs: number | undefined;
  attempts = 1;

  constructor({ message, status, code, requestId, note, retryAfter: header }: Failure) {
    super(message);
    this.name = code ?? 'FailedRequest';
    this.status = status;
    this.code = code;
    this.requestId = requestId;
    this.note = note;
    this.retryAfterMs = retryAfter(header);
  }
}

export const failedRequest = (error: unknown): FailedRequest | undefined =>
  error instanceof errors.StowageError && error.cause instanceof FailedRequest ? error.cause : undefined;

export const attemptsOf = (error: unknown): number => failedRequest(error)?.attempts ?? 1;

/** Whether a retry may succeed: there was no response, or the status or code is a temporary one. */
export const isPassing = (error: unknown): boolean => {
  const failed = failedRequest(error);
  if (failed === undefined) return false;
  // Some services report that they are busy by a code alone.
  if (error instanceof errors.BusyError || error instanceof errors.StorageTimeoutError) return true;
  return failed.status === undefined ? LOST.has(failed.code ?? '') : PASSING.has(failed.status);
};

/** Behaviour of one service, or of its library. */
export interface Service<Client> {
  /** Creates the client, which sends each request once: `Requests` does the retries. */
  readonly connect: () => Promise<Client>;
  readonly disconnect: () => void;
  /** Longest wait for a free connection, in milliseconds. */
  readonly waitMs: number;
  readonly maxAttempts: number;
  /** Maximum connections of each of the two kinds. Default: 48. */
  readonly connections?: number;
  /** Whether a failed request is retried. Default: after temporary errors. */
  readonly mayRepeat?: (error: unknown) => boolean | Promise<boolean>;
  /** Facts of a library's error that may be logged. */
  readonly failureOf: (error: unknown) => Failure;
  /** Codes that are more specific than the status, and statuses of responses without such a code. */
  readonly meanings: errors.ErrorsByCode<string>;
}

/** Passes the signal to a library. */
export interface Http {
  readonly abortSignal?: AbortSignal;
}

/** Sends a request. `attempt` counts from 1. */
type Work<Client, T> = (client: Client, http: Http, attempt: number) => Promise<T>;

interface OpenedObject {
  readonly facts: ObjectFacts;
  readonly length: number | undefined;
  readonly body: Readable;
}

/**
 * The requests of one store: one pool of connections for downloads and one of the same size for the rest;
 * each request is retried after temporary errors, so it must be safe to send twice. The client is created
 * with the first request. All methods throw the signal's reason or a StowageError. `operation`: name and key,
 * for the log.
 */
export class Requests<Client> {
  // Separate connections for reads: otherwise an upload could wait for a connection held by the download that
  // feeds it, and both would wait forever.
  readonly #reads: Slots;
  readonly #others: Slots;
  readonly #service: Service<Client>;
  readonly #client = new Once<Client>();
  #isClosed = false;

  constructor(service: Service<Client>) {
    const { connections = CONNECTIONS, waitMs } = service;
    const slots = { connections, mayWait: MAY_WAIT, waitMs };
    this.#reads = createConnectionSlots(slots);
    this.#others = createConnectionSlots(slots);
    this.#service = service;
  }

  async send<T>(operation: string, signal: AbortSignal | undefined, work: Work<Client, T>): Promise<T> {
    const once = async (attempt: number): Promise<T> => {
      const free = await this.#others.take(signal);
      return this.run(operation, signal, (client, http) => work(client, http, attempt), free);
    };
    return this.#repeat(signal, once);
  }

  /** As `send`, for a response with an object: its connection counts as used until the body is closed. */
  async download(
    operation: string,
    signal: AbortSignal | undefined,
    work: Work<Client, OpenedObject>,
  ): Promise<Download> {
    const once = async (attempt: number): Promise<Download> => {
      const release = await this.#reads.take(signal);
      try {
        const opened = await this.run(operation, signal, (client, http) => work(client, http, attempt));
        opened.body.once('close', release);
        return { ...opened, failure: (error) => this.#errorOf(error, operation) };
      } catch (error) {
        release();
        throw error;
      }
    };
    return this.#repeat(signal, once);
  }

  /** Later requests fail. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#client.begun?.catch(() => undefined);
    this.#service.disconnect();
  }

  async #repeat<T>(signal: AbortSignal | undefined, once: (attempt: number) => Promise<T>): Promise<T> {
    const { maxAttempts, mayRepeat = isPassing } = this.#service;
    for (let attempt = 1; ; attempt += 1) {
      let leastMs: number | undefined;
      try {
        return await once(attempt);
      } catch (error) {
        const failed = failedRequest(error);
        leastMs = failed?.retryAfterMs ?? (RATED.has(failed?.status) ? RATE_MS : undefined);
        if (failed !== undefined) failed.attempts = attempt;
        if (!(await mayRepeat(error)) || attempt >= maxAttempts) throw error;
      }
      await pause(attempt, { ...BACKOFF, leastMs }, signal);
    }
  }

  /**
   * Runs work once, without waiting for a connection: by itself for work that sends no request.
   * @param ended called when the work has ended, also after the signal has aborted
   */
  async run<T>(
    operation: string,
    signal: AbortSignal | undefined,
    work: (client: Client, http: Http) => Promise<T>,
    ended: () => void = () => undefined,
  ): Promise<T> {
    // A signal for each request: a shared one may have very many listeners, which causes warnings.
    const abortSignal = signal === undefined ? undefined : AbortSignal.any([signal]);
    const running = async (): Promise<T> => {
      if (this.#isClosed) throw new errors.StorageUnavailableError({ detail: 'the store was closed' });
      const client = await this.#client.get(this.#service.connect);
      return work(client, abortSignal === undefined ? {} : { abortSignal });
    };
    try {
      return await orAborted(running().finally(ended), abortSignal);
    } catch (error) {
      signal?.throwIfAborted();
      throw this.#errorOf(error, operation);
    }
  }

  /** Converts an error by its code if that is known, else by its status. StowageErrors stay as they are. */
  #errorOf(error: unknown, operation: string): errors.StowageError {
    if (error instanceof errors.StowageError) return error;
    const cause = new FailedRequest(this.#service.failureOf(error));
    const { code, status, note } = cause;
    const reasons = [code, status, note].filter((fact) => fact !== undefined).join(', ');
    const facts = { detail: `${operation} failed (${reasons})`, cause };
    const { meanings } = this.#service;
    const kind = meanings.get(code) ?? meanings.get(String(status));
    return kind === undefined ? errorOfStatus(status, facts) : new kind(facts);
  }
}
