import { envelopeText } from './answers.ts';
import type { HeadersOption, UploadAnswer, Uploader } from './editor.ts';
import type { Notices } from './notices.ts';
import type { Texts } from './texts/texts.ts';
import type { UploadPanel } from './upload-panel.ts';

/** What an upload needs of its editor. */
export interface UploadSurroundings {
  readonly texts: Texts;
  readonly panel: UploadPanel;
  readonly notices: Notices;
  /** Told of every successful answer. */
  readonly onStored: (answer: UploadAnswer) => void;
}

/** The names of the files of a form; none when the connector is asked to fetch one. */
const namesIn = (form: unknown): readonly string[] =>
  form instanceof FormData
    ? [...form.values()].flatMap((value) => (value instanceof File ? [value.name] : []))
    : [];

const isAnswer = (value: unknown): value is UploadAnswer =>
  typeof value === 'object' && value !== null && 'success' in value && 'data' in value;

const failed = (...messages: readonly string[]): UploadAnswer => ({ success: false, data: { messages } });

const headersNow = async (
  headers: HeadersOption | null | undefined,
): Promise<Readonly<Record<string, string>>> =>
  (typeof headers === 'function' ? await headers() : headers) ?? {};

/** Sends a form and resolves to the answer, whoever has given it; `undefined` when there is none. */
const send = (
  request: XMLHttpRequest,
  body: unknown,
  onProgress: (sent: number, total: number) => void,
  texts: Texts,
): Promise<UploadAnswer | undefined> =>
  new Promise((resolve) => {
    request.upload.onprogress = ({ lengthComputable, loaded, total }) => {
      if (lengthComputable) onProgress(loaded, total);
    };
    request.onload = () => {
      const text = envelopeText(request.responseText, request.status, request.statusText, texts);
      const answer: unknown = JSON.parse(text);
      resolve(isAnswer(answer) ? answer : failed(texts.noAnswer));
    };
    request.onerror = () => resolve(failed(texts.unreachable));
    request.ontimeout = request.onerror;
    request.onabort = () => resolve(undefined);
    request.send(body as XMLHttpRequestBodyInit);
  });

/**
 * Takes the place of an uploader's own sending (`customUploadFunction`): it shows how far the upload is, can
 * be cancelled, and reads the answers of refusals as those of successes.
 */
export const uploadVisibly = (
  { options }: Uploader,
  { texts, panel, notices, onStored }: UploadSurroundings,
): void => {
  // The page may have a way of its own.
  if (options.customUploadFunction !== undefined) return;
  options.customUploadFunction = async (form) => {
    const request = new XMLHttpRequest();
    let isCancelled = false;
    const row = panel.add(namesIn(form), () => {
      isCancelled = true;
      request.abort();
      row.done();
      notices.show(texts.uploadCancelled, 'info');
    });
    try {
      const headers = await headersNow(options.headers);
      request.open('POST', typeof options.url === 'function' ? options.url(form) : options.url);
      request.withCredentials = options.withCredentials ?? false;
      for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value);
      // The failure without a text is one that Jodit shows nothing of: the person has read it already.
      const answer = isCancelled ? undefined : await send(request, form, row.progress, texts);
      if (answer?.success === true) onStored(answer);
      return answer ?? failed('');
    } catch (error) {
      return failed(error instanceof Error ? error.message : texts.noAnswer);
    } finally {
      row.done();
    }
  };
};
