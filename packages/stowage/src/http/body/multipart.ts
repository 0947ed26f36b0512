import busboy, { type Busboy } from 'busboy';
import type { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { createLimiter } from '../../basics/concurrency/queues.ts';
import { MAX_FORM_PARTS, type UploadedFile } from '../../changes/uploaded-file.ts';
import { BodyTooLargeError, BrokenBodyError, InternalError, StowageError } from '../../errors/errors.ts';
import { ParameterDraft, type RawParameters } from '../../parameters/raw.ts';
import type { TextBounds } from '../../parameters/fields.ts';
import { type BodyContext, type BodyTimes, pour, refuseEncoding } from './pour.ts';

/** Allowance for part headers, text fields and boundaries. */
const OVERHEAD_BYTES = 32 * 1024 * 1024;
/** Files of a form that are stored concurrently: one is being read, the store writes the others to disk. */
const STORED_AT_ONCE = 8;

export interface IncomingFile {
  readonly field: string;
  /** Last path segment of the submitted name, not empty. */
  readonly filename: string;
  readonly content: Readable;
  /** Text fields before the file (some after it may be included). */
  readonly fields: ParameterDraft;
}

/** Receives the files of a form, one after the other. */
export interface FileReceiver {
  /** Maximum size of a file in any form, in bytes: limits the form as a whole. */
  readonly largestFile: number;
  /** Maximum bytes of all text fields together, according to the fields received so far. */
  largestText(fields: ParameterDraft): number;
  /**
   * Checks a file before its bytes arrive. Returns the function that reads and stores the content; undefined:
   * the file is skipped, and its content stays unread.
   */
  accept(file: IncomingFile): Promise<(() => Promise<UploadedFile>) | undefined>;
}

export interface FormReading {
  /** Called when the body is a form. */
  readonly receiver: () => FileReceiver;
  readonly bounds: TextBounds;
}

export interface FormContent {
  readonly fields: RawParameters;
  readonly uploads: readonly UploadedFile[];
}

/**
 * Restores a file name that the browser escaped for quotes. @see
 * https://html.spec.whatwg.org/#multipart-form-data
 */
const unquoted = (filename: string): string => filename.replaceAll('%22', '"');

const createParser = (contentType: string, fieldSize: number): Busboy => {
  // RFC 2046 5.1.1: one to seventy characters.
  if (!/;\s*boundary\s*=\s*(?:"[^"]{1,70}"|[^\s";]{1,70})\s*(?:;|$)/iu.test(contentType))
    throw new BrokenBodyError('The form has no usable boundary.');
  try {
    return busboy({
      headers: { 'content-type': contentType },
      defParamCharset: 'utf8',
      // The parser reports the limit at the end of the last allowed part, so the limit is one higher than
      // ours.
      limits: { parts: MAX_FORM_PARTS + 1, fieldSize: fieldSize + 1 },
    });
  } catch (cause) {
    throw new BrokenBodyError({ message: 'The form has no usable boundary.', cause });
  }
};

const asBodyFailure = (error: unknown): unknown =>
  error instanceof StowageError
    ? error
    : new BrokenBodyError({ message: 'The form is broken or was cut off.', cause: error });

/** Runs work of the receiver. Its own faults must not appear as the client's. */
const receiving = async <Result>(content: Readable, work: () => Promise<Result>): Promise<Result> => {
  try {
    return await work();
  } catch (error) {
    const isKnown = error instanceof StowageError || content.errored !== null;
    throw isKnown ? error : new InternalError({ cause: error });
  }
};

/**
 * Reads one form. Files are checked and read strictly one after the other; the next one starts when the bytes
 * of the previous one have been read, while the store may still write them. Reading pauses while more than
 * one file is waiting.
 */
class FormReader {
  readonly #parser: Busboy;
  readonly #receiver: FileReceiver;
  readonly #fields: ParameterDraft;
  readonly #open = new Set<Readable>();
  /** In the order of the form; undefined while they are being stored. */
  readonly #uploads: (UploadedFile | undefined)[] = [];
  readonly #storing = createLimiter(STORED_AT_ONCE);
  #queue: Promise<void> = Promise.resolve();
  /** Files in the queue, the one that is being read included. */
  #waiting = 0;
  #wake: (() => void) | undefined;
  #fieldBytes = 0;
  readonly #stop = new AbortController();

  constructor(contentType: string, { receiver: create, bounds }: FormReading) {
    const receiver = create();
    this.#fields = new ParameterDraft(bounds);
    this.#parser = createParser(contentType, receiver.largestText(this.#fields));
    this.#receiver = receiver;
    this.#parser.on('field', (name: string | undefined, value, info) => {
      try {
        this.#addField(name, value, info.valueTruncated);
      } catch (error) {
        this.#fail(error as Error);
      }
    });
    this.#parser.on('file', (name: string | undefined, content, info) => {
      this.#addFile(name, content, (info as { filename?: string }).filename);
    });
    this.#parser.on('partsLimit', () => {
      this.#fail(new BrokenBodyError('The form has too many parts.'));
    });
    this.#parser.on('error', (error) => {
      this.#fail(error as Error);
    });
  }

  async read(body: Readable, { signal, times }: BodyContext): Promise<FormContent> {
    try {
      await Promise.all([this.#pour(body, signal, times), finished(this.#parser)]);
      await this.#queue;
      await this.#storing.drain();
      return { fields: this.#fields.all(), uploads: this.#uploads.filter((upload) => upload !== undefined) };
    } catch (error) {
      this.#fail(error as Error);
      await this.#queue.catch(() => undefined);
      await this.#storing.drain().catch(() => undefined);
      for (const upload of this.#uploads) await upload?.staged.discard();
      throw signal.aborted ? signal.reason : asBodyFailure(error);
    }
  }

  async #pour(body: Readable, signal: AbortSignal, times: BodyTimes): Promise<void> {
    const most = this.#receiver.largestFile * MAX_FORM_PARTS + OVERHEAD_BYTES;
    let bytes = 0;
    const leave = (): void => this.#fail(signal.reason as Error);
    // Not AbortSignal.any: it takes as long as a call of the system.
    signal.addEventListener('abort', leave, { once: true });
    if (signal.aborted) leave();
    await pour(body, {
      // The body is released as soon as the form has failed: it is drained elsewhere then.
      signal: this.#stop.signal,
      times,
      isPaced: true,
      write: (chunk) => {
        bytes += chunk.length;
        if (bytes > most) throw new BodyTooLargeError();
        const isFull = !this.#parser.write(chunk);
        return isFull || this.#waiting > 1 ? this.#catchUp(isFull) : undefined;
      },
    }).finally(() => signal.removeEventListener('abort', leave));
    this.#parser.end();
  }

  /** The parser is paused while files wait to be received: small ones would fill its buffers. */
  async #catchUp(isFull: boolean): Promise<void> {
    await Promise.all([
      isFull ? new Promise((resolve) => this.#parser.once('drain', resolve)) : undefined,
      this.#waiting > 1 ? new Promise<void>((resolve) => (this.#wake = resolve)) : undefined,
    ]);
  }

  #addField(name: string | undefined, value: string, truncated: boolean): void {
    if (name === undefined) throw new BrokenBodyError('A part of the form has no name.');
    this.#fieldBytes += Buffer.byteLength(value);
    this.#fields.add(name, value);
    if (truncated || this.#fieldBytes > this.#receiver.largestText(this.#fields))
      throw new BodyTooLargeError('The text fields of the form are too large.');
  }

  #addFile(field: string | undefined, content: Readable, filename: string | undefined): void {
    content.on('error', () => undefined);
    if (this.#stop.signal.aborted) {
      content.destroy();
      return;
    }
    this.#open.add(content);
    content.once('close', () => this.#open.delete(content));
    this.#waiting += 1;
    this.#queue = this.#queue
      .then(() => this.#receive(field, content, filename))
      .finally(() => {
        this.#waiting -= 1;
        if (this.#waiting <= 1) this.#wake?.();
      });
    // Reported immediately: the parser may wait for a file that is no longer being read.
    this.#queue.catch((error: unknown) => {
      this.#fail(error as Error);
    });
  }

  async #receive(field: string | undefined, content: Readable, filename: string | undefined): Promise<void> {
    if (this.#stop.signal.aborted) return;
    if (field === undefined) throw new BrokenBodyError('A part of the form has no name.');
    // Browsers send a part with an empty name for an empty file input.
    const store =
      filename === undefined || filename === ''
        ? undefined
        : await receiving(content, () =>
            this.#receiver.accept({ field, filename: unquoted(filename), content, fields: this.#fields }),
          );
    if (store === undefined) content.resume();
    else await this.#store(content, store);
  }

  /** Resolves when the content has been read. @throws the error of storing it, if it fails before that */
  async #store(content: Readable, store: () => Promise<UploadedFile>): Promise<void> {
    const index = this.#uploads.push(undefined) - 1;
    let read: Promise<void> | undefined;
    await this.#storing.add(() => {
      const stored = receiving(content, store).then((upload) => void (this.#uploads[index] = upload));
      stored.catch((error: unknown) => this.#fail(error as Error));
      read = Promise.race([stored, new Promise<void>((resolve) => content.once('end', resolve))]);
      return stored;
    });
    await read;
  }

  #fail(error: Error): void {
    if (this.#stop.signal.aborted) return;
    this.#stop.abort(error);
    this.#parser.destroy(error);
    for (const content of this.#open) content.destroy(error);
  }
}

/**
 * Reads a multipart form: at most 1,000 parts, and as much text as the receiver allows. Names are UTF-8; of
 * file names only the last path segment is used, and `filename*` takes precedence over `filename`. Fields may
 * come before and after the files. On any failure, files that were stored before are discarded.
 * @throws BrokenBodyError, BodyTooLargeError, InvalidParametersError, and errors of the receiver.
 */
export const readMultipart = async (
  body: Readable,
  context: BodyContext,
  reading: FormReading,
): Promise<FormContent> => {
  refuseEncoding(context);
  return new FormReader(context.headers['content-type'] ?? '', reading).read(body, context);
};
