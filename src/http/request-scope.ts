import { finished, Readable } from 'node:stream';
import type { UploadedFile } from '../actions/uploaded-file.ts';
import type { SourceLease } from '../sources/tenants.ts';
import type { ConnectorResponse } from './message.ts';

/** What one request holds and has to give back, whatever happens: its sources and the files it has received. */
export class RequestScope {
  #lease: SourceLease | undefined;
  #uploads: readonly UploadedFile[] = [];
  readonly #onBrokenBody: (error: Error) => void;

  /** `onBrokenBody` learns when a body fails after its answer has begun. */
  constructor(onBrokenBody: (error: Error) => void) {
    this.#onBrokenBody = onBrokenBody;
  }

  holdLease(lease: SourceLease): void {
    this.#lease = lease;
  }

  holdUploads(uploads: readonly UploadedFile[]): void {
    this.#uploads = uploads;
  }

  /** Discards files that no action has placed; gives the sources back once the answer's body has been sent or dropped. */
  async endWith({ body }: ConnectorResponse): Promise<void> {
    await Promise.all(this.#uploads.map((upload) => upload.staged.discard()));
    if (!(body instanceof Readable)) {
      this.#lease?.release();
      return;
    }
    finished(body, (error) => {
      this.#lease?.release();
      if (error && error.code !== 'ERR_STREAM_PREMATURE_CLOSE') this.#onBrokenBody(error);
    });
  }
}
