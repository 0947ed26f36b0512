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

/** Log fields of a request besides its failure. Filled while the request is processed. */
export interface RequestFacts {
  readonly id: string;
  role?: string;
  /** The user, if the host names one. */
  subject?: string;
  action?: string;
  source?: string;
  /** The item or folder inside the source. */
  item?: string;
  /** Number of uploaded files; `item` is the first of them. */
  files?: number;
}

const identityFrom = (result: unknown): Identity => {
  const given = typeof result === 'object' && result !== null && 'role' in result ? result : { role: result };
  const { role, subject }: { role: unknown; subject?: unknown } = given;
  // Many hosts have an empty text for users who are not logged in.
  const isRole = typeof role === 'string' && role.trim() !== '';
  if (isRole && (subject === undefined || typeof subject === 'string')) return { role, subject };
  const what = role === '' ? 'an empty text' : typeof result;
  const wrong = isRole ? `a subject of the type ${typeof subject}, not text` : `${what}, not a role`;
  throw new InternalError({ detail: `checkAuthentication returned ${wrong}` });
};

/** Address of the request: the prefix that was removed from its URL, and the one that is left in it. */
const addressOf = (
  { mount = '', url, headers, isExact = false }: ConnectorRequest,
  isMounted: boolean,
  ownSegments: number,
): RequestAddress => {
  const segments = isMounted && !isExact ? segmentsOf(url).filter((segment) => segment !== '') : [];
  const left = segments.slice(0, Math.max(0, segments.length - ownSegments));
  const hosts = [headers['host'], hostOf(headers['origin']), hostOf(headers['referer'])];
  return {
    mount: mount + left.map((segment) => `/${segment}`).join(''),
    hosts: [...new Set(hosts.filter((host) => host !== undefined))],
  };
};

/** Error codes of a stream whose reader has disconnected. */
const drops: ReadonlySet<string> = new Set(['ERR_STREAM_PREMATURE_CLOSE', 'ABORT_ERR']);

/** A request with the resources that it owns and always releases: its sources and the received files. */
export class RequestScope {
  readonly edge: Edge;
  readonly request: ConnectorRequest;
  /** Set once the request has reached the steps that concern an action. */
  ofAction = false;
  isChange = false;
  /** True for a served file: its errors are plain text. */
  isFile = false;
  /** The URL may be that of a served file, or that of an action below an unknown prefix. */
  mayBeFile = false;
  isTus = false;
  /** Added to the response, also to an error. */
  readonly headers: Record<string, string> = {};
  /** The editor that the response is for, once it is known. */
  editor: Editor | undefined;
  /** The parameter `language`, once it is known. */
  language: unknown;
  /**
   * Number of uploaded files that have started to arrive, whether the form is complete, and the first field
   * whose file was skipped because it is not an upload field.
   */
  readonly form: { files: number; isRead: boolean; otherField?: string } = { files: 0, isRead: false };
  /** Uploads that no action has stored are discarded at the end. */
  uploads: readonly UploadedFile[] = [];
  readonly about: RequestFacts = { id: randomUUID() };
  readonly #startedAt = performance.now();
  readonly #atEnd: (() => void)[] = [];
  #lease: SourceLease | undefined;

  constructor(edge: Edge, request: ConnectorRequest) {
    this.edge = edge;
    this.request = request;
  }

  /** Milliseconds since the request arrived, rounded. */
  get milliseconds(): number {
    return Math.round(performance.now() - this.#startedAt);
  }

  /** Log fields of the request and its response. `bytes` is unknown for streams without a length. */
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

  /** Names the action for log and metrics as soon as it is known: the rest of the request may not arrive. */
  noteAction(name = ''): void {
    if (name !== '') this.about.action = name.slice(0, 100);
  }

  atEnd(work: () => void): void {
    this.#atEnd.push(work);
  }

  /** Leases the configured sources of the request until it ends. */
  async lease(): Promise<SourceLease> {
    const { resolveSources } = this.edge;
    this.#lease ??= await fromHook('resolveSources', () => resolveSources(this.request));
    return this.#lease;
  }

  /** Sources with addresses as seen by the request. `ownSegments`: how many segments are not the mount's. */
  seen(sources: SourceSet, ownSegments: number): SourceSet {
    const { settings, isMounted = false } = this.edge;
    return seenFrom(addressOf(this.request, isMounted, ownSegments), sources, settings.publicUrl);
  }

  /** Authenticates the request and returns the access of its role. */
  async authorize(): Promise<Access> {
    const { authenticate, accessFor } = this.edge;
    const identity = identityFrom(await fromHook('checkAuthentication', () => authenticate(this.request)));
    this.about.role = identity.role;
    if (identity.subject !== undefined) this.about.subject = identity.subject;
    return fromHook('accessControl', () => accessFor(identity, this.request));
  }

  /** Whether the response may contain signed links, which grant access like a password until they expire. */
  get maySign(): boolean {
    return this.#lease?.sources.all.some(({ settings }) => settings.serve === 'signed') === true;
  }

  /**
   * Discards files that no action has stored, and releases the sources: immediately, or when a streamed body
   * has been sent or dropped. A body that fails after its response has begun is logged; for the client the
   * response is truncated.
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
        log.error('A response broke off.', { error });
    });
  }
}

/** Reads the signal on first use: signals are expensive, and many actions do not need one. */
const lifeOf = (owner: Life): Life => ({
  get signal() {
    const { signal } = owner;
    // Copies of a folder and files of a form add listeners: more than Node's warning expects, but bounded.
    setMaxListeners(0, signal);
    return signal;
  },
});

/** A request whose sources and access are known: the context for reading its body and running its action. */
export class GrantedRequest {
  readonly scope: RequestScope;
  readonly sources: SourceSet;
  readonly access: Access;
  /** The sources with the access of the role, valid until the request ends. */
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

  /** Whether the rules may allow the named action in a folder or below; by default, anywhere. */
  mayAllow(actionName: string, folder = SourcePath.root): boolean {
    return mayAllowAction(this.access, this.scope.edge.actions, actionName, folder);
  }

  /**
   * Counts the request once for each kind of load, as soon as its action is known: a form may contain files
   * before it names another action. May be called several times, the last time with all parameters. @throws
   * RateLimitedError
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

  /** Extends the lease of the sources beyond the request; returns the function that releases it. */
  readonly holdSources = (): (() => void) => {
    const longer = this.#lease.extend();
    return () => longer.release();
  };

  /** Context of an action. `longer`: work after the request, until this signal, with `keptRoom`. */
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

/** Leases the sources of a request, and authenticates it. `ownSegments` as for `RequestScope.seen`. */
export const grant = async (scope: RequestScope, ownSegments: number): Promise<GrantedRequest> => {
  const lease = await scope.lease();
  const sources = scope.seen(lease.sources, ownSegments);
  return new GrantedRequest(scope, sources, await scope.authorize(), lease);
};
