import type { Answer } from '../client/foreign-answer.ts';

/** How a connector is reached. */
export interface Reach {
  /** Where the connector is mounted, with a slash at the end. */
  readonly base: string;
  /** Asked before each request. */
  readonly headers: () => Promise<Readonly<Record<string, string>>>;
  readonly withCredentials: boolean;
}

/** What has come back; status 0 where nothing has. */
export interface Reply extends Answer {
  readonly header: (name: string) => string | null;
}

export interface Sent {
  readonly method: string;
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly body?: Blob | FormData | undefined;
  readonly signal: AbortSignal;
  /** Bytes of the body that have left. */
  readonly onProgress?: ((sent: number) => void) | undefined;
}

/** One request with the progress of its body, which `fetch` does not tell. @throws the signal's reason */
export const request = async (reach: Reach, sent: Sent): Promise<Reply> => {
  const { method, url, body, signal, onProgress } = sent;
  const headers = { ...(await reach.headers()), ...sent.headers };
  signal.throwIfAborted();
  return new Promise((resolve, reject) => {
    const sending = new XMLHttpRequest();
    const abort = (): void => sending.abort();
    signal.addEventListener('abort', abort, { once: true });
    sending.onloadend = () => {
      signal.removeEventListener('abort', abort);
      if (signal.aborted) return reject(signal.reason as Error);
      const { status, statusText: phrase, responseText: text } = sending;
      resolve({ status, phrase, text, header: (name) => sending.getResponseHeader(name) });
    };
    sending.open(method, url);
    sending.withCredentials = reach.withCredentials;
    for (const [name, value] of Object.entries(headers)) sending.setRequestHeader(name, value);
    if (onProgress !== undefined) sending.upload.onprogress = ({ loaded }) => onProgress(loaded);
    sending.send(body);
  });
};
