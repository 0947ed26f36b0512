/** Characters of a text that are examined: pages are long, and identify themselves at the beginning. */
const LOOKED_AT = 65_536;

/** The response to a request. */
export interface Answer {
  readonly status: number;
  /** The reason phrase; empty over HTTP/2. */
  readonly phrase: string;
  readonly text: string;
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null;

/** Parses JSON; `undefined` when it is invalid, truncated or empty. */
export const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

/** The message in an error of another program: problem details, messages of gateways and frameworks. */
const wordsOf = (value: unknown): string | undefined =>
  ['detail', 'message', 'error', 'title']
    .map((name) => (isObject(value) ? value[name] : undefined))
    .find((text): text is string => typeof text === 'string' && text !== '');

const titleOf = (html: string): string | undefined => {
  const title = /<title[^>]*>([^<]*)/iu.exec(html)?.[1]?.trim();
  return title === '' ? undefined : title;
};

/** Whether a value is an envelope of the connector; the `data` of other programs may be null. */
export const isEnvelope = (value: unknown): value is { readonly success: unknown; readonly data: object } =>
  isObject(value) && 'success' in value && isObject(value['data']);

/** A readable reason when the response is not from the connector, but from a proxy or a login page. */
export const reasonOf = (text: string, status: number, phrase: string): string | undefined => {
  const beginning = text.slice(0, LOOKED_AT);
  const own = status >= 400 && phrase !== '' ? `${String(status)} ${phrase}` : undefined;
  return (
    wordsOf(parsed(beginning)) ?? own ?? titleOf(beginning) ?? (status >= 400 ? String(status) : undefined)
  );
};

/** The beginning of a body, as text. The rest is cancelled. */
export const beginningOf = async (response: Response): Promise<string> => {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  while (reader !== undefined && text.length < LOOKED_AT) {
    const { done, value } = await reader.read();
    if (done) return text;
    text += value;
  }
  await reader?.cancel();
  return text;
};
