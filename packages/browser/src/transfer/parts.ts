import { ConnectorError } from '../client/client.ts';
import { isEnvelope, parsed } from '../client/foreign-answer.ts';
import { type Begun, type Reach, type Reply, request, type Sent } from './request.ts';

/** The version of the tus protocol. */
const VERSION = { 'Tus-Resumable': '1.0.0' };

/** Initial and minimum size of a part in bytes. Proxies limit the length and the duration of bodies. */
const FIRST_PART = 16 * 1024 * 1024;
const LEAST_PART = 512 * 1024;

/** Pauses before retries, in milliseconds; the upload fails after all of them without progress. */
const PAUSES = [500, 1000, 2000, 5000, 10_000, 15_000, 15_000, 15_000, 15_000, 15_000];

/** Storage key of the part size that proxies accept. */
const REMEMBERED = 'stowage-part-bytes';

const remembered = (): number => {
  try {
    const bytes = Number(sessionStorage.getItem(REMEMBERED));
    return bytes >= LEAST_PART && bytes <= FIRST_PART ? bytes : FIRST_PART;
  } catch {
    return FIRST_PART;
  }
};

const remember = (bytes: number): void => {
  try {
    sessionStorage.setItem(REMEMBERED, String(bytes));
  } catch {
    // A page without storage finds the size again.
  }
};

/** Waits, but only until the browser is online again. @throws the signal's reason */
const pause = (milliseconds: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    const end = (): void => {
      clearTimeout(timer);
      removeEventListener('online', end);
      signal.removeEventListener('abort', end);
      if (signal.aborted) reject(signal.reason as Error);
      else resolve();
    };
    const timer = setTimeout(end, milliseconds);
    addEventListener('online', end);
    signal.addEventListener('abort', end);
    if (signal.aborted) end();
  });

const base64 = (text: string): string => btoa(String.fromCharCode(...new TextEncoder().encode(text)));

/** Responses of the connector that a retry does not change soon. */
const FULL = /"(?:STORAGE_FULL|QUOTA_EXCEEDED)"/u;

/**
 * Whether a retry may help: no response, a gateway or store that is down, another offset, too many requests.
 */
const mayPass = ({ status, text }: Reply): boolean =>
  !FULL.test(text) &&
  (status === 0 || [408, 409, 413, 423, 429].includes(status) || (status >= 500 && status !== 501));

/**
 * Whether a proxy may have rejected the part as too long: with a status, or by closing the connection.
 * Browsers then repeat the request by themselves, for which the service responds with 409, since it has
 * received a part of the first one.
 */
const mayBeTooLong = ({ status }: Reply): boolean => [0, 408, 409, 413].includes(status);

export interface PartsUpload {
  readonly file: File;
  /** `source` and `path`. */
  readonly fields: Readonly<Record<string, string>>;
  readonly begun: Begun;
  readonly signal: AbortSignal;
  readonly onProgress: (sent: number) => void;
}

/** Sends a request about an upload; by POST if its method is blocked. */
const ask = async (
  reach: Reach,
  method: string,
  sent: Omit<Sent, 'method'>,
  begun: Begun,
): Promise<Reply> => {
  const headers = { ...VERSION, ...sent.headers };
  if (begun.isPostOnly !== true) {
    const reply = await request(reach, { ...sent, method, headers });
    if (!isOfBlocked(reply)) return reply;
    begun.isPostOnly = true;
  }
  const overriding = { ...headers, 'X-HTTP-Method-Override': method };
  return request(reach, { ...sent, method: 'POST', headers: overriding });
};

/** One upload in parts, from its first request to the response of the connector. */
class PartsSender {
  readonly #reach: Reach;
  readonly #upload: PartsUpload;
  #partBytes = remembered();
  #offset = 0;
  #failures = 0;

  constructor(reach: Reach, upload: PartsUpload) {
    this.#reach = reach;
    this.#upload = upload;
  }

  async send(): Promise<Reply> {
    const { file, begun } = this.#upload;
    let { url } = begun;
    // The connector may have removed it meanwhile.
    if (url === undefined || (await this.#locate(url))) {
      const reply = await this.#begin();
      const location = reply.header('Location');
      if (reply.status !== 201 || location === null || file.size === 0) return reply;
      url = new URL(location, new URL('tus', this.#reach.base)).href;
      begun.url = url;
    }
    for (;;) {
      const reply = await this.#sendPart(url);
      if (reply !== undefined) return reply;
    }
  }

  #begin(): Promise<Reply> {
    const { file, fields, signal } = this.#upload;
    const values = Object.entries({ filename: file.name, ...fields });
    return request(this.#reach, {
      method: 'POST',
      url: `${this.#reach.base}tus`,
      signal,
      headers: {
        ...VERSION,
        'Upload-Length': String(file.size),
        'Upload-Metadata': values.map(([key, value]) => `${key} ${base64(value)}`).join(','),
      },
    });
  }

  /**
   * Sends the next part. Returns the response that ends the upload; undefined while there is more to send.
   */
  async #sendPart(url: string): Promise<Reply | undefined> {
    const { file, begun, signal, onProgress } = this.#upload;
    const offset = this.#offset;
    onProgress(offset);
    const part = {
      of: this.#upload,
      body: file.slice(offset, offset + this.#partBytes),
      onProgress: (sent: number) => onProgress(Math.min(offset + sent, file.size)),
    };
    const headers = { 'Content-Type': 'application/offset+octet-stream', 'Upload-Offset': String(offset) };
    const reply = await ask(this.#reach, 'PATCH', { url, signal, ...part, headers }, begun);
    const reached = Number(reply.header('Upload-Offset'));
    if (reply.status === 204 && reached > offset) {
      this.#offset = reached;
      this.#failures = 0;
      remember(this.#partBytes);
      return undefined;
    }
    return reply.status === 200 ? reply : this.#recover(url, reply);
  }

  /** Reads the offset of the service, and reduces the part size if that may help. */
  async #recover(url: string, reply: Reply): Promise<Reply | undefined> {
    const { file, signal } = this.#upload;
    const tried = Math.min(this.#partBytes, file.size - this.#offset);
    if (mayBeTooLong(reply) && tried > LEAST_PART)
      this.#partBytes = Math.max(LEAST_PART, Math.ceil(tried / 2));
    else if (reply.status === 413) return reply;
    const wait = PAUSES[this.#failures];
    if (!mayPass(reply) || wait === undefined) return reply;
    this.#failures += 1;
    if (reply.status !== 413) await pause(wait, signal);
    return this.#locate(url);
  }

  /** Reads the offset of the service. Returns the response where the upload does not exist there. */
  async #locate(url: string): Promise<Reply | undefined> {
    const { begun, signal } = this.#upload;
    const head = await ask(this.#reach, 'HEAD', { url, signal }, begun);
    const known = Number(head.header('Upload-Offset') ?? this.#offset);
    if (head.status === 200 || head.status === 204) {
      if (known > this.#offset) this.#failures = 0;
      this.#offset = known;
      return undefined;
    }
    return mayPass(head) ? undefined : head;
  }
}

/** Whether something in front of the connector has rejected the method: the connector has its own form. */
const isOfBlocked = ({ status, text }: Reply): boolean =>
  [403, 405, 501].includes(status) && !isEnvelope(parsed(text));

/**
 * Sends a file in parts (tus 1.0), and continues after connection failures. Parts become smaller, down to 512
 * KB, when a proxy rejects them as too long; the page remembers the size. Resolves to the response that ends
 * the upload, including a rejection, or to the last one after some minutes without progress.
 * @throws UnreadableFile; the signal's reason
 */
export const sendInParts = (reach: Reach, upload: PartsUpload): Promise<Reply> =>
  new PartsSender(reach, upload).send();

/**
 * Asks the service to delete the parts of an abandoned upload; otherwise they take room until it
 * expires.
 */
export const removeParts = (reach: Reach, begun: Begun): void => {
  const { url } = begun;
  if (url === undefined) return;
  const { signal } = new AbortController();
  void ask(reach, 'DELETE', { url, signal }, begun).catch(() => undefined);
};

/**
 * Asks again while there is no response, for as long as an upload in parts does.
 * @throws the last error; the signal's reason
 */
export const whileUnreachable = async <Value>(
  ask: () => Promise<Value>,
  signal: AbortSignal,
): Promise<Value> => {
  for (const wait of PAUSES) {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof ConnectorError && error.code === 0)) throw error;
    }
    await pause(wait, signal);
  }
  return ask();
};
