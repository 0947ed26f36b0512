import type { S3Client } from '@aws-sdk/client-s3';
import { StorageUnavailableError } from '../../errors/errors.ts';
import { fromS3Error } from './errors.ts';
import type { S3Options } from './options.ts';
import { createClient, loadSdk, type Sdk } from './sdk.ts';
import { orAborted } from '../../storage/or-aborted.ts';
import { createSlots, type Slots } from '../../storage/slots.ts';

// Reads and other requests have places of their own: a download that waits for its reader must not keep an upload from starting, or both
// would wait for each other when one feeds the other.
const PLACES = 48;
const MAY_WAIT = 2000;

/** What a request is sent with. */
export interface Sending {
  readonly sdk: Sdk;
  readonly client: S3Client;
  readonly http: { readonly abortSignal?: AbortSignal };
}

interface Open {
  readonly sdk: Sdk;
  readonly client: S3Client;
}

/** The way to the service: the client, made at the first use, its bounded connections, and errors of ours for those of the SDK. */
export class Connection {
  readonly #options: S3Options;
  readonly #requests: Slots = createSlots(PLACES, MAY_WAIT);
  readonly #reads: Slots = createSlots(PLACES, MAY_WAIT);
  #open: Promise<Open> | undefined;
  #closed = false;

  constructor(options: S3Options) {
    this.#options = options;
  }

  /**
   * Sends a request.
   * @param operation what is tried and under which key, for the log
   * @throws the signal's reason, or one of our errors
   */
  async send<T>(
    operation: string,
    signal: AbortSignal | undefined,
    work: (sending: Sending) => Promise<T>,
  ): Promise<T> {
    return this.#run(operation, signal, work, await this.#requests.take(signal));
  }

  /** As `send`, for an answer with a body: its connection counts as taken until `release` is called. */
  async sendRead<T>(
    operation: string,
    signal: AbortSignal | undefined,
    work: (sending: Sending) => Promise<T>,
  ): Promise<{ readonly output: T; readonly release: () => void }> {
    const release = await this.#reads.take(signal);
    try {
      return { output: await this.#run(operation, signal, work), release };
    } catch (error) {
      release();
      throw error;
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    const open = await this.#open?.catch(() => undefined);
    open?.client.destroy();
  }

  async #run<T>(
    operation: string,
    signal: AbortSignal | undefined,
    work: (sending: Sending) => Promise<T>,
    done?: () => void,
  ): Promise<T> {
    const http = signal === undefined ? {} : { abortSignal: signal };
    const sent = this.#ready()
      .then((open) => work({ ...open, http }))
      .finally(done);
    try {
      // Pauses between attempts know no signal.
      return await orAborted(sent, signal);
    } catch (error) {
      signal?.throwIfAborted();
      throw fromS3Error(error, operation);
    }
  }

  async #ready(): Promise<Open> {
    if (this.#closed) throw new StorageUnavailableError({ detail: 'the store was closed' });
    const opening = (this.#open ??= this.#connect());
    opening.catch(() => {
      if (this.#open === opening) this.#open = undefined;
    });
    return opening;
  }

  async #connect(): Promise<Open> {
    const sdk = await loadSdk();
    return { sdk, client: await createClient(sdk, this.#options, PLACES * 2) };
  }
}
