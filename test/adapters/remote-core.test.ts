import { once } from 'node:events';
import { PassThrough, Readable } from 'node:stream';
import { buffer, text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { memoryInUse } from '../memory-in-use.ts';
import {
  createConnectionSlots,
  errorOfStatus,
  Leftovers,
  passBody,
  pause,
  strongEtag,
  wholeSize,
} from '#internals';

const failure = (error: unknown): Error => new Error('ours', { cause: error });
const plain = { length: undefined, signal: undefined, failure };

describe('the body of a download', () => {
  it.each([
    [3, 'the text'],
    [9, 'the text'],
  ])('of %d announced bytes that are "%s" is damaged', async (length, content) => {
    const stream = passBody(Readable.from([Buffer.from(content)]), { ...plain, length });
    await expect(text(stream)).rejects.toMatchObject({ code: 'CORRUPT' });
  });

  it('that breaks off fails with an error of ours, also before anybody reads', async () => {
    const body = new PassThrough();
    const stream = passBody(body, plain);
    body.destroy(new Error('reset'));
    await sleep(5);
    await expect(text(stream)).rejects.toThrow('ours');
  });

  it('ends with its reader and with the signal, whose reason the reader gets', async () => {
    const [body, other] = [new PassThrough(), new PassThrough()];
    passBody(body, plain).destroy();
    await expect.poll(() => body.destroyed).toBe(true);
    const abort = new AbortController();
    const reading = text(passBody(other, { ...plain, signal: abort.signal }));
    const reason = new Error('enough');
    abort.abort(reason);
    await expect(reading).rejects.toBe(reason);
    expect(other.destroyed).toBe(true);
  });

  it('whose signal aborts before anybody reads does not end the process', async () => {
    const uncaught: unknown[] = [];
    const note = (error: unknown): void => void uncaught.push(error);
    process.on('uncaughtExceptionMonitor', note);
    onTestFinished(() => void process.off('uncaughtExceptionMonitor', note));
    const abort = new AbortController();
    const reason = new Error('left');
    const stream = passBody(new PassThrough(), { ...plain, signal: abort.signal });
    abort.abort(reason);
    await sleep(5);
    expect(uncaught).toEqual([]);
    await expect(text(stream)).rejects.toBe(reason);
  });

  it('goes on where it was when the connection ended during a pause of its reader, and only then', async () => {
    const content = Buffer.alloc(10 * 65_536, 'abcdefg');
    const offsets: number[] = [];
    const open = async (offset: number): Promise<Readable> => {
      offsets.push(offset);
      return Readable.from([content.subarray(offset)]);
    };
    for (const isLong of [true, false]) {
      const reopen = { afterMs: isLong ? 50 : 60_000, open };
      const pieces = Array.from({ length: 10 }, (_, index) =>
        content.subarray(index * 65_536, (index + 1) * 65_536),
      );
      const body = Readable.from(pieces, { objectMode: false });
      const stream = passBody(body, { ...plain, length: content.length, reopen });
      const [first] = (await once(stream, 'readable').then(() => [stream.read()])) as [Buffer];
      await sleep(100);
      body.destroy(new Error('idle'));
      const rest = buffer(stream);
      if (isLong) expect(Buffer.concat([first, await rest]).equals(content)).toBe(true);
      else await expect(rest).rejects.toThrow('ours');
    }
    expect(offsets).toHaveLength(1);
  });
});

describe('connections to a server', () => {
  it('are waited for as long as some become free, and not longer', async () => {
    const slots = createConnectionSlots({ connections: 1, mayWait: 10, waitMs: 80 });
    const free = await slots.take(undefined);
    const [second, third] = [slots.take(undefined), slots.take(undefined)];
    await sleep(60);
    free();
    const freeSecond = await second;
    await sleep(60);
    // Waits for 120 ms by now, but one became free meanwhile.
    freeSecond();
    const freeThird = await third;
    await expect(slots.take(undefined)).rejects.toMatchObject({ code: 'STORAGE_TIMEOUT' });
    freeThird();
    (await slots.take(undefined))();
  });

  it('are no longer waited for when the signal aborts', async () => {
    const slots = createConnectionSlots({ connections: 1, mayWait: 10, waitMs: 1000 });
    await slots.take(undefined);
    const reason = new Error('enough');
    await expect(slots.take(AbortSignal.abort(reason))).rejects.toBe(reason);
    const abort = new AbortController();
    const waiting = slots.take(abort.signal);
    abort.abort(reason);
    await expect(waiting).rejects.toBe(reason);
  });

  it('leave nothing in the signal of a request that needs very many', async () => {
    const slots = createConnectionSlots({ connections: 1, mayWait: 10, waitMs: 1000 });
    const { signal } = new AbortController();
    const takeMany = async (): Promise<number> => {
      for (let count = 0; count < 5000; count += 1) {
        const free = await slots.take(signal);
        const next = slots.take(signal);
        free();
        (await next)();
      }
      await sleep(1);
      return memoryInUse().heapUsed;
    };
    const before = await takeMany();
    expect((await takeMany()) - before).toBeLessThan(200_000);
  });
});

describe('answers of a server', () => {
  it('are read alike by all stores', () => {
    expect(['"a"', 'a', 'W/"a"', '', undefined].map(strongEtag)).toEqual([
      '"a"',
      '"a"',
      undefined,
      undefined,
      undefined,
    ]);
    expect(['bytes 0-1/9', 'bytes 0-1/*', undefined].map(wholeSize)).toEqual([9, undefined, undefined]);
    const codes = [404, 403, 412, 429, 504, 507, 500, undefined].map(
      (status) => errorOfStatus(status, { detail: '' }).code,
    );
    expect(codes).toEqual([
      'NOT_FOUND',
      'STORAGE_DENIED',
      'CHANGED_MEANWHILE',
      'BUSY',
      'STORAGE_TIMEOUT',
      'STORAGE_FULL',
      'STORAGE_UNAVAILABLE',
      'STORAGE_UNAVAILABLE',
    ]);
  });

  it('are waited for with pauses that a signal ends', async () => {
    const reason = new Error('enough');
    const abort = new AbortController();
    const waiting = pause(1, { firstMs: 5000, longestMs: 5000 }, abort.signal);
    abort.abort(reason);
    await expect(waiting).rejects.toBe(reason);
  });
});

describe('what is to be done later', () => {
  it('is tried also behind what the server refuses for ever', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    onTestFinished(() => void vi.useRealTimers());
    const leftovers = new Leftovers(() => Promise.resolve(true));
    const done: string[] = [];
    leftovers.later(0, () => Promise.resolve(false));
    for (const name of ['first', 'second'])
      leftovers.later(0, async () => {
        done.push(name);
        return true;
      });
    for (let tries = 0; tries < 2; tries += 1) {
      vi.setSystemTime(Date.now() + 1000);
      leftovers.retry();
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(done).toEqual(['first', 'second']);
  });
});
