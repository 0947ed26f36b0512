import { ListedNames, respell, Spellings } from '../../support/spellings.ts';
import { CorruptError, ifMissing, NotFoundError, StowageError } from '../../../errors/errors.ts';
import { pause, timeOf } from '../core/http.ts';
import type { OperationOptions, Stat } from '../../../storage/adapter.ts';
import { SourcePath } from '../../../storage/source-path.ts';
import { urlOf } from './address.ts';
import { dropBody, type DavResponse, type DavClient, type DavRequest } from './client.ts';
import { SilenceError } from '../core/connections.ts';
import type { Names } from '../paths/session.ts';
import { LostConnectionError } from './connection.ts';
import { statOf } from './multistatus.ts';
import { BACKOFF, isSuccess, Propfind, PROPFIND_ATTEMPTS, type Member } from './list.ts';

/** Attempts for a request that the server rejects temporarily: within about a second. */
const ATTEMPTS = 8;
/**
 * Temporary statuses: 423, because some servers lock during each request; 425 and 503, because others send
 * them while they are still processing a stored file.
 */
export const PASSING: ReadonlySet<number> = new Set([423, 425, 503]);
/** Time limit for copying, and for moving or removing a folder, as a multiple of `timeout`. */
const LONG_PATIENCE = 10;

/** Statuses for a `Destination` that a server does not take for one of its own URLs, among other causes. */
const DESTINATION_REFUSED: ReadonlySet<number> = new Set([400, 502]);
/** Statuses, besides success, by which a server shows that it accepts the form of a `Destination`. */
const DESTINATION_ACCEPTED: ReadonlySet<number> = new Set([409, 412, 423, 507]);
/**
 * Forms of `Destination`: the URL itself, and what servers accept behind a proxy that ends TLS or changes the
 * host: its path, or the URL without TLS (Apache).
 */
const destinationsOf = ({ href, pathname }: URL): readonly string[] => [
  ...new Set([href, pathname, href.replace(/^https:/u, 'http:')]),
];

/** State after a change with a lost response. Unknown: the change may still be running. */
export type Outcome = 'done' | 'untouched' | 'unknown';

export interface Change extends Partial<Omit<DavRequest, 'path' | 'method'>> {
  /** Statuses that may be temporary. Default: `PASSING`. */
  readonly isPassing?: (status: number) => boolean;
  /** Called before each repetition; false: the rejection is final. */
  readonly again?: () => Promise<boolean>;
  /** Determines the state after a lost response. Default: a lost response is an error. */
  readonly outcome?: () => Promise<Outcome>;
}

export type ListedMember = Member & { readonly stat: Stat };

/** The resources of one store: their URLs and properties. */
export class Resources {
  readonly client: DavClient;
  readonly spellings = new Spellings();
  readonly #root: URL;
  readonly #propfind: Propfind;
  /** The form of `Destination` that the server accepts. */
  #form = 0;

  /** `root` is the URL of the collection, `prefix` the path of the store below it. */
  constructor(client: DavClient, root: URL, prefix: SourcePath) {
    this.client = client;
    this.#root = urlOf(root, prefix.segments, 'folder');
    if (!this.#root.pathname.endsWith('/')) this.#root.pathname += '/';
    this.#propfind = new Propfind(client, (path, kind) => this.url(path, kind));
  }

  url(path: SourcePath, kind: 'file' | 'folder'): URL {
    return urlOf(this.#root, this.spellings.segmentsOf(path), kind);
  }

  /**
   * Sends a request whose response content is not needed; returns the status, also that of a rejection inside
   * a multistatus. Repeats it after a temporary rejection, unless its body cannot be sent twice.
   */
  async act(method: string, path: SourcePath, kind: 'file' | 'folder', change: Change): Promise<number> {
    const { isPassing = (status) => PASSING.has(status), again, outcome, ...more } = change;
    const isLong = method === 'COPY' || (kind === 'folder' && method !== 'MKCOL');
    const patience = isLong ? LONG_PATIENCE : 1;
    const asked: DavRequest = { method, path, url: this.url(path, kind), patience, ...more };
    const mayRepeat = typeof asked.body !== 'object' || asked.body.repeatable;
    let status = await this.#sendChange(asked, outcome);
    for (let attempt = 1; mayRepeat && attempt < ATTEMPTS && isPassing(status); attempt += 1) {
      await pause(attempt, BACKOFF, asked.signal);
      // A server may fail after the change is done, and a gateway may time out before it is done.
      const seen = status >= 500 ? await outcome?.().catch((): Outcome => 'unknown') : undefined;
      if (seen === 'done') return 204;
      if (seen === 'unknown' || (again !== undefined && !(await again()))) return status;
      status = await this.#sendChange(asked, outcome);
    }
    return status;
  }

  async transfer(
    method: 'COPY' | 'MOVE',
    { from, to }: Names,
    kind: 'file' | 'folder',
    { overwrite, ...change }: Change & { readonly overwrite: 'F' | 'T' },
  ): Promise<number> {
    const depth = kind === 'folder' ? { depth: 'infinity' } : {};
    const destinations = destinationsOf(this.url(to, kind));
    const send = (destination = ''): Promise<number> =>
      this.act(method, from, kind, { ...change, headers: { destination, overwrite, ...depth } });
    const status = await send(destinations[this.#form]);
    if (!DESTINATION_REFUSED.has(status)) return status;
    // A gateway may also fail after the change is done, or before.
    const seen = status === 502 ? await change.outcome?.().catch((): Outcome => 'unknown') : undefined;
    if (seen === 'done') return 204;
    if (seen === 'unknown') return status;
    for (const [form, destination] of destinations.entries()) {
      const other = form === this.#form ? status : await send(destination);
      if (isSuccess(other)) this.#form = form;
      if (isSuccess(other) || DESTINATION_ACCEPTED.has(other)) return other;
    }
    return status;
  }

  /** The stat of a path. @throws NotFoundError */
  async stat(path: SourcePath, { signal }: OperationOptions): Promise<Stat> {
    const { found } = await this.#propfind.self(path, 'file', signal);
    if (found === undefined) throw new NotFoundError({ detail: 'an empty multistatus' });
    return statOf(path.name, found);
  }

  /** @throws NotFoundError when the root is missing */
  async requireRoot({ signal }: OperationOptions): Promise<void> {
    await this.#propfind.self(SourcePath.root, 'folder', signal);
  }

  /** Whether an entry exists at a path, also below temporary names. */
  async exists(path: SourcePath, options: OperationOptions): Promise<boolean> {
    return (await this.age(path, options)) !== undefined;
  }

  /** Time since the last change, by the server's clock, if reported. Undefined when there is no entry. */
  async age(
    path: SourcePath,
    { signal }: OperationOptions,
  ): Promise<{ readonly ms: number | undefined } | undefined> {
    const self = await this.#propfind.self(path, 'file', signal).catch(ifMissing);
    if (self === undefined) return undefined;
    const [now, then] = [timeOf(self.date), timeOf(self.found?.lastModified)];
    return { ms: now === undefined || then === undefined ? undefined : now - then };
  }

  /** Whether the server has a path that was not found in another spelling, which is then remembered. */
  async respell(path: SourcePath, options: OperationOptions): Promise<boolean> {
    return respell(this.spellings, path, (one) => this.exists(one, options));
  }

  /**
   * The entries of a folder and the folder itself, each name once, as the server sends them. Reports the
   * number of omitted entries at the end. @throws NotFoundError, CorruptError
   */
  async *children(
    path: SourcePath,
    { signal, onOmitted }: OperationOptions & { readonly onOmitted?: ((count: number) => void) | undefined },
  ): AsyncGenerator<readonly ListedMember[], void, undefined> {
    const listed = new ListedNames<ListedMember>(path, this.spellings);
    let omitted = 0;
    for await (const batch of this.members(path, { signal })) {
      yield batch.filter((member): member is ListedMember => {
        const { isSelf, stat, written } = member;
        if (isSelf) return true;
        const isShown = stat !== undefined && listed.pass(stat.name, written, { ...member, stat });
        if (!isShown) omitted += 1;
        return isShown;
      });
    }
    const rest = listed.rest();
    if (omitted > rest.length) onOmitted?.(omitted - rest.length);
    yield rest;
  }

  /**
   * All entries that the server reports for a folder. Some servers abort when an entry vanishes meanwhile, so
   * a response that breaks within its first thousand entries is requested again; likewise one about another
   * folder, since the reported root may have changed. @throws NotFoundError, CorruptError
   */
  async *members(
    path: SourcePath,
    { signal }: OperationOptions,
  ): AsyncGenerator<readonly Member[], void, undefined> {
    for (let attempt = 1; ; attempt += 1) {
      let hasYielded = false;
      try {
        for await (const batch of this.#propfind.members(path, signal)) {
          hasYielded = true;
          yield batch;
        }
        return;
      } catch (error) {
        const isFirst = !hasYielded && attempt === 1;
        if (error instanceof NotFoundError && isFirst && (await this.respell(path, { signal }))) continue;
        if (hasYielded || attempt === PROPFIND_ATTEMPTS || !(error instanceof CorruptError)) throw error;
      }
      await pause(attempt, BACKOFF, signal);
    }
  }

  /** Sends a request once; again when the connection was closed before the server can have received it. */
  async #sendChange(asked: DavRequest, outcome: Change['outcome']): Promise<number> {
    const send = async (): Promise<number> => {
      const status = await this.#finalStatus(asked, await this.client.send(asked));
      // A gateway may time out before the change is done.
      const seen = status === 504 ? await outcome?.().catch((): Outcome => 'unknown') : undefined;
      return seen === 'done' ? 204 : status;
    };
    try {
      return await send();
    } catch (error) {
      const cause = error instanceof StowageError ? error.cause : undefined;
      const isLost = cause instanceof LostConnectionError;
      if (outcome === undefined || !(isLost || cause instanceof SilenceError)) {
        asked.signal?.throwIfAborted();
        throw error;
      }
      const seen = await outcome().catch((): Outcome => 'unknown');
      if (seen === 'done') return 204;
      asked.signal?.throwIfAborted();
      if (seen === 'untouched' && isLost && cause.wasKept) return send();
      throw error;
    }
  }

  /** Some servers report rejections in a multistatus that looks like a success. */
  async #finalStatus(asked: DavRequest, response: DavResponse): Promise<number> {
    if (response.status !== 207) {
      await dropBody(response);
      return response.status;
    }
    let worst = 200;
    for await (const batch of this.#propfind.responses(asked, response)) {
      for (const { status = 200 } of batch) worst = Math.max(worst, status);
    }
    return worst;
  }
}
