import type { Readable } from 'node:stream';
import { Once, orAborted } from '../../../basics/concurrency/abort.ts';
import type { Slots } from '../../../basics/concurrency/queues.ts';
import {
  BusyError,
  type ErrorsByCode,
  StorageTimeoutError,
  StorageUnavailableError,
  StowageError,
} from '../../../errors/errors.ts';
import { errorOfStatus, pause, retryAfter } from '../../remote/core/http.ts';
import { createConnectionSlots } from '../../remote/core/connections.ts';
import type { Download, ObjectFacts } from './objects.ts';

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
  'ENOTFOUND',
  'EHOSTUNREACH',
  'ENETUNREACH',
]);

/** What a library or an answer says of a failed request. */
interface Failure {
  readonly message: string;
  readonly status: number | undefined;
  /** Of the service, or of the system where there was no answer. */
  readonly code: string | undefined;
  /** By which the service finds the request in its own log. */
  readonly requestId?: string | undefined;
  /** More for the log. */
  readonly note?: string | undefined;
  /** `Retry-After`, as the answer has it. */
  readonly retryAfter?: string | undefined;
}

/** What the log may read of a failed request: nothing that was signed, no key and no token. */
export class FailedRequest extends Error {
  readonly status: number | undefined;
  readonly code: string | undefined;
  readonly requestId: string | undefined;
  readonly note: string | undefined;
  /** Milliseconds that the service asks to wait. */
  readonly retryAfterMs: number | undefined;
  /** How often the request had been sent by then. */
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

/** The failed request that an error of ours tells of. */
export const failedRequest = (error: unknown): FailedRequest | undefined =>
  error instanceof StowageError && error.cause instanceof FailedRequest ? error.cause : undefined;

/** How often the request that failed so was sent. */
export const attemptsOf = (error: unknown): number => failedRequest(error)?.attempts ?? 1;

/** Whether the same request may succeed in a moment: there was no answer, or the service asks for it. */
export const isPassing = (error: unknown): boolean => {
  const failed = failedRequest(error);
  if (failed === undefined) return false;
  // Some services say by a code alone that they are busy.
  if (error instanceof BusyError || error instanceof StorageTimeoutError) return true;
  return failed.status === undefined ? LOST.has(failed.code ?? '') : PASSING.has(failed.status);
};

/** What one service, or its library, is like. */
export interface Service<Client> {
  /** Makes what sends the requests, each of them once: attempts are those of `Requests`. */
  readonly connect: () => Promise<Client>;
  /** Ends all connections. */
  readonly disconnect: () => void;
  /** How long a request may wait while no connection becomes free, in milliseconds. */
  readonly waitMs: number;
  readonly maxAttempts: number;
  /** Most connections of each of the two kinds. Default: 48. */
  readonly connections?: number;
  /** Whether a failed request is sent again. Default: after what passes in a moment. */
  readonly mayRepeat?: (error: unknown) => boolean | Promise<boolean>;
  /** What may be told of an error of the library. */
  readonly failureOf: (error: unknown) => Failure;
  /** Codes that mean more than the status beside them. */
  readonly meanings: ErrorsByCode<string>;
}

/** What carries the signal to a library. */
export interface Http {
  readonly abortSignal?: AbortSignal;
}

/** Sends a request. `attempt` counts from 1. */
type Work<Client, T> = (client: Client, http: Http, attempt: number) => Promise<T>;

/** What an answer with an object has. */
interface OpenedObject {
  readonly facts: ObjectFacts;
  readonly length: number | undefined;
  readonly body: Readable;
}

/**
 * The requests of one store: connections for downloads and as many for the rest, each request sent again
 * after what passes. Only requests that may be sent twice are to go this way. The client is made at the first.
 * All methods throw the signal's reason, or one of our errors. `operation`: what is tried and at which key, for
 * the log.
 */
export class Requests<Client> {
  // Reads have connections of their own: a download that waits for its reader must not keep an upload from
  // starting, or both would wait for each other when one feeds the other.
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
      return this.#run(operation, signal, (client, http) => work(client, http, attempt), free);
    };
    return this.#repeat(signal, once);
  }

  /** As `send`, for an answer with an object: its connection counts as used until the body is closed. */
  async download(
    operation: string,
    signal: AbortSignal | undefined,
    work: Work<Client, OpenedObject>,
  ): Promise<Download> {
    const once = async (attempt: number): Promise<Download> => {
      const release = await this.#reads.take(signal);
      try {
        const opened = await this.#run(operation, signal, (client, http) => work(client, http, attempt));
        opened.body.once('close', release);
        return { ...opened, failure: (error) => this.#errorOf(error, operation) };
      } catch (error) {
        release();
        throw error;
      }
    };
    return this.#repeat(signal, once);
  }

  /** Has the client do what needs no request. */
  locally<T>(
    operation: string,
    signal: AbortSignal | undefined,
    work: (client: Client) => Promise<T>,
  ): Promise<T> {
    return this.#run(operation, signal, work);
  }

  /** What is sent from now on fails. */
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
        leastMs = failed?.retryAfterMs;
        if (failed !== undefined) failed.attempts = attempt;
        if (!(await mayRepeat(error)) || attempt >= maxAttempts) throw error;
      }
      await pause(attempt, { ...BACKOFF, leastMs }, signal);
    }
  }

  /** @param ended called when the work has ended, also after the signal has aborted */
  async #run<T>(
    operation: string,
    signal: AbortSignal | undefined,
    work: (client: Client, http: Http) => Promise<T>,
    ended: () => void = () => undefined,
  ): Promise<T> {
    // One of its own: one signal may stand for very many requests, and warns when too many listen to it.
    const abortSignal = signal === undefined ? undefined : AbortSignal.any([signal]);
    const running = async (): Promise<T> => {
      if (this.#isClosed) throw new StorageUnavailableError({ detail: 'the store was closed' });
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

  /** By the code of the failure where that is known, else by its status. Ours pass as they are. */
  #errorOf(error: unknown, operation: string): StowageError {
    if (error instanceof StowageError) return error;
    const cause = new FailedRequest(this.#service.failureOf(error));
    const { code, status, note } = cause;
    const reasons = [code, status, note].filter((fact) => fact !== undefined).join(', ');
    const facts = { detail: `${operation} failed (${reasons})`, cause };
    const kind = this.#service.meanings.get(code);
    return kind === undefined ? errorOfStatus(status, facts) : new kind(facts);
  }
}
