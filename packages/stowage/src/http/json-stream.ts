import { Readable } from 'node:stream';
import { StreamedText } from '../actions/file-answer.ts';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { YieldToLoop } from '../basics/concurrency/time-slice.ts';

/** Values that are written as one piece: above it, lists and objects are written member by member. */
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

/** Whether a value is plain JSON of few members, so that `JSON.stringify` writes it in no time. */
const isSmall = (value: unknown, budget: Budget): boolean => {
  // A long text counts as many: writing it in one piece would hold the event loop.
  budget.left -= typeof value === 'string' ? 1 + value.length / TEXT_PER_ITEM : 1;
  if (typeof value !== 'object' || value === null || hasToJson(value)) return budget.left >= 0;
  if (Array.isArray(value)) {
    return value.length <= budget.left && value.every((item) => isSmall(item, budget));
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
    // Not `for await` over both: it would cost a turn of the microtask queue for every item of an array.
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

  /** Small items are written together: one call for many costs a third less than one for each. */
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
      // Between two chunks everyone else gets a turn of the event loop.
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
 * Writes a value as JSON. Small values come back as one string. Others, and all that hold iterables (written
 * as lists), come back as a stream of bounded chunks that obeys back-pressure and never holds the event loop
 * for longer than one chunk takes: each waits for `yieldToLoop`. Rejects when the value fails before its first
 * 64 KB; after that the stream fails.
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
