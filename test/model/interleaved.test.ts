import { randomUUID } from 'node:crypto';
import { text } from 'node:stream/consumers';
import { createRouter, registerStorageAdapter, type Router } from 'stowage';
import { SourcePath, walkFolder } from 'stowage/storage';
import { describe, expect, it } from 'vitest';
import { MemoryAdapter } from '#internals';
import type { StorageAdapter } from '../../packages/stowage/dist/storage/adapter.js';
import { formOf, silent, type Fields, type FormFile } from '../protocol/service.ts';

/** What happens before an operation of the store with this number, from 1. */
interface Interlude {
  readonly at: number;
  readonly happen: () => Promise<void>;
}

/** A store that runs an interlude once. */
class Watched {
  readonly memory = new MemoryAdapter();
  readonly store: StorageAdapter;
  interlude: Interlude | undefined;
  #operations = 0;

  constructor() {
    this.store = new Proxy<StorageAdapter>(this.memory, { get: (_, key) => this.#operation(key) });
  }

  watch(interlude: Interlude): void {
    this.#operations = 0;
    this.interlude = interlude;
  }

  #operation(key: string | symbol): unknown {
    const value: unknown = Reflect.get(this.memory, key);
    if (typeof value !== 'function') return value;
    const run = (value as (...input: readonly unknown[]) => unknown).bind(this.memory);
    const before = async (): Promise<void> => {
      this.#operations += 1;
      if (this.interlude?.at !== this.#operations) return;
      const { happen } = this.interlude;
      this.interlude = undefined;
      await happen();
    };
    if (key === 'close') return run;
    if (key === 'list' || key === 'walk')
      return async function* (...input: readonly unknown[]) {
        await before();
        yield* run(...input) as AsyncIterable<unknown>;
      };
    return async (...input: readonly unknown[]) => {
      await before();
      return run(...input);
    };
  }
}

type Send = (action: string, fields: Fields, files?: readonly FormFile[]) => Promise<number>;
type Change = (send: Send) => Promise<number>;

const content = (name: string, bytes: string): readonly FormFile[] => [['files[0]', name, bytes]];

/** Changes of one file, and of others that get its name. */
const CHANGES: Readonly<Record<string, Change>> = {
  'a rename': (send) => send('fileRename', { name: 'a.txt', newname: 'n.txt' }),
  'a rename to its name': (send) => send('fileRename', { name: 'b.txt', newname: 'a.txt' }),
  'a move': (send) => send('fileMove', { from: 'a.txt', path: 'd' }),
  'a copy': (send) => send('fileCopy', { from: 'a.txt', path: 'd' }),
  'a removal': (send) => send('fileRemove', { name: 'a.txt' }),
  'an upload': (send) => send('fileUpload', {}, content('a.txt', 'uploaded')),
  'a replacement': (send) => send('fileReplace', { name: 'a.txt' }, content('a.txt', 'replaced')),
  'a description': (send) => send('fileDescribe', { name: 'a.txt', alt: 'told later' }),
};

const ask = async (router: Router, action: string, fields: Fields, files: readonly FormFile[] = []) => {
  const body = formOf(files, { action, source: 'files', ...fields });
  const response = await router.fetch(new Request('http://localhost/', { method: 'POST', body }));
  return { status: response.status, data: ((await response.json()) as { data: unknown }).data };
};

/** Files with their contents and words, and what the trash has. */
const stateOf = async (memory: MemoryAdapter, router: Router): Promise<readonly string[]> => {
  const state: string[] = [];
  const enters = ({ name }: SourcePath): boolean => !name.startsWith('.stowage-');
  for await (const { path, entry } of walkFolder(memory, SourcePath.root, { enters }))
    if (entry.kind === 'file')
      state.push(`${path.toString()}: ${await text((await memory.read(path)).stream)}`);
  for (const path of ['', 'd']) {
    const { data } = await ask(router, 'files', { path, 'mods[details]': '1' });
    const { sources } = data as { sources: { files: { name: string; about?: { alt: string } }[] }[] };
    for (const { name, about } of sources[0]?.files ?? [])
      if (about !== undefined) state.push(`${path}/${name}: ${about.alt}`);
  }
  const { items } = (await ask(router, 'trashList', {})).data as { items: { name: string; bytes: number }[] };
  return [...state, ...items.map(({ name, bytes }) => `trash: ${name}, ${String(bytes)} bytes`)].sort();
};

/** Sends the first change, and the second one before an operation of the store. Undefined: it has fewer. */
const runBoth = async (first: Change, second: Change, at: number) => {
  const watched = new Watched();
  const storageAdapter = `interleaved-${randomUUID()}`;
  registerStorageAdapter(storageAdapter, { create: () => watched.store });
  const source = { title: 'Files', baseurl: 'http://localhost/', trash: { keepReplaced: true } };
  const sources = { files: { ...source, storageAdapter } };
  const router = createRouter({ createThumb: false, sources }, {}, { logger: silent });
  const send: Send = async (...request) => (await ask(router, ...request)).status;
  try {
    await send('folderCreate', { name: 'd' });
    for (const name of ['a.txt', 'b.txt']) {
      await send('fileUpload', {}, content(name, `content of ${name}`));
      await send('fileDescribe', { name, alt: `about ${name}` });
    }
    let other: Promise<number> | undefined;
    const happen = async (): Promise<void> => {
      other = second(send);
      // Until it ends, or waits for the first one.
      await Promise.race([other, new Promise((resolve) => setTimeout(resolve, 15))]);
    };
    watched.watch({ at, happen });
    const status = await first(send);
    if (at !== Infinity && other === undefined) return undefined;
    const statuses = [status, await (other ?? second(send))];
    return { statuses, state: await stateOf(watched.memory, router) };
  } finally {
    await router.close();
  }
};

describe.each(Object.keys(CHANGES))('%s', (name) => {
  const first = CHANGES[name] as Change;

  it.each(Object.entries(CHANGES))(
    'and %s that comes meanwhile end in one order or the other',
    async (_, second) => {
      const after = await runBoth(first, second, Infinity);
      const before = await runBoth(second, first, Infinity);
      const orders = [after, before && { ...before, statuses: before.statuses.toReversed() }];
      for (let at = 1; ; at += 1) {
        const outcome = await runBoth(first, second, at);
        if (outcome === undefined) break;
        expect(orders, `before operation ${String(at)} of the store`).toContainEqual(outcome);
      }
    },
  );
});
