import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { createRouter, registerStorageAdapter, type Router } from 'stowage';
import { SourcePath, walkFolder } from 'stowage/storage';
import { MemoryAdapter } from '#internals';
import type { StorageAdapter } from '../../packages/stowage/dist/storage/adapter.js';
import { formOf, silent, type Fields, type FormFile } from '../protocol/service.ts';

/** What happens in place of one operation of the stores. */
export interface Intervention {
  /** Its number, from 1. */
  readonly at: number;
  /** The operations that are counted. Default: all. */
  readonly of?: ReadonlySet<string> | undefined;
  readonly act: (run: () => Promise<unknown>) => Promise<unknown>;
}

/** Stores whose operations are counted together, and one of which does something else. */
class Watched {
  /** The operation in whose place something has happened. */
  acted: string | undefined;
  #intervention: Intervention | undefined;
  #operations = 0;

  watch(intervention: Intervention | undefined): void {
    this.#operations = 0;
    this.#intervention = intervention;
  }

  storeOf(memory: MemoryAdapter): StorageAdapter {
    return new Proxy<StorageAdapter>(memory, { get: (_, key) => this.#operation(memory, key) });
  }

  async #run(operation: string, run: () => Promise<unknown>): Promise<unknown> {
    const { at, of, act } = this.#intervention ?? {};
    if (act === undefined || of?.has(operation) === false) return run();
    this.#operations += 1;
    if (this.#operations !== at) return run();
    this.acted = operation;
    return act(run);
  }

  #operation(memory: MemoryAdapter, key: string | symbol): unknown {
    const value: unknown = Reflect.get(memory, key);
    // Content then passes through `write` alone.
    if (key === 'stage') return undefined;
    if (typeof value !== 'function') return value;
    const run = (value as (...input: readonly unknown[]) => unknown).bind(memory);
    const around = this.#run.bind(this, String(key));
    if (key === 'close') return run;
    if (key === 'list')
      return async function* (...input: readonly unknown[]) {
        await around(() => Promise.resolve());
        yield* run(...input) as AsyncIterable<unknown>;
      };
    return async (...input: readonly unknown[]) => {
      try {
        return await around(async () => run(...input));
      } catch (error) {
        for (const one of input) if (one instanceof Readable) one.destroy();
        throw error;
      }
    };
  }
}

export type Send = (action: string, fields: Fields, files?: readonly FormFile[]) => Promise<number>;
export type Change = (send: Send) => Promise<number>;

export const content = (name: string, bytes: string): readonly FormFile[] => [['files[0]', name, bytes]];

/** Changes of one file, and of others that get its name. */
export const CHANGES: Readonly<Record<string, Change>> = {
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
const stateOf = async (router: Router, source: string, memory: MemoryAdapter): Promise<readonly string[]> => {
  const state: string[] = [];
  const folders = [''];
  const enters = ({ name }: SourcePath): boolean => !name.startsWith('.stowage-');
  for await (const { path, entry } of walkFolder(memory, SourcePath.root, { enters })) {
    if (entry.kind === 'folder' && enters(path)) folders.push(path.toString());
    if (entry.kind === 'file')
      state.push(`${path.toString()}: ${await text((await memory.read(path)).stream)}`);
  }
  for (const path of folders) {
    const { data } = await ask(router, 'files', { source, path, 'mods[details]': '1' });
    const { sources } = data as { sources: { files: { name: string; about?: { alt: string } }[] }[] };
    for (const { name, about } of sources[0]?.files ?? [])
      if (about !== undefined) state.push(`${path}/${name}: ${about.alt}`);
  }
  const { data } = await ask(router, 'trashList', { source });
  const { items } = data as { items: { name: string; bytes: number }[] };
  const trash = items.map(({ name, bytes }) => `trash: ${name}, ${String(bytes)} bytes`);
  return [...folders.map((path) => `${path}/`), ...state, ...trash].map((line) => `${source}: ${line}`);
};

/** A service on watched stores. The first has two files with words, and a folder. */
export const start = async (names: readonly string[] = ['files']) => {
  const watched = new Watched();
  const memories = names.map((name) => [name, new MemoryAdapter()] as const);
  const source = { title: 'Files', baseurl: 'http://localhost/', trash: { keepReplaced: true } };
  const sources = memories.map(([name, memory]) => {
    const storageAdapter = `watched-${randomUUID()}`;
    registerStorageAdapter(storageAdapter, { create: () => watched.storeOf(memory) });
    return [name, { ...source, storageAdapter }] as const;
  });
  const router = createRouter(
    { createThumb: false, sources: Object.fromEntries(sources) },
    {},
    { logger: silent },
  );
  let error: unknown;
  const send: Send = async (...request) => {
    const { status, data } = await ask(router, ...request);
    ({ error } = data as { error?: unknown });
    return status;
  };
  const [, first = new MemoryAdapter()] = memories[0] ?? [];
  /** Makes a file of the first source past the service. */
  const put = (path: string): Promise<unknown> => {
    const bytes = Buffer.from(`content of ${path.replace(/^.*\//u, '')}`);
    return first.write(SourcePath.parse(path), Readable.from([bytes], { objectMode: false }));
  };
  await first.makeFolder(SourcePath.parse('d'));
  for (const name of ['a.txt', 'b.txt']) {
    await put(name);
    await send('fileDescribe', { name, alt: `about ${name}` });
  }
  const state = async (): Promise<readonly string[]> => {
    const states = memories.map(([name, memory]) => stateOf(router, name, memory));
    return (await Promise.all(states)).flat().sort();
  };
  /** Every content and every text about a file, wherever they are. */
  const everything = async (): Promise<ReadonlySet<string>> => {
    const found = new Set<string>();
    for (const [, memory] of memories)
      for await (const { path, entry } of walkFolder(memory, SourcePath.root)) {
        if (entry.kind === 'folder') continue;
        const written = await text((await memory.read(path)).stream);
        if (!path.name.endsWith('.json')) found.add(written);
        for (const [, alt = ''] of written.matchAll(/"alt":"([^"]*)"/gu)) found.add(alt);
      }
    return found;
  };
  return { watched, send, put, state, everything, lastError: () => error, close: () => router.close() };
};
