import { fill, type Texts } from './texts/texts.ts';

/** Statuses of answers whose body is read instead of their reason phrase. */
export const readableStatuses: readonly number[] = [
  ...[200, 201, 202],
  ...Array.from({ length: 200 }, (_, index) => 400 + index),
];

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

/** Whether a value has the form of an answer; those of other programs may have `data` that is null. */
export const isEnvelope = (value: unknown): boolean =>
  isObject(value) && 'success' in value && 'data' in value && isObject(value.data);

/** What an error of another program says: problem details, messages of gateways and frameworks. */
const wordsOf = (value: unknown): string | undefined => {
  if (typeof value !== 'object' || value === null) return undefined;
  const fields = value as Readonly<Record<string, unknown>>;
  return ['detail', 'message', 'error', 'title']
    .map((name) => fields[name])
    .find((text): text is string => typeof text === 'string' && text !== '');
};

const titleOf = (html: string): string | undefined => {
  const title = /<title[^>]*>([^<]*)/iu.exec(html)?.[1]?.trim();
  return title === '' ? undefined : title;
};

/** What a text of JSON holds; `undefined` when it is none. */
export const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

/** What a person should read when something other than the connector has answered: a proxy, a login page. */
const foreignAnswer = (text: string, status: number, reason: string, texts: Texts): string => {
  const phrase = status >= 400 && reason !== '' ? `${String(status)} ${reason}` : undefined;
  const words =
    wordsOf(parsed(text)) ?? phrase ?? titleOf(text) ?? (status >= 400 ? String(status) : undefined);
  return words === undefined ? texts.noAnswer : fill(texts.foreignAnswer, { reason: words });
};

/**
 * The answer as Jodit understands it. Jodit 4.15.13 parses everything as JSON, and people read
 * `Unexpected token '<'` when a proxy has answered with a page of its own.
 */
export const envelopeText = (text: string, status: number, reason: string, texts: Texts): string => {
  // Long listings are successes; only short answers, and those cut off, are parsed here, and again by Jodit.
  if (status < 400 && /^\s*\{/u.test(text) && text.trimEnd().endsWith('}')) return text;
  if (isEnvelope(parsed(text))) return text;
  const messages = [foreignAnswer(text, status, reason, texts)];
  return JSON.stringify({ success: false, data: { code: status, messages } });
};

/**
 * A request whose text is always an envelope, and that stays broken off: Jodit 4.15.13 sends a moment after
 * it has opened a request, also when that was aborted meanwhile, and then shows whichever answer comes last.
 */
export const readableRequest = (texts: Texts): XMLHttpRequest => {
  const request = new XMLHttpRequest();
  let isAborted = false;
  Object.defineProperties(request, {
    responseText: {
      get: () =>
        envelopeText(
          String(Reflect.get(XMLHttpRequest.prototype, 'responseText', request)),
          request.status,
          request.statusText,
          texts,
        ),
    },
    abort: {
      value: () => {
        isAborted = true;
        XMLHttpRequest.prototype.abort.call(request);
      },
    },
    send: {
      value: (body?: XMLHttpRequestBodyInit) => {
        if (isAborted) request.dispatchEvent(new ProgressEvent('abort'));
        else XMLHttpRequest.prototype.send.call(request, body);
      },
    },
  });
  return request;
};
