import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FirstInOrder, TimeSlice, entryOrder, sortPatiently } from '#internals';
import type { Entry } from '../../packages/stowage/dist/storage/adapter.js';

const slice = () => new TimeSlice(new AbortController().signal);

interface Item {
  readonly key: number;
  readonly serial: number;
}
const byKey = (left: Item, right: Item) => left.key - right.key;
const items = (keys: readonly number[]): Item[] => keys.map((key, serial) => ({ key, serial }));
/** Keys that repeat, so that stability shows; long enough for several runs and uneven merges. */
const manyKeys = (length: number): number[] =>
  Array.from({ length }, (_, index) => (index * 7_919) % Math.max(1, Math.floor(length / 3)));

describe('sortPatiently', () => {
  it.each([0, 1, 2047, 2048, 2049, 4096, 6145, 20_000])(
    'sorts %d items like the stable sort of the language',
    async (length) => {
      const list = items(manyKeys(length));
      const before = [...list];
      expect(await sortPatiently(list, byKey, slice())).toEqual([...list].sort(byKey));
      expect(list).toEqual(before);
    },
  );

  it('lets others run while it sorts', async () => {
    const list = items(manyKeys(150_000));
    let turns = 0;
    let running = true;
    const turn = (): void => {
      turns += 1;
      if (running) setImmediate(turn);
    };
    setImmediate(turn);
    await sortPatiently(list, byKey, slice());
    running = false;
    expect(turns).toBeGreaterThan(1);
  });

  it('stops when it is aborted', async () => {
    const controller = new AbortController();
    const sorting = sortPatiently(items(manyKeys(500_000)), byKey, new TimeSlice(controller.signal));
    controller.abort(new Error('gone'));
    await expect(sorting).rejects.toThrow('gone');
  });
});

describe('FirstInOrder', () => {
  it('gives the first items of the whole order', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 0, max: 500 }), { minLength: 0, maxLength: 5000, size: 'max' }),
        fc.nat(1500),
        async (keys, count) => {
          const first = new FirstInOrder(count, byKey);
          for (const item of items(keys)) first.add(item);
          expect(await first.sorted(slice())).toEqual(items(keys).sort(byKey).slice(0, count));
        },
      ),
      { numRuns: 60 },
    );
  });

  it.each([
    ['ascending', 1],
    ['descending', -1],
  ])('stands %s input', async (_, sign) => {
    const keys = Array.from({ length: 30_000 }, (_value, index) => sign * index);
    const first = new FirstInOrder(70, byKey);
    for (const item of items(keys)) first.add(item);
    expect(await first.sorted(slice())).toEqual(items(keys).sort(byKey).slice(0, 70));
  });

  it('keeps all of them for a large count', async () => {
    const keys = manyKeys(9000);
    const first = new FirstInOrder(1_000_000, byKey);
    for (const item of items(keys)) first.add(item);
    expect(await first.sorted(slice())).toEqual(items(keys).sort(byKey));
  });
});

describe('entryOrder', () => {
  const file = (name: string, modifiedAt?: number, size?: number): Entry => ({
    name,
    kind: 'file',
    size,
    modifiedAt,
  });
  const folder = (name: string, modifiedAt?: number): Entry => ({
    name,
    kind: 'folder',
    size: undefined,
    modifiedAt,
  });
  const sorted = (list: readonly Entry[], ...order: Parameters<typeof entryOrder>) =>
    [...list].sort(entryOrder(...order)).map(({ name }) => name);

  it('orders names by code units, not by language', () => {
    const names = ['b', 'a', 'B', 'A', 'a10', 'a9', 'ä', 'z', '_', '文', '\u{1f600}', '\uffee'];
    const list = names.map((name) => file(name));
    expect(sorted(list, 'name-asc', 'default')).toEqual([...names].sort());
    expect(sorted(list, 'name-desc', 'default')).toEqual([...names].sort().reverse());
  });

  it('falls back to ascending names for equal times and sizes', () => {
    const list = [file('c', 5, 1), file('a', 5, 1), file('d', 9, 7), file('b', 5, 1), file('e', 1, 0)];
    expect(sorted(list, 'changed-asc', 'default')).toEqual(['e', 'a', 'b', 'c', 'd']);
    expect(sorted(list, 'changed-desc', 'default')).toEqual(['d', 'a', 'b', 'c', 'e']);
    expect(sorted(list, 'size-asc', 'default')).toEqual(['e', 'a', 'b', 'c', 'd']);
    expect(sorted(list, 'size-desc', 'default')).toEqual(['d', 'a', 'b', 'c', 'e']);
  });

  it('takes what the store does not tell as less than everything', () => {
    const list = [file('empty', 3, 0), file('untold'), folder('folder', 4), file('old', -5, 9)];
    expect(sorted(list, 'size-asc', 'default')).toEqual(['folder', 'untold', 'empty', 'old']);
    expect(sorted(list, 'size-desc', 'default')).toEqual(['old', 'empty', 'folder', 'untold']);
    expect(sorted(list, 'changed-asc', 'default')).toEqual(['untold', 'old', 'empty', 'folder']);
    expect(sorted(list, 'changed-desc', 'default')).toEqual(['folder', 'empty', 'old', 'untold']);
  });

  it('keeps the order inside the block of folders', () => {
    const list = [file('b', 2, 2), folder('c', 9), file('d', 4, 4), folder('a', 1)];
    expect(sorted(list, 'name-desc', 'top')).toEqual(['c', 'a', 'd', 'b']);
    expect(sorted(list, 'name-desc', 'bottom')).toEqual(['d', 'b', 'c', 'a']);
    expect(sorted(list, 'changed-asc', 'top')).toEqual(['a', 'c', 'b', 'd']);
    expect(sorted(list, 'changed-asc', 'default')).toEqual(['a', 'b', 'd', 'c']);
  });
});
