import { randomUUID } from 'node:crypto';
import { finished, Readable } from 'node:stream';
import type { Access } from '../access/access.ts';
import type { Action, ActionServices } from '../actions/action.ts';
import type { Settings } from '../config/settings.ts';
import type { LogFields, Logger } from '../basics/log/logger.ts';
import type { SourceLease } from '../sources/tenants.ts';
import type { ResumableUploads } from './tus/resumable-uploads.ts';
import type { BodyTimes } from './body/pour.ts';
import type { ClientNames } from './client-address.ts';
import type { ConnectorResponse, HookRequest, Identity, RequestObserver } from './message.ts';
import type { RateLimits } from './rate-limits.ts';
import type { StagedFile, StageOptions, StorageAdapter } from '../storage/adapter.ts';
import { editorOf, type Editor } from '../actions/editor-answers.ts';
import { InternalError, isHttpError, StowageError } from '../errors/errors.ts';
import type { UploadedFile } from '../changes/uploaded-file.ts';
import { RequestLooks } from '../view/looks.ts';

/** The hook that decides about an origin; it wins over `allowedOrigins`. */
export type OriginHook = (origin: string, request: HookRequest) => boolean | Promise<boolean>;

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
  /** The global settings. */
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
  /** The request's role. */
  readonly authenticate: (request: HookRequest) => unknown;
  readonly accessFor: (identity: Identity, request: HookRequest) => Access | Promise<Access>;
  /** The hook `allowedOrigins`. */
  readonly isOriginAllowed?: OriginHook | undefined;
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
  /** The request asks for an action that changes something. */
  isChange = false;
  /** The request asks for a file itself: its errors are short texts. */
  isFile = false;
  /** The request is part of an upload in parts. */
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
  /** What the request has seen in its sources. */
  readonly looks = new RequestLooks();
  /** What is known of the request so far, for the log. */
  readonly about: RequestFacts = { id: randomUUID() };
  readonly #startedAt = performance.now();
  readonly #request: HookRequest;
  readonly #log: Logger;
  #lease: SourceLease | undefined;
  #uploads: readonly UploadedFile[] = [];
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

  /** Has something done when the request has ended. */
  atEnd(work: () => void): void {
    this.#atEnd.push(work);
  }

  holdLease(lease: SourceLease): void {
    this.#lease = lease;
  }

  /** Whether the answer may hold links with signatures, which are as good as a password while they last. */
  get maySign(): boolean {
    return this.#lease?.sources.all.some(({ settings }) => settings.serve === 'signed') === true;
  }

  holdUploads(uploads: readonly UploadedFile[]): void {
    this.#uploads = uploads;
  }

  /**
   * Discards files that no action has stored, and gives the sources back: immediately, or when a streamed
   * body has been sent or dropped. A body that fails after its answer has begun is logged; the client sees
   * that it is cut off.
   */
  async endWith(body: ConnectorResponse['body']): Promise<void> {
    if (this.#uploads.length > 0) {
      const discarding = await Promise.allSettled(this.#uploads.map((upload) => upload.staged.discard()));
      for (const outcome of discarding) {
        if (outcome.status === 'rejected')
          this.#log.warn('An uploaded file could not be discarded.', { error: outcome.reason as unknown });
      }
    }
    const end = (): void => {
      this.#lease?.release();
      for (const work of this.#atEnd) work();
    };
    if (!(body instanceof Readable)) return end();
    finished(body, (error) => {
      end();
      if (error && !drops.has(error.code ?? '') && !this.#request.signal.aborted) {
        this.#log.error('An answer broke off.', { error });
      }
    });
  }
}

/**
 * The editor that is to be answered, when the action knows editors. The name from path and query wins over
 * that of a field.
 */
export const editorFor = (
  {
    actions,
    actionName,
  }: { readonly actions: ReadonlyMap<string, Action>; readonly actionName: string | undefined },
  inBody: string | undefined,
  responseType: unknown,
): Editor | undefined => {
  const kind = actions.get(actionName ?? inBody ?? '')?.answersEditors;
  return kind && editorOf(kind, responseType);
};

/**
 * What a failed hook means for its request: an `HttpError` stays, anything else is an internal error. That
 * includes our own errors about requests, which a hook may meet when it works with a store: they are not
 * about this request.
 */
export const asHookFailure = (error: unknown, hook: string): unknown => {
  if (isHttpError(error)) return error;
  if (error instanceof StowageError && error.status >= 500) return error;
  return new InternalError({ detail: `the hook ${hook} failed`, cause: error });
};

/** Waits for a hook and turns its failure into ours. */
export const fromHook = async <Value>(hook: string, call: () => Value | Promise<Value>): Promise<Value> => {
  try {
    return await call();
  } catch (error) {
    throw asHookFailure(error, hook);
  }
};
