import { envelopeText } from './answers.ts';
import type { UploadAnswer } from './editor.ts';
import type { Texts } from './texts/texts.ts';

/** The version of tus that is spoken here. */
const VERSION = { 'Tus-Resumable': '1.0.0' };
/** Bytes of one request: proxies have limits for bodies and for their time. */
const PART_BYTES = 16 * 1024 * 1024;
/** Pauses before the next try, in milliseconds; after all of them without a byte more it is given up. */
const PAUSES = [500, 1000, 2000, 5000, 10_000, 15_000, 15_000, 15_000, 15_000, 15_000];

/** How a file is sent. */
export interface Sending {
  /** Where uploads in parts begin: `https://example.com/connector/tus`. */
  readonly endpoint: string;
  /** `source` and `path` of the upload. */
  readonly fields: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, string>>;
  readonly withCredentials: boolean;
  readonly signal: AbortSignal;
  readonly texts: Texts;
  readonly onProgress: (sent: number) => void;
}

interface Reply {
  readonly status: number;
  readonly text: string;
  readonly header: (name: string) => string | null;
}

type Sendable = Omit<Sending, 'endpoint' | 'fields'>;

/** One request; status 0 where no answer has come. @throws the signal's reason */
const request = (
  method: string,
  url: string,
  { headers, withCredentials, signal, onProgress }: Sendable,
  more: Readonly<Record<string, string>> = {},
  part?: { readonly body: Blob; readonly offset: number },
): Promise<Reply> =>
  new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const sending = new XMLHttpRequest();
    const abort = (): void => sending.abort();
    signal.addEventListener('abort', abort, { once: true });
    sending.onloadend = () => {
      signal.removeEventListener('abort', abort);
      if (signal.aborted) return reject(signal.reason as Error);
      const { status, responseText: text } = sending;
      resolve({ status, text, header: (name) => sending.getResponseHeader(name) });
    };
    sending.open(method, url);
    sending.withCredentials = withCredentials;
    for (const [name, value] of Object.entries({ ...headers, ...VERSION, ...more }))
      sending.setRequestHeader(name, value);
    if (part !== undefined) sending.upload.onprogress = ({ loaded }) => onProgress(part.offset + loaded);
    sending.send(part?.body);
  });

const base64 = (text: string): string =>
  btoa(Array.from(new TextEncoder().encode(text), (byte) => String.fromCharCode(byte)).join(''));

const answerOf = ({ status, text }: Reply, texts: Texts): UploadAnswer =>
  status === 0
    ? { success: false, data: { messages: [texts.unreachable] } }
    : (JSON.parse(envelopeText(text, status, '', texts)) as UploadAnswer);

/** Waits, or less when the browser is online again. @throws the signal's reason */
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

/** Whether asking again may help: no answer, a gateway or store that is down, another offset. */
const mayPass = ({ status }: Reply): boolean =>
  status === 0 || [408, 409, 423, 429].includes(status) || (status >= 500 && status !== 501);

const begin = async (file: File, sending: Sending): Promise<Reply> => {
  const values = Object.entries({ filename: file.name, ...sending.fields });
  return request('POST', sending.endpoint, sending, {
    'Upload-Length': String(file.size),
    'Upload-Metadata': values.map(([key, value]) => `${key} ${base64(value)}`).join(','),
  });
};

/**
 * Sends a file in parts, and goes on where it was when the connection breaks. Resolves to the answer, also to
 * one that refuses; gives up after some minutes without a byte more.
 * @throws the signal's reason, when the service has been asked to drop what it has
 */
export const sendInParts = async (file: File, sending: Sending): Promise<UploadAnswer> => {
  const { signal, texts, onProgress } = sending;
  const begun = await begin(file, sending);
  const location = begun.header('Location');
  if (begun.status !== 201 || location === null || file.size === 0) return answerOf(begun, texts);
  const url = new URL(location, sending.endpoint).href;
  try {
    let offset = 0;
    for (let failures = 0; ;) {
      onProgress(offset);
      const part = { body: file.slice(offset, offset + PART_BYTES), offset };
      const type = { 'Content-Type': 'application/offset+octet-stream', 'Upload-Offset': String(offset) };
      const reply = await request('PATCH', url, sending, type, part);
      if (reply.status === 204) {
        offset = Number(reply.header('Upload-Offset'));
        failures = 0;
        continue;
      }
      const wait = PAUSES[failures];
      if (!mayPass(reply) || wait === undefined) return answerOf(reply, texts);
      failures += 1;
      await pause(wait, signal);
      const head = await request('HEAD', url, sending);
      const known = Number(head.header('Upload-Offset') ?? offset);
      if (known > offset) failures = 0;
      if (head.status === 200) offset = known;
      else if (!mayPass(head)) return answerOf(head, texts);
    }
  } catch (error) {
    if (signal.aborted) void request('DELETE', url, { ...sending, signal: new AbortController().signal });
    throw error;
  }
};
