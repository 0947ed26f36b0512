import { randomUUID } from 'node:crypto';
import { finished, Readable } from 'node:stream';
import type { Editor } from '../actions/editor-answers.ts';
import type { UploadedFile } from '../changes/uploaded-file.ts';
import type { LogFields, Logger } from '../basics/log/logger.ts';
import type { SourceLease } from '../sources/tenants.ts';
import type { ConnectorResponse, HookRequest } from './message.ts';

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
