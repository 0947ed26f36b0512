import { finished, Readable } from 'node:stream';
import type { UploadedFile } from '../actions/uploaded-file.ts';
import type { Logger } from '../log/logger.ts';
import type { SourceLease } from '../sources/tenants.ts';
import type { ConnectorResponse, HookRequest } from './message.ts';

/** How a stream says that its reader has left. */
const drops: ReadonlySet<string> = new Set(['ERR_STREAM_PREMATURE_CLOSE', 'ABORT_ERR']);

/** What one request holds and has to give back, whatever happens: its sources and the files it has received. */
export class RequestScope {
  /** The request has come as far as the steps that concern an action. */
  ofAction = false;
  readonly #request: HookRequest;
  readonly #log: Logger;
  #lease: SourceLease | undefined;
  #uploads: readonly UploadedFile[] = [];

  constructor(request: HookRequest, log: Logger) {
    this.#request = request;
    this.#log = log;
  }

  holdLease(lease: SourceLease): void {
    this.#lease = lease;
  }

  holdUploads(uploads: readonly UploadedFile[]): void {
    this.#uploads = uploads;
  }

  /**
   * Discards files that no action has placed, and gives the sources back: at once, or when a streamed body has been sent or
   * dropped. A body that fails after its answer has begun is logged; the client sees that it is cut off.
   */
  async endWith(body: ConnectorResponse['body']): Promise<void> {
    if (this.#uploads.length > 0) {
      await Promise.all(this.#uploads.map((upload) => upload.staged.discard()));
    }
    if (!(body instanceof Readable)) {
      this.#lease?.release();
      return;
    }
    finished(body, (error) => {
      this.#lease?.release();
      if (error && !drops.has(error.code ?? '') && !this.#request.signal.aborted) {
        this.#log.error('An answer broke off.', { error });
      }
    });
  }
}
