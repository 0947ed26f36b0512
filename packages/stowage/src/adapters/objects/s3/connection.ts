import type { S3 } from '@aws-sdk/client-s3';
import { orAborted } from '../../../basics/concurrency/or-aborted.ts';
import { StorageUnavailableError } from '../../../errors/errors.ts';
import { Requests } from '../core/requests.ts';
import type { Agents, KnownServices } from './known-services.ts';
import { attemptsOf, fromS3Error, isConflict } from './errors.ts';
import type { S3Options } from './options.ts';
import { createClient } from './sdk.ts';

/** Sends one request. `http` carries the signal. */
type Work<T> = (s3: S3, http: { readonly abortSignal?: AbortSignal }) => Promise<T>;

/** The client of one store, made at its first use; its connections are bounded, and its errors are ours. */
export class Connection {
  readonly #connect: () => Promise<S3>;
  readonly #requests: Requests;
  readonly #agents: Agents;
  #client: Promise<S3> | undefined;
  #closed = false;

  constructor(options: S3Options, services: KnownServices) {
    const { connections, maxAttempts, readTimeout, connectTimeout } = options;
    this.#requests = new Requests({
      connections,
      // Longer than a download keeps its connection while its reader pauses.
      waitMs: (readTimeout + connectTimeout) * 1000,
      maxAttempts,
      // The SDK repeats what is lost by itself, but not these.
      mayRepeat: isConflict,
      errorOf: fromS3Error,
    });
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
    mayRepeat?: (error: unknown) => boolean,
  ): Promise<T> {
    let sent = 0;
    const once = async (abortSignal: AbortSignal | undefined): Promise<T> => {
      try {
        return await this.#work(abortSignal, work);
      } catch (error) {
        const failure = fromS3Error(error, operation, sent);
        sent = attemptsOf(failure);
        throw failure;
      }
    };
    return this.#requests.send(operation, signal, once, mayRepeat);
  }

  /** As `send`, for an answer with a body: its connection counts as used until `release` is called. */
  sendRead<T>(
    operation: string,
    signal: AbortSignal | undefined,
    work: Work<T>,
  ): Promise<{ readonly output: T; readonly release: () => void }> {
    return this.#requests.sendRead(operation, signal, (abortSignal) => this.#work(abortSignal, work));
  }

  /** Has the client do what needs no request. */
  async locally<T>(
    operation: string,
    signal: AbortSignal | undefined,
    work: (s3: S3) => Promise<T>,
  ): Promise<T> {
    try {
      return await orAborted(this.#ready().then(work), signal);
    } catch (error) {
      signal?.throwIfAborted();
      throw fromS3Error(error, operation);
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#client?.catch(() => undefined);
    // Not by the client, which would close the connections of others too.
    this.#agents.release();
  }

  async #work<T>(abortSignal: AbortSignal | undefined, work: Work<T>): Promise<T> {
    return work(await this.#ready(), abortSignal === undefined ? {} : { abortSignal });
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
