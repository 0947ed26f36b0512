import { CorruptError, NotFoundError, StorageUnavailableError } from '../../../errors/errors.ts';
import type { Part } from '../core/parts.ts';
import type { PartedUpload } from '../core/uploads.ts';
import { versionOf, type Resource } from './errors.ts';
import { jsonOf, type GcsResponse, type GcsClient, type GcsRequest } from './connection.ts';

/** The service has stored all or a part of the sent bytes. */
const INCOMPLETE = 308;

/** Limit of successive requests by which the session got no further: responses may get lost. */
const MOST_ASKED = 8;

const lost = (cause?: unknown): Error =>
  new StorageUnavailableError({ detail: 'an upload session does not hold what was sent', cause });

/** Number of bytes that the session holds, as the service reports. */
const keptIn = ({ headers }: GcsResponse): number => {
  const last = /^bytes=0-(\d+)$/u.exec(headers.range ?? '')?.[1];
  return last === undefined ? 0 : Number(last) + 1;
};

/** A resumable upload: parts are sent in order, and the last one creates the object. */
export const resumableUpload = (
  client: GcsClient,
  key: string,
  location: string | undefined,
  signal: AbortSignal | undefined,
): PartedUpload => {
  if (location === undefined || !URL.canParse(location))
    throw new CorruptError({ detail: 'an upload session has no address' });
  const url = new URL(location);
  let held: Part | undefined;
  const ask = async (from: number, end: number, bytes: Buffer, whole: string): Promise<GcsResponse> => {
    const request = (attempt: number): GcsRequest => {
      // Bytes may have arrived in an attempt with a lost response: ask for the status before sending them
      // again.
      const isQuestion = attempt > 1 || from === end;
      const range = isQuestion ? `bytes */${whole}` : `bytes ${from}-${end - 1}/${whole}`;
      const body = isQuestion ? [] : [bytes];
      return { method: 'PUT', url, headers: { 'content-range': range }, body, allowed: [INCOMPLETE] };
    };
    try {
      // The last part without the signal: it could come late, and replace what others have stored since.
      return await client.send(`PutPart ${key}`, whole === '*' ? signal : undefined, request);
    } catch (error) {
      // The session was not found, not the file.
      throw error instanceof NotFoundError ? lost(error) : error;
    }
  };
  /** Sends the bytes that the session lacks. Resolves with the response that contains the object, if any. */
  const put = async ({ start, bytes }: Part, total?: number): Promise<GcsResponse | undefined> => {
    const end = start + bytes.length;
    for (let kept = start, asked = 0; asked < MOST_ASKED; asked += 1) {
      const response = await ask(kept, end, bytes.subarray(kept - start), String(total ?? '*'));
      if (response.status !== INCOMPLETE) {
        if (total === undefined) throw lost();
        return response;
      }
      const now = keptIn(response);
      if (now < kept || now > end) throw lost();
      if (now === end && total === undefined) return undefined;
      if (now > kept) asked = 0;
      kept = now;
    }
    throw lost();
  };
  return {
    // The last part must be marked as the last: each part waits for the next one or the completion.
    send: async (part) => {
      const before = held;
      held = part;
      if (before !== undefined) await put(before);
    },
    complete: async (_parts, size) => {
      const response = held === undefined ? undefined : await put(held, size);
      if (response === undefined) throw lost();
      return versionOf(jsonOf<Resource>(response).generation);
    },
    // Without the caller's signal: an aborted upload must be removed too.
    abort: async () => {
      await client
        .send(`Abort ${key}`, undefined, () => ({ method: 'DELETE', url, allowed: [499] }))
        .catch(() => undefined);
    },
  };
};
