import { randomUUID } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { finished, Readable } from 'node:stream';
import type { Access } from '../access/access.ts';
import { type ActionContext, type Editor, type Load, mayAllowAction } from '../actions/action.ts';
import type { LogFields } from '../basics/log/logger.ts';
import type { UploadedFile } from '../changes/uploaded-file.ts';
import { InternalError } from '../errors/errors.ts';
import { fromHook } from '../hooks.ts';
import type { RawParameters } from '../parameters/raw.ts';
import { type RequestAddress, seenFrom } from '../sources/source-group.ts';
import type { SourceSet } from '../sources/source.ts';
import type { SourceLease } from '../sources/tenants.ts';
import { SourcePath } from '../storage/source-path.ts';
import type { Life } from '../view/folder-view.ts';
import { SourceViews } from '../view/source-views.ts';
import { hostOf } from './cors.ts';
import type { ConnectorRequest, ConnectorResponse, Identity } from './message.ts';
import type { Edge } from './pipeline-dependencies.ts';
import { segmentsOf } from './target.ts';

/** What a log line says of a request beside its failure. Grows while the request goes through its steps. */
export interface RequestFacts {
  readonly id: string;
  role?: string;
  /** The user, as far as the host says. */
  subject?: string;
  action?: string;
  source?: string;
  /** The item or folder inside the source. */
  item?: string;
  /** How many files were uploaded; `item` is the first of them. */
  files?: number;
}

const identityFrom = (result: unknown): Identity => {
  const given = typeof result === 'object' && result !== null && 'role' in result ? result : { role: result };
  const { role, subject }: { role: unknown; subject?: unknown } = given;
  // The empty text is what a host has of users who are not logged in.
  const isRole = typeof role === 'string' && role.trim() !== '';
  if (isRole && (subject === undefined || typeof subject === 'string')) return { role, subject };
  const what = role === '' ? 'an empty text' : typeof result;
  throw new InternalError({ detail: `checkAuthentication returned ${what}, not a role` });
};

/** Where the request has come to: what was cut from its URL, and what a mount has left in it. */
const addressOf = (
  { mount = '', url, headers, isExact = false }: ConnectorRequest,
  isMounted: boolean,
  ownSegments: number,
): RequestAddress => {
  const segments = isMounted && !isExact ? segmentsOf(url).filter((segment) => segment !== '') : [];
  const left = segments.slice(0, Math.max(0, segments.length - ownSegments));
  const hosts = [
    headers['host'] ?? headers[':authority'],
    hostOf(headers['origin']),
    hostOf(headers['referer']),
  ];
  return {
    mount: mount + left.map((segment) => `/${segment}`).join(''),
    hosts: [...new Set(hosts.filter((host) => host !== undefined))],
  };
};

/** How a stream says that its reader has left. */
const drops: ReadonlySet<string> = new Set(['ERR_STREAM_PREMATURE_CLOSE', 'ABORT_ERR']);

/**
 * A request, and what it holds and has to give back, whatever happens: its sources and the files it has received.
 */
export class RequestScope {
  readonly edge: Edge;
  readonly request: ConnectorRequest;
  /** The request has come as far as the steps that concern an action. */
  ofAction = false;
  isChange = false;
  /** The request asks for a file itself: its errors are short texts. */
  isFile = false;
  isTus = false;
  /** Go with the answer, also with that of an error. */
  readonly headers: Record<string, string> = {};
  /** The editor that reads the answer, as far as the request has named one. */
  editor: Editor | undefined;
  /** The parameter `language`, as far as the request has sent it. */
  language: unknown;
  /**
   * How many uploaded files have begun to arrive, whether all of them have arrived, and a field whose file was
   * skipped because it holds no uploads.
   */
  readonly form: { files: number; isRead: boolean; otherField?: string } = { files: 0, isRead: false };
  /** Those that no action stores are discarded at the end. */
  uploads: readonly UploadedFile[] = [];
  readonly about: RequestFacts = { id: randomUUID() };
  readonly #startedAt = performance.now();
  readonly #atEnd: (() => void)[] = [];
  #lease: SourceLease | undefined;

  constructor(edge: Edge, request: ConnectorRequest) {
    this.edge = edge;
    this.request = request;
  }

  /** Milliseconds since the request came, in whole ones. */
  get milliseconds(): number {
    return Math.round(performance.now() - this.#startedAt);
  }

  /** What the log says of the request and its answer. `bytes` is unknown of what is made while it is sent. */
  logFields({ status, headers }: Pick<ConnectorResponse, 'status' | 'headers'>): LogFields {
    const { id, ...about } = this.about;
    const length = headers['content-length'];
    return {
      requestId: id,
      ...about,
      status,
      milliseconds: this.milliseconds,
      bytes: length === undefined ? undefined : Number(length),
    };
  }

  atEnd(work: () => void): void {
    this.#atEnd.push(work);
  }

  /** The sources that serve the request, as they are configured, until it ends. */
  async lease(): Promise<SourceLease> {
    const { resolveSources } = this.edge;
    this.#lease ??= await fromHook('resolveSources', () => resolveSources(this.request));
    return this.#lease;
  }

  /** Sources as the request addresses them. `ownSegments`: how many at the end of its path are no mount. */
  seen(sources: SourceSet, ownSegments: number): SourceSet {
    const { settings, isMounted = false } = this.edge;
    return seenFrom(addressOf(this.request, isMounted, ownSegments), sources, settings.publicUrl);
  }

  /** What the role of the request may do. */
  async authorize(): Promise<Access> {
    const { authenticate, accessFor } = this.edge;
    const identity = identityFrom(await fromHook('checkAuthentication', () => authenticate(this.request)));
    this.about.role = identity.role;
    if (identity.subject !== undefined) this.about.subject = identity.subject;
    return fromHook('accessControl', () => accessFor(identity, this.request));
  }

  /** Whether the answer may hold links with signatures, which are as good as a password while they last. */
  get maySign(): boolean {
    return this.#lease?.sources.all.some(({ settings }) => settings.serve === 'signed') === true;
  }

  /**
   * Discards files that no action has stored, and gives the sources back: immediately, or when a streamed
   * body has been sent or dropped. A body that fails after its answer has begun is logged; the client sees
   * that it is cut off.
   */
  async endWith(body: ConnectorResponse['body']): Promise<void> {
    const { log } = this.edge;
    if (this.uploads.length > 0) {
      const discarding = await Promise.allSettled(this.uploads.map((upload) => upload.staged.discard()));
      for (const outcome of discarding) {
        if (outcome.status === 'rejected')
          log.warn('An uploaded file could not be discarded.', { error: outcome.reason as unknown });
      }
    }
    const end = (): void => {
      this.#lease?.release();
      for (const work of this.#atEnd) work();
    };
    if (!(body instanceof Readable)) return end();
    finished(body, (error) => {
      end();
      if (error && !drops.has(error.code ?? '') && !this.request.signal.aborted)
        log.error('An answer broke off.', { error });
    });
  }
}

/** Made at its first use: signals are expensive, and many actions have no use for one. */
const lifeOf = (owner: { readonly signal: AbortSignal }): Life => ({
  get signal() {
    const { signal } = owner;
    // Copies of a folder and files of a form listen to it: more than Node's warning expects, each with a
    // bound.
    setMaxListeners(0, signal);
    return signal;
  },
});

/** A request whose sources and rights are known: what its body and its action are read and run with. */
export class GrantedRequest {
  readonly scope: RequestScope;
  readonly sources: SourceSet;
  readonly access: Access;
  /** The sources as the role may see them, while the request lasts. */
  readonly views: SourceViews;
  readonly #lease: SourceLease;
  readonly #counted = new Map<Load, Promise<void>>();

  constructor(scope: RequestScope, sources: SourceSet, access: Access, lease: SourceLease) {
    this.scope = scope;
    this.sources = sources;
    this.access = access;
    this.views = new SourceViews(sources, access, lifeOf(scope.request));
    this.#lease = lease;
  }

  /** Whether the rules may allow the named action, in a folder or, when it is absent, anywhere. */
  mayAllow(actionName: string, folder = SourcePath.root): boolean {
    return mayAllowAction(this.access, this.scope.edge.actions, actionName, folder);
  }

  /**
   * Counts the request once for each kind of load, as soon as it is known which action it asks for: a form may
   * hold files before it names another action than an upload. Is told so perhaps several times, and at last
   * with all parameters. @throws RateLimitedError
   */
  async count(actionName = '', parameters?: RawParameters): Promise<void> {
    const { edge, request, about } = this.scope;
    const { actions, rateLimits, clientOf } = edge;
    const load = rateLimits && actions.get(actionName)?.load;
    const known = typeof load === 'function' ? parameters && load(parameters) : load;
    if (rateLimits === undefined || known === undefined) return;
    let counting = this.#counted.get(known);
    if (counting === undefined) {
      const tenant = this.sources.all.find((source) => source.tenant !== undefined)?.tenant;
      counting = rateLimits.count(known, clientOf(request, about.subject, tenant));
      this.#counted.set(known, counting);
    }
    await counting;
  }

  /** Keeps the sources open beyond the request; returns the way to give them back. */
  readonly holdSources = (): (() => void) => {
    const longer = this.#lease.extend();
    return () => longer.release();
  };

  /**
   * All that an action is to know of the request, whose files are `uploads`. `longer`: its work does not end with
   * the request but by this signal, and takes room that is kept for it.
   */
  actionContext(
    uploads: readonly UploadedFile[],
    longer?: { readonly signal: AbortSignal; readonly keptRoom: string },
  ): ActionContext {
    const { scope, sources, access, views, holdSources } = this;
    const { edge, request, about, form } = scope;
    const life = lifeOf(longer ?? request);
    return {
      views: longer === undefined ? views : new SourceViews(sources, access, life),
      requester: { requestId: about.id, role: access.role, subject: about.subject },
      uploads,
      services: edge.services,
      keptRoom: longer?.keptRoom,
      isHead: request.method === 'HEAD',
      otherField: form.otherField,
      log: edge.log,
      holdSources,
      atEnd: (work) => scope.atEnd(work),
      get signal() {
        return life.signal;
      },
    };
  }
}

/** Finds the sources that serve a request, and what its role may do. `ownSegments` as for `RequestScope.seen`. */
export const grant = async (scope: RequestScope, ownSegments: number): Promise<GrantedRequest> => {
  const lease = await scope.lease();
  const sources = scope.seen(lease.sources, ownSegments);
  return new GrantedRequest(scope, sources, await scope.authorize(), lease);
};
