import { randomUUID } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { finished, Readable } from 'node:stream';
import type { Access } from '../access/access.ts';
import type { Action, ActionContext, ActionServices, Editor } from '../actions/action.ts';
import type { LogFields, Logger } from '../basics/log/logger.ts';
import type { UploadedFile } from '../changes/uploaded-file.ts';
import type { Settings } from '../config/settings.ts';
import { InternalError } from '../errors/errors.ts';
import { type ConnectorHooks, fromHook } from '../hooks.ts';
import { type RequestAddress, seenFrom } from '../sources/source-group.ts';
import type { SourceSet } from '../sources/source.ts';
import type { SourceLease } from '../sources/tenants.ts';
import type { StagedFile, StageOptions, StorageAdapter } from '../storage/adapter.ts';
import { SourceViews } from '../view/source-views.ts';
import { StatCaches } from '../view/stat-cache.ts';
import type { BodyTimes } from './body/pour.ts';
import type { ClientNames } from './client-address.ts';
import { hostOf } from './cors.ts';
import type {
  ConnectorRequest,
  ConnectorResponse,
  HookRequest,
  Identity,
  RequestObserver,
} from './message.ts';
import type { RateLimits } from './rate-limits.ts';
import { segmentsOf } from './target.ts';
import type { ResumableUploads } from './tus/resumable-uploads.ts';

/**
 * Stores content without a name, as near to the store as it can, or in memory where it is to be read whole
 * and rarely stored as it is. Owns the content.
 */
export type StageUpload = (
  storage: StorageAdapter,
  content: Readable,
  options: StageOptions & { readonly isReadWhole: boolean },
) => Promise<StagedFile>;

/**
 * All that the edge needs of the rest of the service. Functions that call hooks may throw whatever the hooks
 * throw.
 */
export interface PipelineDependencies {
  readonly settings: Settings;
  readonly actions: ReadonlyMap<string, Action>;
  readonly services: ActionServices;
  readonly log: Logger;
  /** Sent with every answer as `X-App-Version`: standalone instances only. */
  readonly version?: string | undefined;
  readonly observe?: RequestObserver | undefined;
  /** Whether URLs may still carry the prefix of a mount: not every framework cuts it. */
  readonly isMounted?: boolean | undefined;
  /** The sources for a request; the edge gives them back when the request has ended. */
  readonly resolveSources: (request: HookRequest) => Promise<SourceLease>;
  readonly authenticate: (request: HookRequest) => unknown;
  readonly accessFor: (identity: Identity, request: HookRequest) => Access | Promise<Access>;
  readonly isOriginAllowed?: ConnectorHooks['allowedOrigins'];
  readonly stageUpload: StageUpload;
  readonly rateLimits?: RateLimits | undefined;
  /** @see ClientNames */
  readonly clientOf: ClientNames;
  /** Uploads in parts; undefined: they are off. */
  readonly resumable?: ResumableUploads | undefined;
  /** How long bodies may take; else as long as `bodyTimes` says. */
  readonly times?: BodyTimes | undefined;
}

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

/** How a stream says that its reader has left. */
const drops: ReadonlySet<string> = new Set(['ERR_STREAM_PREMATURE_CLOSE', 'ABORT_ERR']);

/**
 * What one request holds and has to give back, whatever happens: its sources and the files it has received.
 */
export class RequestScope {
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
  readonly statCaches = new StatCaches();
  /** Is given back at the end. */
  lease: SourceLease | undefined;
  /** Those that no action stores are discarded at the end. */
  uploads: readonly UploadedFile[] = [];
  readonly about: RequestFacts = { id: randomUUID() };
  readonly #startedAt = performance.now();
  readonly #request: HookRequest;
  readonly #log: Logger;
  readonly #atEnd: (() => void)[] = [];

  constructor(request: HookRequest, log: Logger) {
    this.#request = request;
    this.#log = log;
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

  /** Whether the answer may hold links with signatures, which are as good as a password while they last. */
  get maySign(): boolean {
    return this.lease?.sources.all.some(({ settings }) => settings.serve === 'signed') === true;
  }

  /**
   * Discards files that no action has stored, and gives the sources back: immediately, or when a streamed
   * body has been sent or dropped. A body that fails after its answer has begun is logged; the client sees
   * that it is cut off.
   */
  async endWith(body: ConnectorResponse['body']): Promise<void> {
    if (this.uploads.length > 0) {
      const discarding = await Promise.allSettled(this.uploads.map((upload) => upload.staged.discard()));
      for (const outcome of discarding) {
        if (outcome.status === 'rejected')
          this.#log.warn('An uploaded file could not be discarded.', { error: outcome.reason as unknown });
      }
    }
    const end = (): void => {
      this.lease?.release();
      for (const work of this.#atEnd) work();
    };
    if (!(body instanceof Readable)) return end();
    finished(body, (error) => {
      end();
      if (error && !drops.has(error.code ?? '') && !this.#request.signal.aborted)
        this.#log.error('An answer broke off.', { error });
    });
  }
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
  { isMounted = false }: PipelineDependencies,
  { mount = '', url, headers, isExact = false }: ConnectorRequest,
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

/** The sources that serve a request, as they are configured. The lease is the caller's. */
export const leaseConfigured = (
  { resolveSources }: PipelineDependencies,
  request: ConnectorRequest,
): Promise<SourceLease> => fromHook('resolveSources', () => resolveSources(request));

/** Sources with their addresses as a request sees them. `ownSegments`: how many at the end of its path are no mount. */
export const seenBy = (
  dependencies: PipelineDependencies,
  request: ConnectorRequest,
  ownSegments: number,
  sources: SourceSet,
): SourceSet =>
  seenFrom(addressOf(dependencies, request, ownSegments), sources, dependencies.settings.publicUrl);

/** The sources that serve a request, as it sees them: `seenBy`. The lease is the caller's. */
export const leaseSources = async (
  dependencies: PipelineDependencies,
  request: ConnectorRequest,
  ownSegments: number,
): Promise<SourceLease> => {
  const lease = await leaseConfigured(dependencies, request);
  return { ...lease, sources: seenBy(dependencies, request, ownSegments, lease.sources) };
};

export const authorize = async (
  dependencies: PipelineDependencies,
  request: ConnectorRequest,
  scope: RequestScope,
): Promise<Access> => {
  const identity = identityFrom(
    await fromHook('checkAuthentication', () => dependencies.authenticate(request)),
  );
  scope.about.role = identity.role;
  if (identity.subject !== undefined) scope.about.subject = identity.subject;
  return fromHook('accessControl', () => dependencies.accessFor(identity, request));
};

export interface Granted {
  readonly access: Access;
  readonly lease: SourceLease;
  readonly scope: RequestScope;
}

/** Keeps the sources of a lease open beyond the request; returns the way to give them back. */
export const holderOf = (lease: SourceLease) => (): (() => void) => {
  const longer = lease.extend();
  return () => longer.release();
};

/** All that an action is to know of its request, whose files are `uploads`. */
export const createActionContext = (
  { services, log }: PipelineDependencies,
  { access, lease, scope }: Granted,
  uploads: readonly UploadedFile[],
  request: Pick<HookRequest, 'signal' | 'method'>,
  keptRoom?: string,
): ActionContext => {
  // Made at its first use: signals are expensive, and many actions have no use for one.
  const life = {
    get signal() {
      const { signal } = request;
      // Copies of a folder and files of a form listen to it: more than Node's warning expects, each with a
      // bound.
      setMaxListeners(0, signal);
      return signal;
    },
  };
  return {
    views: new SourceViews(lease.sources, access, life, scope.statCaches),
    requester: { requestId: scope.about.id, role: access.role, subject: scope.about.subject },
    uploads,
    services,
    keptRoom,
    isHead: request.method === 'HEAD',
    otherField: scope.form.otherField,
    log,
    holdSources: holderOf(lease),
    atEnd: (work) => scope.atEnd(work),
    get signal() {
      return life.signal;
    },
  };
};
