import { Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { writeJson } from '#internals';
import { startEdge } from './edge.ts';

const textOf = async (value: unknown): Promise<string> => {
  const json = await writeJson(value);
  if (typeof json === 'string') return json;
  const chunks: Buffer[] = [];
  for await (const chunk of json) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
};

async function* later<Item>(items: readonly Item[]): AsyncGenerator<Item> {
  for (const item of items) {
    await nextTurn();
    yield item;
  }
}

const items = (count: number) =>
  Array.from({ length: count }, (_, index) => ({
    name: `фото-${String(index)}.jpg`,
    size: `${String(index)}KB`,
  }));

describe('long answers', () => {
  it('are the JSON that JSON.stringify writes', async () => {
    await fc.assert(
      fc.asyncProperty(fc.jsonValue({ maxDepth: 4 }), async (value) => {
        const big = { value, list: items(600), again: [value, [items(600)]], left: undefined };
        expect(await textOf(big)).toBe(JSON.stringify(big));
        expect(await textOf(value)).toBe(JSON.stringify(value));
      }),
      { numRuns: 30 },
    );
  });

  it('write iterables of any kind as lists', async () => {
    const list = items(3000);
    const expected = JSON.stringify({ sources: [{ files: list, set: [1, 2], none: [] }] });
    expect(await textOf({ sources: [{ files: later(list), set: new Set([1, 2]), none: later([]) }] })).toBe(
      expected,
    );
    expect(await textOf({ sources: [{ files: list.values(), set: later([1, 2]), none: [] }] })).toBe(
      expected,
    );
    expect(await textOf({ dates: later([new Date(0), undefined]) })).toBe(
      '{"dates":["1970-01-01T00:00:00.000Z",null]}',
    );
  });

  it('are strings while they are small', async () => {
    expect(await writeJson({ success: true, data: { code: 220, list: items(20) } })).toBeTypeOf('string');
    expect(await writeJson({ list: later(items(20)) })).toBeTypeOf('string');
    expect(await writeJson({ list: items(100_000) })).toBeInstanceOf(Readable);
  });

  it('reject when they fail before anything is written, and break off when later', async () => {
    const failing = async function* (after: number) {
      yield* items(after);
      throw new Error('the store is gone');
    };
    await expect(writeJson({ list: failing(10) })).rejects.toThrow('the store is gone');
    await expect(textOf({ list: failing(50_000) })).rejects.toThrow('the store is gone');
  });

  it('stop their source when the reader has left', async () => {
    let ended = false;
    let made = 0;
    const source = (async function* () {
      try {
        for (;;) {
          made += 1;
          yield { name: `file-${String(made)}` };
        }
      } finally {
        ended = true;
      }
    })();
    const json = await writeJson({ list: source });
    expect(json).toBeInstanceOf(Readable);
    // Without a reader, no more than a few chunks are made.
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(made).toBeLessThan(50_000);
    (json as Readable).destroy();
    await expect.poll(() => ended).toBe(true);
  });

  it('leave turns of the event loop to others', async () => {
    const edge = await startEdge();
    let turns = 0;
    let counting = true;
    const count = (): void => {
      turns += 1;
      if (counting) setImmediate(count);
    };
    setImmediate(count);
    const text = await textOf({ list: items(100_000) });
    counting = false;
    expect(turns).toBeGreaterThan(text.length / (128 * 1024));
    const answer = await fetch(`${edge.url}/many`);
    const { data } = (await answer.json()) as { data: { code: number; files: unknown[] } };
    expect([answer.status, data.code, data.files.length]).toEqual([200, 220, 50_000]);
    expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8');
  });
});
