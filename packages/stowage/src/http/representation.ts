import { hash } from 'node:crypto';
import { pipeline, Readable, type Transform } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { promisify } from 'node:util';
import * as zlib from 'node:zlib';
import { StreamedText } from '../actions/responses.ts';
import type { YieldToLoop } from '../basics/concurrency/time-slice.ts';
import type { ConnectorResponse, HookRequest } from './message.ts';

/** Size up to which a value is serialized in one piece; larger ones are written member by member. */
const SMALL = 500;
const CHUNK = 64 * 1024;
const TEXT_PER_ITEM = 200;
const BATCH = 64;

interface Budget {
  left: number;
}

const isIterable = (value: object): value is Iterable<unknown> | AsyncIterable<unknown> =>
  Symbol.iterator in value || Symbol.asyncIterator in value;

const hasToJson = (value: object): boolean => typeof (value as { toJSON?: unknown }).toJSON === 'function';

/** Whether a value is plain JSON with few members, for which `JSON.stringify` is fast. */
const isSmall = (value: unknown, budget: Budget): boolean => {
  // A long text counts as many members: in one piece it would block the event loop.
  budget.left -= typeof value === 'string' ? 1 + Math.trunc(value.length / TEXT_PER_ITEM) : 1;
  if (typeof value !== 'object' || value === null || hasToJson(value)) return budget.left >= 0;
  if (Array.isArray(value)) {
    if (value.length > budget.left) return false;
    for (const item of value) if (!isSmall(item, budget)) return false;
    return true;
  }
  if (value instanceof StreamedText || isIterable(value)) return false;
  for (const key in value) {
    if (!isSmall((value as Record<string, unknown>)[key], budget)) return false;
  }
  return budget.left >= 0;
};

const isWrittenAtOnce = (value: unknown): boolean => isSmall(value, { left: SMALL });

const isLeftOut = (value: unknown): boolean =>
  value === undefined || typeof value === 'function' || typeof value === 'symbol';

class ChunkedJson {
  #text = '';

  async *write(value: unknown): AsyncGenerator<string> {
    yield* this.#value(value);
    if (this.#text !== '') yield this.#take();
  }

  #take(): string {
    const text = this.#text;
    this.#text = '';
    return text;
  }

  async *#value(value: unknown): AsyncGenerator<string> {
    if (value instanceof StreamedText) yield* this.#streamed(value);
    else if (isWrittenAtOnce(value) || typeof value !== 'object' || value === null)
      this.#text += JSON.stringify(value) ?? 'null';
    else if (isIterable(value)) yield* this.#list(value as Iterable<unknown>);
    else yield* this.#object(value);
  }

  async *#streamed({ chunks }: StreamedText): AsyncGenerator<string> {
    this.#text += '"';
    for await (const chunk of chunks) {
      this.#text += JSON.stringify(chunk).slice(1, -1);
      if (this.#text.length > CHUNK) yield this.#take();
    }
    this.#text += '"';
  }

  async *#list(items: Iterable<unknown> | AsyncIterable<unknown>): AsyncGenerator<string> {
    this.#text += '[';
    // Not `for await` over both: it would cost a microtask for every item of an array.
    if (Symbol.iterator in items) yield* this.#itemsInBatches(items);
    else {
      let comma = '';
      for await (const item of items) {
        this.#text += comma;
        comma = ',';
        yield* this.#value(item);
        if (this.#text.length > CHUNK) yield this.#take();
      }
    }
    this.#text += ']';
  }

  /** Small items are serialized together: one call for many takes a third less time than single calls. */
  async *#itemsInBatches(items: Iterable<unknown>): AsyncGenerator<string> {
    let comma = '';
    let batch: unknown[] = [];
    const writeBatch = (): void => {
      if (batch.length === 0) return;
      this.#text += comma + JSON.stringify(batch).slice(1, -1);
      comma = ',';
      batch = [];
    };
    for (const item of items) {
      if (isWrittenAtOnce(item)) {
        if (batch.push(item) < BATCH) continue;
        writeBatch();
      } else {
        writeBatch();
        this.#text += comma;
        comma = ',';
        yield* this.#value(item);
      }
      if (this.#text.length > CHUNK) yield this.#take();
    }
    writeBatch();
  }

  async *#object(members: object): AsyncGenerator<string> {
    this.#text += '{';
    let comma = '';
    for (const [key, value] of Object.entries(members)) {
      if (isLeftOut(value)) continue;
      this.#text += `${comma}${JSON.stringify(key)}:`;
      comma = ',';
      yield* this.#value(value);
      if (this.#text.length > CHUNK) yield this.#take();
    }
    this.#text += '}';
  }
}

const toStream = (first: string, rest: AsyncGenerator<string>, yieldToLoop: YieldToLoop): Readable => {
  let begun = false;
  return new Readable({
    highWaterMark: CHUNK,
    read() {
      if (!begun) {
        begun = true;
        this.push(first);
        return;
      }
      // Yields to the event loop between two chunks.
      yieldToLoop()
        .then(() => rest.next())
        .then(
          ({ done, value }) => this.push(done === true ? null : value),
          (error: unknown) => this.destroy(error as Error),
        );
    },
    destroy(error, done) {
      rest.return(undefined).then(() => {
        done(error);
      }, done);
    },
  });
};

/**
 * Serializes a value as JSON. Small values are returned as one string. Others, and all that contain iterables
 * (written as lists), become a stream of bounded chunks that respects back-pressure and blocks the event loop
 * for at most one chunk: each waits for `yieldToLoop`. Rejects when the value fails within the first 64 KB;
 * after that the stream fails.
 */
export const writeJson = async (
  value: unknown,
  yieldToLoop: YieldToLoop = () => nextTurn(),
): Promise<string | Readable> => {
  if (isWrittenAtOnce(value)) return JSON.stringify(value);
  const chunks = new ChunkedJson().write(value);
  await yieldToLoop();
  const first = await chunks.next();
  if (first.done === true) return 'null';
  if (first.value.length <= CHUNK) {
    const second = await chunks.next();
    if (second.done === true) return first.value;
    return toStream(first.value + second.value, chunks, yieldToLoop);
  }
  return toStream(first.value, chunks, yieldToLoop);
};

/** Shorter responses fit into one packet with their headers. */
const LEAST_BYTES = 1024;

/** By preference among codings with the same weight: Brotli is smaller and faster here. */
const CODINGS = ['br', 'gzip'] as const;
type Coding = (typeof CODINGS)[number];

// Chosen for listings: higher levels take twice the time for some percent. The window limits the memory of a
// stream.
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

/**
 * The supported coding with the highest weight for the client; undefined: no compression.
 * @see https://www.rfc-editor.org/rfc/rfc9110#section-12.5.3
 */
const codingFor = (accepted: string | undefined): Coding | undefined => {
  if (accepted === undefined) return undefined;
  const weights = new Map<string, number>();
  for (const part of accepted.slice(0, 500).toLowerCase().split(',')) {
    const [name = '', ...parameters] = part.split(';').map((text) => text.trim());
    const weight = parameters.find((text) => text.startsWith('q='))?.slice(2) ?? '1';
    // A coding with an invalid weight counts as not accepted: every client can read uncompressed text.
    weights.set(name === 'x-gzip' ? 'gzip' : name, Number(weight) || 0);
  }
  const weightOf = (coding: string): number => weights.get(coding) ?? weights.get('*') ?? 0;
  const identity = weights.get('identity') ?? 0;
  const [best] = [...CODINGS].sort((one, other) => weightOf(other) - weightOf(one));
  return best !== undefined && weightOf(best) > 0 && weightOf(best) >= identity ? best : undefined;
};

export interface RepresentationRules {
  readonly compresses: boolean;
  /** Browsers may store the response and revalidate it. */
  readonly isKept: boolean;
}

type Sent = ConnectorResponse & { readonly body: string | Readable | undefined };

const isJson = (response: ConnectorResponse): response is Sent =>
  response.headers['content-type']?.startsWith('application/json') === true &&
  !(response.body instanceof Uint8Array);

const isLong = ({ headers, body }: Sent): boolean =>
  // A stream has no known length; HEAD has no length for it either.
  typeof body === 'string'
    ? Number(headers['content-length']) >= LEAST_BYTES
    : headers['content-length'] === undefined;

const tagOf = (text: string): string => `"${hash('sha256', text, 'base64url').slice(0, 27)}"`;

/** Whether a list of entity tags contains one. Tags may contain commas, so the list is matched, not split. */
export const listMatches = (header: string, etag: string | undefined, weak: boolean): boolean => {
  if (header.trim() === '*') return true;
  const tags = header.match(/(?:W\/)?"[^"]*"/gu) ?? [];
  return tags.some((tag) => (weak ? tag.replace(/^W\//u, '') : tag) === etag);
};

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
  // A failure of either ends both; the receiver of the response handles it.
  pipeline(body, packing, () => undefined);
  return { ...response, headers: coded, body: packing };
};

/**
 * Adapts a response to the client: JSON of a kilobyte or more is compressed if accepted, and a GET whose
 * response equals the client's copy gets 304. Files are sent unchanged: their ranges and versions refer to
 * the stored bytes.
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
    const tag = tagOf(response.body);
    // Weak: the same response may come in several codings.
    headers['etag'] = `W/${tag}`;
    headers['cache-control'] = 'private, no-cache';
    if (listMatches(asked['if-none-match'] ?? '', tag, true)) {
      const { etag, 'cache-control': cacheControl, vary } = headers;
      const kept = { etag, 'cache-control': cacheControl, ...(vary === undefined ? {} : { vary }) };
      return { status: 304, headers: kept, body: undefined };
    }
  }
  const coding = compresses ? codingFor(asked['accept-encoding']) : undefined;
  const shown = { ...response, headers };
  return coding === undefined ? shown : compressed(shown, coding, method);
};
