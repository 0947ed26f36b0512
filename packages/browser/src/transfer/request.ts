import type { Answer } from '../client/foreign-answer.ts';

/** Address and options of a connector. */
export interface Reach {
  /** URL of the mount, with a trailing slash. */
  readonly base: string;
  /** Called before each request. */
  readonly headers: () => Promise<Readonly<Record<string, string>>>;
  readonly withCredentials: boolean;
}

/** The response to a request; status 0 if there was none. */
export interface Reply extends Answer {
  readonly header: (name: string) => string | null;
}

export interface Sent {
  readonly method: string;
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly body?: Blob | FormData | undefined;
  /** The file of which the body has bytes. */
  readonly of?: { readonly file: File; readonly begun: Begun } | undefined;
  readonly signal: AbortSignal;
  /** Called with the bytes of the body sent so far. */
  readonly onProgress?: ((sent: number) => void) | undefined;
  /** Whether the response may take any time after the last byte: without it, the file is not stored. */
  readonly isPatient?: boolean | undefined;
}

/** Time in milliseconds after which a request without progress fails. Browsers may wait for much longer. */
export const SILENCE = 90_000;

/**
 * As `AbortSignal.any`. Safari 26 forgets such a signal after a while if only a request uses it, so that it
 * aborts nothing; one with a listener is kept.
 */
export const anyOf = (signals: AbortSignal[]): AbortSignal => {
  const signal = AbortSignal.any(signals);
  signal.addEventListener('abort', () => undefined);
  return signal;
};

/** A file that the browser can no longer read: it was changed or removed after it was chosen. */
export class UnreadableFile extends Error {}

/** What the attempts for a file share: a later one continues where an earlier has ended. */
export interface Begun {
  /** Address of the parts; undefined before the first one. */
  url?: string | undefined;
  /** Something in front of the connector passes only POST. */
  isPostOnly?: boolean;
  /** Checksum of both ends of the file that is sent. */
  ends?: number;
}

/** Bytes of an end. */
const END = 2 ** 16;

/**
 * Of a file that cannot be read, Chrome reports a lost connection, Firefox sends nothing and waits, and Safari
 * sends an empty one. Firefox also mixes parts from before and after a change. @throws UnreadableFile
 */
const requireUnchanged = async ({ file, begun }: NonNullable<Sent['of']>): Promise<void> => {
  const both = new Blob([file.slice(0, END), file.slice(-END)]);
  const bytes = new Uint8Array(await both.arrayBuffer().catch(() => new ArrayBuffer()));
  const ends = bytes.reduce((sum, byte) => (Math.imul(sum, 31) + byte) | 0, bytes.length);
  if (bytes.length < both.size || (begun.ends ??= ends) !== ends) throw new UnreadableFile();
};

const NO_REPLY: Reply = { status: 0, phrase: '', text: '', header: () => null };

/**
 * Sends a request with progress of its body, which `fetch` does not support. If the page cannot fetch its
 * headers, such as a new token (a `TypeError`), or nothing moves for long, the result is a reply with status 0.
 * @throws UnreadableFile; the signal's reason; other errors of the page's headers
 */
export const request = async (reach: Reach, sent: Sent): Promise<Reply> => {
  const { method, url, body, of, signal, onProgress, isPatient } = sent;
  const own = await reach.headers().catch((error: unknown) => {
    if (error instanceof TypeError) return undefined;
    throw error;
  });
  if (of) await requireUnchanged(of);
  signal.throwIfAborted();
  if (own === undefined) return NO_REPLY;
  const headers = { ...own, ...sent.headers };
  return new Promise((resolve, reject) => {
    const sending = new XMLHttpRequest();
    const abort = (): void => sending.abort();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const wait = (isEndless = false): void => {
      clearTimeout(timer);
      if (!isEndless) timer = setTimeout(abort, SILENCE);
    };
    signal.addEventListener('abort', abort, { once: true });
    sending.onloadend = () => {
      wait(true);
      signal.removeEventListener('abort', abort);
      if (signal.aborted) return reject(signal.reason as Error);
      const { status, statusText: phrase, responseText: text } = sending;
      resolve({ status, phrase, text, header: (name) => sending.getResponseHeader(name) });
    };
    sending.open(method, url);
    sending.withCredentials = reach.withCredentials;
    for (const [name, value] of Object.entries(headers)) sending.setRequestHeader(name, value);
    if (onProgress !== undefined)
      sending.upload.onprogress = ({ loaded, total }) => {
        // Firefox fires `load` of the upload only with the response.
        wait(isPatient && loaded === total);
        onProgress(loaded);
      };
    // From the first progress on: browsers report none of a body that a service worker of the page sends.
    wait(onProgress !== undefined);
    sending.send(body);
  });
};
