import { createHash } from 'node:crypto';
import { pipeline, type Readable, type Transform } from 'node:stream';
import { promisify } from 'node:util';
import * as zlib from 'node:zlib';
import { hasVersion } from './file-response.ts';
import type { ConnectorResponse, HookRequest } from './message.ts';

/** Shorter answers fit into the packet that their headers travel in. */
const LEAST_BYTES = 1024;

/** In the order of preference where a client likes several as much: Brotli is smaller and faster here. */
const CODINGS = ['br', 'gzip'] as const;
type Coding = (typeof CODINGS)[number];

// Chosen for listings: higher ones take twice the time for some percent. The window bounds the memory of a stream.
const { BROTLI_PARAM_QUALITY, BROTLI_PARAM_LGWIN, BROTLI_PARAM_MODE, BROTLI_MODE_TEXT } = zlib.constants;
const BROTLI = {
  params: {
    [BROTLI_PARAM_QUALITY]: 1,
    [BROTLI_PARAM_LGWIN]: 18,
    [BROTLI_PARAM_MODE]: BROTLI_MODE_TEXT,
  },
};
const GZIP = { level: 4 };

const brotli = promisify<zlib.InputType, zlib.BrotliOptions, Buffer>(zlib.brotliCompress);
const gzip = promisify<zlib.InputType, zlib.ZlibOptions, Buffer>(zlib.gzip);

const whole = (coding: Coding, text: string | Uint8Array): Promise<Buffer> =>
  coding === 'br' ? brotli(text, BROTLI) : gzip(text, GZIP);

const streaming = (coding: Coding): Transform =>
  coding === 'br' ? zlib.createBrotliCompress(BROTLI) : zlib.createGzip(GZIP);

const WEIGHT = /^q=([01](?:\.\d{0,3})?)$/iu;

/**
 * The coding that a client likes best of those that are made here; undefined: it takes the answer as it is.
 * @see https://www.rfc-editor.org/rfc/rfc9110#section-12.5.3
 */
const codingFor = (accepted: string | undefined): Coding | undefined => {
  if (accepted === undefined) return undefined;
  const weights = new Map<string, number>();
  for (const part of accepted.slice(0, 500).toLowerCase().split(',')) {
    const [name = '', ...parameters] = part.split(';').map((text) => text.trim());
    const weight = parameters.map((text) => WEIGHT.exec(text)?.[1]).find((found) => found !== undefined);
    weights.set(name === 'x-gzip' ? 'gzip' : name, Number(weight ?? 1));
  }
  const weightOf = (coding: string): number => weights.get(coding) ?? weights.get('*') ?? 0;
  const identity = weights.get('identity') ?? 0;
  const [best] = [...CODINGS].sort((one, other) => weightOf(other) - weightOf(one));
  return best !== undefined && weightOf(best) > 0 && weightOf(best) >= identity ? best : undefined;
};

/** How answers may be told to the client of one request. */
export interface RepresentationRules {
  readonly compresses: boolean;
  /** Browsers may keep the answer and ask whether it is still the same. */
  readonly isKept: boolean;
}

type Sent = ConnectorResponse & { readonly body: string | Readable | undefined };

const isJson = (response: ConnectorResponse): response is Sent =>
  response.headers['content-type']?.startsWith('application/json') === true &&
  !(response.body instanceof Uint8Array);

const isLong = ({ headers, body }: Sent): boolean =>
  // A stream has no length; HEAD has none of it either.
  typeof body === 'string'
    ? Number(headers['content-length']) >= LEAST_BYTES
    : headers['content-length'] === undefined;

/** Weak: the same answer may come in several codings. */
const tagOf = (text: string): string =>
  `W/"${createHash('sha256').update(text).digest('base64url').slice(0, 27)}"`;

const compressed = async (response: Sent, coding: Coding, method: string): Promise<ConnectorResponse> => {
  const { 'content-length': _, ...headers } = response.headers;
  const coded = { ...headers, 'content-encoding': coding };
  const { body } = response;
  if (typeof body === 'string') {
    const bytes = await whole(coding, body);
    return { ...response, headers: { ...coded, 'content-length': String(bytes.length) }, body: bytes };
  }
  if (body === undefined || method === 'HEAD') return { ...response, headers: coded };
  const packing = streaming(coding);
  // A failure of either ends both; the receiver of the answer meets it.
  pipeline(body, packing, () => undefined);
  return { ...response, headers: coded, body: packing };
};

/**
 * The answer in the form that suits the client: JSON of a kilobyte or more is compressed when asked for, and a GET
 * of it that has not changed since the client's copy is answered without a body. Files stay as they are stored:
 * their ranges and versions are those of the bytes.
 */
export const represented = async (
  response: ConnectorResponse,
  { method, headers: asked }: HookRequest,
  { compresses, isKept }: RepresentationRules,
): Promise<ConnectorResponse> => {
  if (!isJson(response) || !isLong(response)) return response;
  const headers: Record<string, string> = { ...response.headers };
  if (compresses) headers['vary'] = 'Accept-Encoding';
  if (isKept && response.status === 200 && typeof response.body === 'string') {
    headers['etag'] = tagOf(response.body);
    headers['cache-control'] = 'private, no-cache';
    if (hasVersion(asked['if-none-match'], headers['etag'])) {
      const { etag, 'cache-control': cacheControl, vary } = headers;
      const kept = { etag, 'cache-control': cacheControl, ...(vary === undefined ? {} : { vary }) };
      return { status: 304, headers: kept, body: undefined };
    }
  }
  const coding = compresses ? codingFor(asked['accept-encoding']) : undefined;
  const shown = { ...response, headers };
  return coding === undefined ? shown : compressed(shown, coding, method);
};
