import { Requests } from '../core/requests.ts';
import { createAgents, type Agents } from '../../remote/core/http.ts';
import { fromAzureError } from './errors.ts';
import type { AzureOptions } from './options.ts';
import { createClient, type AzureClient } from './sdk.ts';

/** Sends one request. `http` carries the signal. */
type Work<T> = (
  client: AzureClient,
  http: { readonly abortSignal?: AbortSignal },
  attempt: number,
) => Promise<T>;

const httpOf = (abortSignal: AbortSignal | undefined) => (abortSignal === undefined ? {} : { abortSignal });

/** The client of one store, made at its first use; its connections are bounded, and its errors are ours. */
export class Connection {
  readonly #requests: Requests;
  readonly #agents: Agents;
  readonly #connect: () => Promise<AzureClient>;
  #client: Promise<AzureClient> | undefined;

  constructor(options: AzureOptions) {
    const { connectTimeout, readTimeout, maxAttempts, ca } = options;
    const silence = { connectMs: connectTimeout * 1000, readMs: readTimeout * 1000 };
    this.#agents = createAgents(silence, ca);
    // Longer than a download keeps its connection while its reader pauses.
    const waitMs = silence.connectMs + silence.readMs;
    this.#requests = new Requests({ waitMs, maxAttempts, errorOf: fromAzureError });
    this.#connect = () => createClient(options, this.#agents);
  }

  /** @see Requests.send */
  send<T>(operation: string, signal: AbortSignal | undefined, work: Work<T>): Promise<T> {
    return this.#requests.send(operation, signal, async (abort, attempt) =>
      work(await this.#ready(), httpOf(abort), attempt),
    );
  }

  /** @see Requests.sendRead */
  sendRead<T>(
    operation: string,
    signal: AbortSignal | undefined,
    work: Work<T>,
  ): Promise<{ readonly output: T; readonly release: () => void }> {
    return this.#requests.sendRead(operation, signal, async (abort, attempt) =>
      work(await this.#ready(), httpOf(abort), attempt),
    );
  }

  async close(): Promise<void> {
    this.#requests.close();
    await this.#client?.catch(() => undefined);
    this.#agents.destroy();
  }

  async #ready(): Promise<AzureClient> {
    const opening = (this.#client ??= this.#connect());
    opening.catch(() => {
      if (this.#client === opening) this.#client = undefined;
    });
    return opening;
  }
}
