import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { orAborted, withOwnSignal } from '../../basics/concurrency/abort.ts';
import type { Logger } from '../../basics/log/logger.ts';
import type { Settings } from '../../config/settings.ts';
import * as errors from '../../errors/errors.ts';
import type { Quotas } from '../../operations/quotas/quotas.ts';
import {
  partTooLong,
  readCreation,
  readPartOffset,
  requireVersion,
  type TusResponse,
  type TusRequest,
  writeMetadata,
} from './protocol.ts';
import { unknownUpload, UnfinishedUploads, type WaitingUpload } from './unfinished-uploads.ts';

const SWEEP_MS = 10 * 60 * 1000;
/** Maximum number of requests that wait for one upload. */
const MAY_WAIT = 20;
const JSON_TYPE = { 'content-type': 'application/json; charset=utf-8' };

/** The request that currently works on an upload. */
interface Holder {
  readonly interrupt: (reason: Error) => void;
  readonly ended: Promise<void>;
  waiting: number;
}

interface Storing {
  /** The response to the client. */
  readonly answer: Promise<string>;
  /** Resolves when the response is saved on disk, or storing has failed. */
  readonly ended: Promise<void>;
}

/** Whether a retry could succeed. */
const mayPass = (error: unknown): boolean => {
  if (!(error instanceof errors.StowageError) && !errors.isHttpError(error)) return true;
  return [408, 429].includes(error.status) || (error.status >= 500 && error.status !== 501);
};

/**
 * Uploads that can be continued after an interruption. Nothing is read or written before the first request,
 * or the first use of a quota, which waits for the rooms that are reserved for uploads.
 */
export class ResumableUploads {
  readonly #uploads: UnfinishedUploads;
  readonly #log: Logger;
  readonly #holders = new Map<string, Holder>();
  readonly #storing = new Map<string, Storing>();
  readonly #closing = new AbortController();
  readonly #sweeping: NodeJS.Timeout;

  constructor(uploads: UnfinishedUploads, log: Logger) {
    this.#uploads = uploads;
    this.#log = log;
    this.#sweeping = setInterval(() => void this.#sweep(), SWEEP_MS).unref();
  }

  /**
   * Handles a request. A complete file is stored once, however many requests there are; after a temporary
   * failure its bytes stay for another attempt.
   * @throws NotFoundError for uploads of others; the errors of the protocol, and those of `check` and `store`
   */
  async handle(request: TusRequest): Promise<TusResponse> {
    if (this.#closing.signal.aborted) throw new errors.ShuttingDownError();
    const { id, method, headers } = request;
    if (id === undefined) return this.#create(request);
    const known = await this.#uploads.find(id);
    if (known === undefined || !request.mayContinue(known.announced)) throw unknownUpload();
    requireVersion(headers);
    if (method === 'PATCH') return this.#continue(id, request);
    if (method === 'HEAD') return this.#describe(id, request);
    await this.#alone(id, request, () => this.#remove(id));
    return { status: 204, headers: {} };
  }

  /** Aborts running storage operations, whose bytes stay, and resolves when they have ended. */
  async close(): Promise<void> {
    clearInterval(this.#sweeping);
    this.#closing.abort(new errors.ShuttingDownError());
    await Promise.all([...this.#storing.values()].map(({ ended }) => ended));
  }

  async #create(request: TusRequest): Promise<TusResponse> {
    const { bytes, metadata, hasPart } = readCreation(request.headers);
    const id = randomBytes(20).toString('hex');
    const checked = await request.check(metadata, { id, bytes });
    const announced = { id, bytes, metadata: Object.fromEntries(metadata), ...checked };
    const location = request.locationOf(id);
    // Expired uploads must not count against the limits.
    await this.#sweep();
    try {
      const upload = await this.#uploads.create(announced);
      const offset = hasPart ? await this.#alone(id, request, () => this.#append(upload, 0, request)) : 0;
      if (hasPart) await request.received;
      const headers = { location, ...(hasPart ? { 'upload-offset': String(offset) } : {}) };
      if (offset < bytes) return { status: 201, headers: { ...headers, ...this.#expiry(upload) } };
      const body = await this.#finish(id, request);
      return { status: 201, headers: { ...headers, ...JSON_TYPE }, body };
    } catch (error) {
      // The client does not know its address: neither bytes nor room are retained for it.
      await this.#uploads.remove(id).catch(() => undefined);
      throw error;
    }
  }

  async #continue(id: string, request: TusRequest): Promise<TusResponse> {
    const offset = readPartOffset(request.headers);
    const { upload, position } = await this.#alone(id, request, async () => {
      const upload = await this.#found(id);
      if ((await this.#uploads.offset(upload)) !== offset) throw new errors.OffsetConflictError();
      return { upload, position: await this.#append(upload, offset, request) };
    });
    const headers = { 'upload-offset': String(position) };
    if (position < upload.announced.bytes)
      return { status: 204, headers: { ...headers, ...this.#expiry(upload) } };
    const body = await this.#finish(id, request);
    return { status: 200, headers: { ...headers, ...JSON_TYPE }, body };
  }

  async #describe(id: string, request: TusRequest): Promise<TusResponse> {
    const { announced, offset } = await this.#alone(id, request, async () => {
      const upload = await this.#found(id);
      return { announced: upload.announced, offset: await this.#uploads.offset(upload) };
    });
    // Clients regard an upload with all its bytes as finished.
    if (offset === announced.bytes) await this.#finish(id, request);
    const headers = {
      'upload-offset': String(offset),
      'upload-length': String(announced.bytes),
      'upload-metadata': writeMetadata(announced.metadata),
    };
    return { status: 200, headers };
  }

  /**
   * Serializes the requests of this process for one upload. A new one interrupts the previous one: a client
   * that reconnects has lost the connection of its older request, which may take minutes to detect.
   */
  async #alone<Result>(id: string, { signal, stop: interrupt }: TusRequest, work: () => Promise<Result>) {
    for (let holder = this.#holders.get(id); holder !== undefined; holder = this.#holders.get(id)) {
      if (holder.waiting >= MAY_WAIT)
        throw new errors.BusyError({ detail: 'too many requests for one upload' });
      holder.waiting += 1;
      holder.interrupt(new errors.OffsetConflictError({ detail: 'another request continues the upload' }));
      await orAborted(holder.ended, signal);
    }
    const working = work();
    const ended = Promise.allSettled([working]).then(() => void this.#holders.delete(id));
    this.#holders.set(id, { interrupt, ended, waiting: 0 });
    return working;
  }

  async #found(id: string): Promise<WaitingUpload> {
    const upload = await this.#uploads.find(id);
    if (upload === undefined) throw unknownUpload();
    return upload;
  }

  /** Appends the part of a request; returns the number of bytes received. */
  async #append(upload: WaitingUpload, offset: number, request: TusRequest): Promise<number> {
    const left = upload.announced.bytes - offset;
    if (Number(request.headers['content-length'] ?? 0) > left) throw partTooLong();
    return upload.answer === undefined ? this.#uploads.append(upload, request.batches, offset) : offset;
  }

  #expiry(upload: WaitingUpload): Readonly<Record<string, string>> {
    return { 'upload-expires': new Date(this.#uploads.expiresAt(upload)).toUTCString() };
  }

  async #finish(id: string, request: TusRequest): Promise<string> {
    const upload = await this.#found(id);
    if (upload.answer !== undefined) return upload.answer;
    const running = this.#storing.get(id);
    if (running !== undefined) return running.answer;
    const answer = this.#store(upload, request);
    // The client need not wait for the record: without it, the next process finds the file in its store.
    const ended = answer
      .then(
        (text) => this.#uploads.finish(upload, text),
        () => undefined,
      )
      .catch((error: unknown) => {
        this.#log.warn('A stored upload could not be noted on disk.', { error });
      })
      .finally(() => this.#storing.delete(id));
    this.#storing.set(id, { answer, ended });
    return answer;
  }

  async #store(upload: WaitingUpload, request: TusRequest): Promise<string> {
    const { id, destination, bytes } = upload.announced;
    const { mayBeStored } = upload;
    upload.mayBeStored = true;
    const file = {
      id,
      destination,
      bytes,
      mayBeStored,
      file: this.#uploads.fileOf(upload),
      open: () => this.#uploads.read(upload),
    };
    try {
      return await withOwnSignal(this.#closing.signal, (signal) => request.store(file, signal));
    } catch (error) {
      if (!mayPass(error)) await this.#uploads.remove(id);
      throw error;
    }
  }

  async #remove(id: string): Promise<void> {
    const upload = await this.#uploads.find(id);
    if (upload?.answer !== undefined)
      throw new errors.InvalidParametersError('This upload is finished: its file is stored.');
    if (this.#storing.has(id)) throw new errors.BusyError({ detail: 'the upload is being stored' });
    await this.#uploads.remove(id);
  }

  async #sweep(): Promise<void> {
    const isInUse = (id: string): boolean => this.#holders.has(id) || this.#storing.has(id);
    await this.#uploads.sweep(isInUse).catch((error: unknown) => {
      this.#log.warn('Expired uploads could not be removed.', { error });
    });
  }
}

export const partsDirectory = (
  { directory }: NonNullable<Settings['tus']>,
  stateDirectory: string | undefined,
): string => directory ?? join(stateDirectory ?? '', 'tus');

/** Creates the resumable uploads of the settings; undefined when they are off. */
export const createResumableUploads = (
  { tus, stateDirectory }: Pick<Settings, 'tus' | 'stateDirectory'>,
  quotas: Quotas,
  log: Logger,
): ResumableUploads | undefined => {
  if (tus === undefined) return undefined;
  const { hours, maxUploads, maxBytes, maxUploadsPerClient } = tus;
  const limits = {
    all: { uploads: maxUploads, bytes: maxBytes },
    client: { uploads: maxUploadsPerClient, bytes: tus.maxBytesPerClient ?? maxBytes / 2 },
    milliseconds: hours * 60 * 60 * 1000,
  };
  const uploads = new UnfinishedUploads(partsDirectory(tus, stateDirectory), limits, (id) =>
    quotas.release(id),
  );
  quotas.restoreFrom(() => uploads.rooms());
  return new ResumableUploads(uploads, log);
};
