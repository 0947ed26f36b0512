import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { Settings } from '../../config/settings.ts';
import {
  BusyError,
  InvalidParametersError,
  isHttpError,
  ShuttingDownError,
  StowageError,
} from '../../errors/errors.ts';
import type { Logger } from '../../basics/log/logger.ts';
import type { Quotas } from '../../operations/quotas/quotas.ts';
import { createDataStore, EXTENSIONS, loadTusLibrary } from './library.ts';
import { UploadLocks } from './locks.ts';
import { parseMetadata } from './metadata.ts';
import { asProtocolError, refusedBy, TUS_VERSION } from './protocol-errors.ts';
import { unknownUpload, UnfinishedUploads, type WaitingUpload } from './unfinished-uploads.ts';
import type { AnnouncedUpload, ArrivedFile } from './upload.ts';

/** A request of the protocol that concerns an upload. */
export interface TusRequest {
  readonly method: string;
  /** The upload that it is about; undefined for the route itself. */
  readonly id: string | undefined;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body?: ReadableStream<Uint8Array> | undefined;
  /** What `Location` says of a new upload. */
  readonly locationOf: (id: string) => string;
  /** Whether an upload is this client's. */
  readonly mayContinue: (upload: AnnouncedUpload) => boolean;
  /** Checks a file before its bytes come. @throws what `store` would throw, as far as that is known now */
  readonly check: (
    metadata: ReadonlyMap<string, string | null>,
    upload: Pick<AnnouncedUpload, 'id' | 'bytes'>,
  ) => Promise<Pick<AnnouncedUpload, 'owner' | 'client' | 'destination' | 'room'>>;
  /** Stores a file that has arrived, and returns what the client is answered: JSON. */
  readonly store: (file: ArrivedFile, signal: AbortSignal) => Promise<string>;
}

/** An answer of the protocol. */
export interface TusAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const SWEEP_MS = 10 * 60 * 1000;
/** The only headers that the library gets to see. */
const HEADERS = [
  'content-length',
  'content-type',
  'tus-resumable',
  'upload-concat',
  'upload-defer-length',
  'upload-length',
  'upload-metadata',
  'upload-offset',
];
/** Where the library believes to be. */
const PATH = '/tus';

const webRequest = ({ method, id, headers, body }: TusRequest): Request => {
  const known = HEADERS.flatMap((name): [string, string][] => {
    const value = headers[name];
    return value === undefined ? [] : [[name, value]];
  });
  const url = `http://localhost${PATH}${id === undefined ? '' : `/${id}`}`;
  return new Request(url, {
    method,
    headers: known,
    ...(body === undefined ? {} : { body, duplex: 'half' as const }),
  });
};

/** Whether asking again could end in another way. */
const mayPass = (error: unknown): boolean => {
  if (!(error instanceof StowageError) && !isHttpError(error)) return true;
  return [408, 429].includes(error.status) || (error.status >= 500 && error.status !== 501);
};

/**
 * Uploads that go on where they were cut off. Nothing is read or written before the first request or use of
 * a quota, which waits for what is kept for them.
 */
export class ResumableUploads {
  readonly #uploads: UnfinishedUploads;
  readonly #log: Logger;
  readonly #locks = new UploadLocks();
  readonly #storing = new Map<string, Promise<string>>();
  readonly #closing = new AbortController();
  readonly #sweeping: NodeJS.Timeout;

  constructor(uploads: UnfinishedUploads, log: Logger) {
    this.#uploads = uploads;
    this.#log = log;
    this.#sweeping = setInterval(() => this.#sweep(), SWEEP_MS).unref();
  }

  /** Headers that say what is offered. @throws UnsupportedError when the package is not installed */
  async describe(): Promise<Readonly<Record<string, string>>> {
    await loadTusLibrary();
    return { 'tus-version': TUS_VERSION, 'tus-extension': EXTENSIONS.join(',') };
  }

  /**
   * Answers a request. A file whose bytes are all there is stored once, however many clients ask and how
   * often; while that fails for a reason that may pass, the bytes stay.
   * @throws UnsupportedError when the package is not installed; NotFoundError for uploads of others; the
   * errors
   *   of the protocol, and what `check` and `store` throw
   */
  async answer(request: TusRequest): Promise<TusAnswer> {
    if (this.#closing.signal.aborted) throw new ShuttingDownError();
    const { id, method } = request;
    if (id !== undefined) {
      const upload = await this.#uploads.find(id);
      if (upload === undefined || !request.mayContinue(upload.announced)) throw unknownUpload();
    }
    const response = await this.#ask(request);
    const { status, headers } = response;
    const body = await response.text();
    if (status >= 400) throw refusedBy(status, body);
    // Clients take an upload with all its bytes for a finished one.
    const isWhole = headers.get('upload-offset') === headers.get('upload-length');
    if (id !== undefined && method === 'HEAD' && isWhole) await this.#finish(id, request);
    const own = [...headers].filter(([name]) => !/^(?:access-control-.*|connection)$/u.test(name));
    return { status, headers: Object.fromEntries(own), body };
  }

  /** Stops what is being stored, whose bytes stay, and resolves when it has ended. */
  async close(): Promise<void> {
    clearInterval(this.#sweeping);
    this.#closing.abort(new ShuttingDownError());
    await Promise.allSettled(this.#storing.values());
  }

  /** Hands a request to the library. */
  async #ask(request: TusRequest): Promise<Response> {
    const library = await loadTusLibrary();
    let announced: AnnouncedUpload | undefined;
    let failure: { readonly error: unknown } | undefined;
    const uploads = this.#uploads;
    const remove = (id: string): Promise<void> => this.#remove(id);
    const server = new library.Server({
      path: PATH,
      datastore: createDataStore(library, { uploads, announced: () => announced, remove }),
      locker: this.#locks,
      // Bytes that have come count in any case: an interrupted request need not be waited for.
      lockDrainTimeout: 1,
      generateUrl: (_, { id }) => request.locationOf(id),
      namingFunction: () => randomBytes(20).toString('hex'),
      onUploadCreate: async (_, { id, size: bytes = 0 }) => {
        const metadata = parseMetadata(request.headers['upload-metadata']);
        const checked = await request.check(metadata, { id, bytes });
        announced = { id, bytes, metadata: Object.fromEntries(metadata), ...checked };
        return {};
      },
      onUploadFinish: async (_, { id }) => ({
        // A new upload answers 201, or its address would not be sent.
        ...(request.method === 'POST' ? {} : { status_code: 200 }),
        headers: { 'content-type': 'application/json; charset=utf-8' },
        body: await this.#finish(id, request),
      }),
      onResponseError: (_, error) => {
        failure = { error };
        return undefined;
      },
    });
    const response = await server.handleWeb(webRequest(request));
    if (failure === undefined) return response;
    // The client has not learnt its address.
    if (announced !== undefined) await uploads.remove(announced.id);
    throw asProtocolError(failure.error);
  }

  async #finish(id: string, request: TusRequest): Promise<string> {
    const upload = await this.#uploads.find(id);
    if (upload === undefined) throw unknownUpload();
    if (upload.answer !== undefined) return upload.answer;
    const running = this.#storing.get(id);
    if (running !== undefined) return running;
    const work = this.#store(upload, request).finally(() => this.#storing.delete(id));
    this.#storing.set(id, work);
    return work;
  }

  async #store(upload: WaitingUpload, request: TusRequest): Promise<string> {
    const { id, destination, bytes } = upload.announced;
    const mayBeStored = await this.#uploads.beginStoring(upload);
    const file = { id, destination, bytes, mayBeStored, open: () => this.#uploads.read(upload) };
    let answer: string;
    try {
      answer = await request.store(file, this.#closing.signal);
    } catch (error) {
      if (!mayPass(error)) await this.#uploads.remove(id);
      throw error;
    }
    await this.#uploads.finish(upload, answer).catch((error: unknown) => {
      this.#log.warn('A stored upload could not be noted on disk.', { error });
    });
    return answer;
  }

  async #remove(id: string): Promise<void> {
    if (this.#storing.has(id)) throw new BusyError({ detail: 'the upload is being stored' });
    const upload = await this.#uploads.find(id);
    if (upload?.answer !== undefined)
      throw new InvalidParametersError('This upload is finished: its file is stored.');
    await this.#uploads.remove(id);
  }

  #sweep(): void {
    const isInUse = (id: string): boolean => this.#locks.isHeld(id) || this.#storing.has(id);
    this.#uploads.sweep(isInUse).catch((error: unknown) => {
      this.#log.warn('Expired uploads could not be removed.', { error });
    });
  }
}

/** Makes the resumable uploads that the settings ask for; undefined: they are off. */
export const createResumableUploads = (
  { tus, stateDirectory = '' }: Pick<Settings, 'tus' | 'stateDirectory'>,
  quotas: Quotas,
  log: Logger,
): ResumableUploads | undefined => {
  if (tus === undefined) return undefined;
  const { directory = join(stateDirectory, 'tus'), hours, maxUploads, maxBytes, maxUploadsPerClient } = tus;
  const limits = {
    all: { uploads: maxUploads, bytes: maxBytes },
    client: { uploads: maxUploadsPerClient, bytes: tus.maxBytesPerClient ?? maxBytes / 2 },
    milliseconds: hours * 60 * 60 * 1000,
  };
  const uploads = new UnfinishedUploads(directory, limits, (id) => quotas.release(id));
  quotas.restoreFrom(() => uploads.rooms());
  return new ResumableUploads(uploads, log);
};
