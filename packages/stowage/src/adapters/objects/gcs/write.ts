import { CorruptError, NotFoundError, StorageUnavailableError } from '../../../errors/errors.ts';
import type { Part } from '../core/parts.ts';
import type { PartedUpload } from '../core/uploads.ts';
import { versionOf, type Resource } from './errors.ts';
import { jsonOf, type GcsAnswer, type GcsClient, type GcsRequest } from './connection.ts';

type SessionPart = Part & { readonly start: number };

/** The service has stored all or a part of the sent bytes. */
const INCOMPLETE = 308;

/** Limit of status queries: the service may store only a part of the bytes, and responses may get lost. */
const MOST_ASKED = 8;

const lost = (cause?: unknown): Error =>
  new StorageUnavailableError({ detail: 'an upload session does not hold what was sent', cause });

/** Number of bytes that the session holds, as the service reports. */
const keptIn = ({ headers }: GcsAnswer): number => {
  const last = /^bytes=0-(\d+)$/u.exec(headers.range ?? '')?.[1];
  return last === undefined ? 0 : Number(last) + 1;
};

/** A resumable upload session: its parts are sent in order, and the last request creates the object. */
export class ResumableUpload implements PartedUpload {
  readonly #client: GcsClient;
  readonly #key: string;
  readonly #url: URL;
  readonly #signal: AbortSignal | undefined;
  #held: SessionPart | undefined;

  /** @throws CorruptError without a URL */
  constructor(client: GcsClient, key: string, location: string | undefined, signal: AbortSignal | undefined) {
    if (location === undefined || !URL.canParse(location))
      throw new CorruptError({ detail: 'an upload session has no address' });
    this.#client = client;
    this.#key = key;
    this.#url = new URL(location);
    this.#signal = signal;
  }

  /** The last part must be marked as the last: each part waits for the next one or the completion. */
  async send(part: SessionPart): Promise<void> {
    const before = this.#held;
    this.#held = part;
    if (before !== undefined) await this.#put(before, undefined);
  }

  async complete(_parts: number, size: number): Promise<string | undefined> {
    const answer = this.#held === undefined ? undefined : await this.#put(this.#held, size);
    if (answer === undefined) throw lost();
    return versionOf(jsonOf<Resource>(answer).generation);
  }

  /** Without the caller's signal: an aborted upload must be removed too. */
  async abort(): Promise<void> {
    await this.#client
      .send(`Abort ${this.#key}`, undefined, () => ({ method: 'DELETE', url: this.#url, allowed: [499] }))
      .catch(() => undefined);
  }

  /** Sends the bytes that the session lacks. Resolves with the response that contains the object, if any. */
  async #put({ start, bytes }: SessionPart, total: number | undefined): Promise<GcsAnswer | undefined> {
    const end = start + bytes.length;
    for (let kept = start, asked = 0; asked < MOST_ASKED; asked += 1) {
      const answer = await this.#ask({ from: kept, end, total }, bytes.subarray(kept - start));
      if (answer.status !== INCOMPLETE) {
        if (total === undefined) throw lost();
        return answer;
      }
      const now = keptIn(answer);
      if (now < kept || now > end) throw lost();
      if (now === end && total === undefined) return undefined;
      kept = now;
    }
    throw lost();
  }

  async #ask(
    { from, end, total }: { readonly from: number; readonly end: number; readonly total: number | undefined },
    bytes: Buffer,
  ): Promise<GcsAnswer> {
    const whole = total === undefined ? '*' : String(total);
    const request = (attempt: number): GcsRequest => {
      // Bytes may have arrived in an attempt with a lost response: ask for the status before sending them
      // again.
      const isQuestion = attempt > 1 || from === end;
      const range = isQuestion ? `bytes */${whole}` : `bytes ${from}-${end - 1}/${whole}`;
      const headers = { 'content-range': range };
      const body = isQuestion ? [] : [bytes];
      return { method: 'PUT', url: this.#url, headers, body, allowed: [INCOMPLETE] };
    };
    try {
      return await this.#client.send(`PutPart ${this.#key}`, this.#signal, request);
    } catch (error) {
      // The session was not found, not the file.
      throw error instanceof NotFoundError ? lost(error) : error;
    }
  }
}
