import { NotFoundError, StorageUnavailableError } from 'stowage/storage';
import { describe, expect, it } from 'vitest';
import { type Change, CHANGES, type Intervention, start } from './changes.ts';

const LOOKS = new Set(['stat', 'statMany', 'read', 'list']);
const CHANGING = new Set([
  ...['write', 'makeFolder', 'removeFile', 'removeFolder', 'removeEmptyFolder'],
  ...['copyFile', 'moveFile', 'moveFolder'],
]);

/** What goes wrong at one operation of a store. */
const FAULTS: Readonly<Record<string, Omit<Intervention, 'at'>>> = {
  fails: { act: () => Promise.reject(new StorageUnavailableError()) },
  'loses its answer': {
    of: CHANGING,
    act: (run) => run().then(() => Promise.reject(new StorageUnavailableError())),
  },
  'finds nothing': { of: LOOKS, act: () => Promise.reject(new NotFoundError()) },
};

const across = { source: 'others', fromSource: 'files', path: '' };
const MORE: Readonly<Record<string, Change>> = {
  'a removal of a folder': (send) => send('folderRemove', { name: 'd' }),
  'a copy of a folder': (send) => send('folderCopy', { from: 'd', path: 'd2' }),
  'a move of a folder to another source': (send) => send('folderMove', { ...across, from: 'd' }),
  'a move to another source': (send) => send('fileMove', { ...across, from: 'a.txt' }),
};
const SOME = ['a rename to its name', 'a removal', 'a replacement'];
const changes = [...Object.entries(CHANGES).filter(([name]) => SOME.includes(name)), ...Object.entries(MORE)];

/** What a change leaves. With an intervention: undefined when the change has fewer operations. */
const run = async (change: Change, intervention?: Intervention) => {
  const { watched, send, put, state, everything, lastError, close } = await start(['files', 'others']);
  try {
    await send('folderCreate', { name: 'd2' });
    await put('d/x.txt');
    await send('fileDescribe', { path: 'd', name: 'x.txt', alt: 'about x.txt' });
    const before =
      intervention === undefined ? { state: await state(), everything: await everything() } : undefined;
    watched.watch(intervention);
    const status = await change(send);
    const error = lastError();
    watched.watch(undefined);
    if (intervention !== undefined && watched.acted === undefined) return undefined;
    const after = { state: await state(), everything: await everything() };
    return { status, error, acted: watched.acted ?? '', before, after, again: await change(send) };
  } finally {
    await close();
  }
};

const isWords = (line: string): boolean => /: (?:about |told later)/u.test(line);
const isFile = (line: string): boolean => !isWords(line) && !line.includes(': trash: ');

describe.each(changes)('%s', (_, change) => {
  it.each(Object.entries(FAULTS))(
    'loses nothing when an operation of the store %s',
    async (_fault, fault) => {
      const good = await run(change);
      const before = good?.before;
      if (before === undefined) throw new Error('nothing has run');
      const kept = [...before.everything].filter((one) => good?.after.everything.has(one));
      const known = new Set([...before.state, ...(good?.after.state ?? [])]);
      for (let at = 1; ; at += 1) {
        const outcome = await run(change, { ...fault, at });
        if (outcome === undefined) break;
        const { status, error, acted, after, again } = outcome;
        const where = `operation ${String(at)}, ${acted}: ${String(status)} ${String(error)}`;
        expect([...after.everything], where).toEqual(expect.arrayContaining(kept));
        expect(
          after.state.filter((line) => isWords(line) && !known.has(line)),
          where,
        ).toEqual([]);
        expect(again, where).toBeLessThan(500);
        // Where a look or a write fails, words may stay behind, which is logged.
        const counts = fault.of === undefined ? isFile : () => true;
        if (status === 200)
          expect(after.state.filter(counts), where).toEqual(good?.after.state.filter(counts));
        else if (LOOKS.has(acted) && error !== 'MOVED_IN_PART')
          expect(after.state, where).toEqual(before.state);
      }
    },
  );
});
