import { envelopeText, isEnvelope, parsed } from './answers.ts';
import type { Calls } from './calls.ts';
import type { HeadersOption, UploadAnswer, Uploader } from './editor.ts';
import { type LargeFiles, together } from './large-files.ts';
import type { Notices } from './notices.ts';
import { findStored, joinAnswers } from './stored-uploads.ts';
import type { Texts } from './texts/texts.ts';
import type { UploadPanel } from './upload-panel.ts';

/** What an upload needs of its editor. */
export interface UploadSurroundings {
  readonly texts: Texts;
  readonly panel: UploadPanel;
  readonly notices: Notices;
  readonly large: LargeFiles;
  readonly calls: Calls;
  /** Told of every successful answer. */
  readonly onStored: (answer: UploadAnswer) => void;
}

/** The names of the files of a form; none when the connector is asked to fetch one. */
const namesIn = (form: unknown): readonly string[] =>
  form instanceof FormData
    ? [...form.values()].flatMap((value) => (value instanceof File ? [value.name] : []))
    : [];

const isAnswer = (value: unknown): value is UploadAnswer => isEnvelope(value);

const failed = (...messages: readonly string[]): UploadAnswer => ({ success: false, data: { messages } });

const headersNow = async (
  headers: HeadersOption | null | undefined,
): Promise<Readonly<Record<string, string>>> =>
  (typeof headers === 'function' ? await headers() : headers) ?? {};

/** Statuses of a proxy whose service is away or has no room for the moment. */
const BROKEN: readonly number[] = [502, 503, 504];

/** What came of sending a form. */
interface Sent {
  readonly answer: UploadAnswer;
  /** The connection broke, or a proxy has answered: sending it again may help. */
  readonly isBroken: boolean;
  /** Whether all of it has left: only then the service may have stored it without our hearing of it. */
  readonly isWhole: boolean;
}

/**
 * Sends a form and resolves to the response of any program; `undefined` when it was cancelled before it had
 * left.
 */
const send = (
  request: XMLHttpRequest,
  body: unknown,
  onProgress: (sent: number, total: number) => void,
  texts: Texts,
): Promise<Sent | undefined> =>
  new Promise((resolve) => {
    let isWhole = false;
    request.upload.onload = () => {
      isWhole = true;
    };
    request.upload.onprogress = ({ lengthComputable, loaded, total }) => {
      if (lengthComputable) onProgress(loaded, total);
    };
    request.onload = () => {
      const answer = parsed(envelopeText(request.responseText, request.status, request.statusText, texts));
      const isBroken = BROKEN.includes(request.status);
      resolve({ answer: isAnswer(answer) ? answer : failed(texts.noAnswer), isBroken, isWhole });
    };
    request.onerror = () => resolve({ answer: failed(texts.unreachable), isBroken: true, isWhole });
    request.ontimeout = request.onerror;
    // Bytes that have left may be stored: "nothing was stored" would be a guess.
    request.onabort = () =>
      resolve(isWhole ? { answer: failed(texts.uploadStopped), isBroken: false, isWhole } : undefined);
    request.send(body as XMLHttpRequestBodyInit);
  });

/** One upload while it runs. */
interface Running {
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  readonly progress: (sent: number, total: number) => void;
  /** Hides how far it is, and shows it again. */
  readonly hide: (isHidden: boolean) => void;
}

/** Sends a form as one request. */
const sendOnce = async (
  { url, withCredentials = false }: Uploader['options'],
  form: unknown,
  { headers, signal, progress }: Running,
  texts: Texts,
): Promise<Sent | undefined> => {
  if (signal.aborted) return undefined;
  const request = new XMLHttpRequest();
  signal.addEventListener('abort', () => request.abort());
  request.open('POST', typeof url === 'function' ? url(form) : url);
  request.withCredentials = withCredentials;
  for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value);
  return send(request, form, progress, texts);
};

const textOf = ({ data: { messages = [] } }: UploadAnswer): string => messages.join(' ');

/**
 * Asks the person whether to send a form again that has broken off, and resolves to what of it has arrived
 * and what is to be sent; `undefined` when the person gives up.
 */
const whatIsLeft = async (
  form: unknown,
  { answer, isWhole }: Sent,
  { since, signal }: { readonly since: number; readonly signal: AbortSignal },
  { panel, calls }: UploadSurroundings,
): Promise<{ readonly stored: UploadAnswer | undefined; readonly rest: unknown } | undefined> => {
  for (let reason = textOf(answer); (await panel.brokeOff(reason)) === 'again';) {
    if (!isWhole || !(form instanceof FormData)) return { stored: undefined, rest: form };
    try {
      return await findStored(calls, form, since, signal);
    } catch (error) {
      if (signal.aborted) return undefined;
      reason = error instanceof Error ? error.message : String(error);
    }
  }
  return undefined;
};

type SendForm = (
  options: Uploader['options'],
  form: unknown,
  running: Running,
  surroundings: UploadSurroundings,
) => Promise<UploadAnswer | undefined>;

/**
 * Sends a form; when that breaks off, again as often as the person wants, without the files that have
 * arrived. Resolves to the answer about all of its files; `undefined` when the person has given up.
 */
const sendForm: SendForm = async (options, form, running, surroundings) => {
  const attempt = { since: Date.now(), signal: running.signal };
  let stored: UploadAnswer | undefined;
  for (let rest: unknown = form; rest !== undefined;) {
    const sent = await sendOnce(options, rest, running, surroundings.texts);
    if (sent === undefined) break;
    if (!sent.isBroken) return joinAnswers(stored, sent.answer);
    running.hide(true);
    const left = await whatIsLeft(rest, sent, attempt, surroundings);
    running.hide(false);
    if (left === undefined) break;
    if (left.stored !== undefined) stored = joinAnswers(stored, left.stored);
    rest = left.rest;
  }
  return stored;
};

/**
 * Sends a form, its large files each by itself. A failure then is reported, and neither that nor a
 * cancellation hides what was stored.
 */
const sendAll: SendForm = async (options, form, running, surroundings) => {
  const { large, notices } = surroundings;
  const split = await large.split(form);
  if (split === undefined) return sendForm(options, form, running, surroundings);
  const { signal, headers, progress } = running;
  const total = split.large.reduce((sum, { size }) => sum + size, split.restBytes ?? 0);
  const answers: UploadAnswer[] = [];
  let before = 0;
  if (split.restBytes !== undefined) {
    const ofRest = { ...running, progress: (sent: number) => progress(sent, total) };
    const answer = await sendForm(options, split.rest, ofRest, surroundings);
    if (answer === undefined || !answer.success) return answer;
    answers.push(answer);
    before = split.restBytes;
  }
  for (const file of split.large) {
    const start = before;
    const onProgress = (sent: number): void => progress(start + sent, total);
    try {
      signal.throwIfAborted();
      answers.push(await large.send(file, split.rest, { headers, signal, onProgress }));
    } catch (error) {
      if (!signal.aborted) throw error;
      break;
    }
    before += file.size;
  }
  const isMixed = answers.some(({ success }) => success) && answers.length > 1;
  for (const { success, data } of answers) {
    if (isMixed && !success) notices.show((data.messages ?? []).join(' '), 'error');
  }
  return answers.length === 0 ? undefined : together(answers);
};

/** Says what a cancelled upload has left behind. */
const cancelledText = (answer: UploadAnswer | undefined, texts: Texts): string => {
  if (answer === undefined) return texts.uploadCancelled;
  return answer.success ? texts.uploadStopped : textOf(answer) || texts.uploadCancelled;
};

/**
 * Replaces an uploader's own sending (`customUploadFunction`): it shows how far the upload is, can
 * be cancelled and sent again when it has broken off, and reads the answers of refusals as those of
 * successes.
 */
export const uploadVisibly = ({ options }: Uploader, surroundings: UploadSurroundings): void => {
  const { texts, panel, notices, onStored } = surroundings;
  // The page may have a way of its own.
  if (options.customUploadFunction !== undefined) return;
  options.customUploadFunction = async (form) => {
    const cancelling = new AbortController();
    const { signal } = cancelling;
    const row = panel.add(namesIn(form), () => {
      cancelling.abort();
      row.done();
    });
    try {
      const headers = await headersNow(options.headers);
      const running = { headers, signal, progress: row.progress, hide: row.hide };
      // The failure without a text is one that Jodit shows nothing of: the person has read it already.
      const answer = await sendAll(options, form, running, surroundings);
      if (answer?.success === true) onStored(answer);
      if (!signal.aborted) return answer ?? failed('');
      notices.show(cancelledText(answer, texts), 'info');
      return answer?.success === true ? answer : failed('');
    } catch (error) {
      if (!signal.aborted) return failed(error instanceof Error ? error.message : texts.noAnswer);
      notices.show(texts.uploadCancelled, 'info');
      return failed('');
    } finally {
      row.done();
    }
  };
};
