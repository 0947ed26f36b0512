import { isEnvelope, parsed, reasonOf } from '../client/foreign-answer.ts';
import { englishTexts, fill, loadTexts, type Texts } from '../picker/texts.ts';

/** Statuses for which the body is read instead of the reason phrase. */
export const readableStatuses: readonly number[] = [
  ...[200, 201, 202],
  ...[...new Uint8Array(200)].map((_, index) => 400 + index),
];

/**
 * The response as an envelope. Jodit 4.15.13 parses everything as JSON, and users would see `Unexpected token
 * '<'` when a proxy has responded with its own page.
 */
const envelopeText = (text: string, status: number, phrase: string, texts: Texts): string => {
  if (isEnvelope(parsed(text))) return text;
  const reason = reasonOf(text, status, phrase);
  const message =
    reason === undefined ? texts.trouble.noAnswer : fill(texts.trouble.foreignAnswer, { reason });
  return JSON.stringify({ success: false, data: { code: status, messages: [message] } });
};

/** Creates requests whose response text is always an envelope. */
export const readableRequests = (language: string): (() => XMLHttpRequest) => {
  let texts: Texts = englishTexts;
  return () => {
    if (texts === englishTexts) void loadTexts(language).then((loaded) => (texts = loaded));
    const request = new XMLHttpRequest();
    Object.defineProperty(request, 'responseText', {
      get: () => {
        const text = String(Reflect.get(XMLHttpRequest.prototype, 'responseText', request));
        return envelopeText(text, request.status, request.statusText, texts);
      },
    });
    return request;
  };
};
