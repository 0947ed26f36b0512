import type { S3 } from '@aws-sdk/client-s3';
import { orAborted } from '../../concurrency/or-aborted.ts';
import type { Slots } from '../../concurrency/slots.ts';
import { StorageUnavailableError } from '../../errors/errors.ts';
import { pause } from '../../remote-store/backoff.ts';
import { createConnectionSlots } from '../../remote-store/connection-slots.ts';
import type { Agents, KnownServices } from './known-services.ts';
import { attemptsOf, fromS3Error, isConflict } from './errors.ts';
import type { S3Options } from './options.ts';
import { createClient } from './sdk.ts';

const MAY_WAIT = 2000;
const BACKOFF = { firstMs: 100, longestMs: 20_000 };

/** Sends one request. `http` carries the signal. */
type Work<T> = (s3: S3, http: { readonly abortSignal?: AbortSignal }) => Promise<T>;

/** The client of one store, made at its first use; its connections are bounded, and its errors are ours. */
export class Connection {
  readonly #connect: () => Promise<S3>;
  readonly #attempts: number;
  // Reads have connections of their own: a download that waits for its reader must not keep an upload from
  // starting, or both would wait for each other when one feeds the other.
  readonly #reads: Slots;
  readonly #requests: Slots;
  readonly #agents: Agents;
  #client: Promise<S3> | undefined;
  #closed = false;

  constructor(options: S3Options, services: KnownServices) {
    const { connections, readTimeout, connectTimeout } = options;
    // Longer than a download keeps its connection while its reader pauses.
    const limits = { connections, mayWait: MAY_WAIT, waitMs: (readTimeout + connectTimeout) * 1000 };
    this.#reads = createConnectionSlots(limits);
    this.#requests = createConnectionSlots(limits);
    this.#attempts = options.maxAttempts;
    this.#agents = services.takeAgents(options.ca);
    this.#connect = () => createClient(options, services, this.#agents);
  }

  /**
   * Sends a request, again where `mayRepeat` says so about its failure, as often as attempts are allowed. The
   * SDK repeats by itself what is lost, except for bodies that are streams.
   * @param operation what is tried and at which key, for the log
   * @throws the signal's reason, or one of our errors
   */
  async send<T>(
    operation: string,
    signal: AbortSignal | undefined,
    work: Work<T>,
    mayRepeat: (error: unknown) => boolean = isConflict,
  ): Promise<T> {
    let sent = 0;
    for (let attempt = 1; ; attempt += 1) {
      const free = await this.#requests.take(signal);
      try {
        return await this.#run(operation, signal, work, { attemptsBefore: sent, done: free });
      } catch (error) {
        if (attempt >= this.#attempts || !mayRepeat(error)) throw error;
        sent = attemptsOf(error);
      }
      await pause(attempt, BACKOFF, signal);
    }
  }

  /** As `send`, for an answer with a body: its connection counts as used until `release` is called. */
  async sendRead<T>(
    operation: string,
    signal: AbortSignal | undefined,
    work: Work<T>,
  ): Promise<{ readonly output: T; readonly release: () => void }> {
    const release = await this.#reads.take(signal);
    try {
      return { output: await this.#run(operation, signal, work), release };
    } catch (error) {
      release();
      throw error;
    }
  }

  /** Has the client do what needs no request. */
  async locally<T>(
    operation: string,
    signal: AbortSignal | undefined,
    work: (s3: S3) => Promise<T>,
  ): Promise<T> {
    return this.#run(operation, signal, work);
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#client?.catch(() => undefined);
    // Not by the client, which would close the connections of others too.
    this.#agents.release();
  }

  async #run<T>(
    operation: string,
    signal: AbortSignal | undefined,
    work: Work<T>,
    { attemptsBefore = 0, done }: { readonly attemptsBefore?: number; readonly done?: () => void } = {},
  ): Promise<T> {
    // One of its own: one signal may stand for very many requests, and warns when too many listen to it.
    const own = signal === undefined ? undefined : AbortSignal.any([signal]);
    // A request that the signal has ended may go on for a moment, and keeps its connection for so long.
    const sent = this.#ready()
      .then((s3) => work(s3, own === undefined ? {} : { abortSignal: own }))
      .finally(done);
    try {
      // The SDK's pauses between attempts know no signal.
      return await orAborted(sent, own);
    } catch (error) {
      signal?.throwIfAborted();
      throw fromS3Error(error, operation, attemptsBefore);
    }
  }

  async #ready(): Promise<S3> {
    if (this.#closed) throw new StorageUnavailableError({ detail: 'the store was closed' });
    const opening = (this.#client ??= this.#connect());
    opening.catch(() => {
      if (this.#client === opening) this.#client = undefined;
    });
    return opening;
  }
}
