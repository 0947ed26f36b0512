import { createApp, createRouter, registerStorageAdapter, type StorageFactory } from 'stowage';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { MemoryAdapter, memoryFactory } from '#internals';
import { memoryInUse } from '../memory-in-use.ts';
import { put } from '../pictures/gallery.ts';
import { replacing } from '../protocol/changing-store.ts';

const quiet = { logger: { debug() {}, info() {}, warn() {}, error() {} } };
const sourcesOf = (storageAdapter: string) => ({
  files: { title: 'Files', baseurl: 'https://files.test/', storageAdapter },
});

const withAdapters = (storageAdapters: Record<string, StorageFactory>, storageAdapter = 'own') => {
  const router = createRouter({ sources: sourcesOf(storageAdapter) }, {}, { ...quiet, storageAdapters });
  onTestFinished(() => router.close());
  return (path: string) => router.fetch(new Request(`https://site.test${path}`));
};

/** Does something while time passes quickly. */
const passing = async (work: () => Promise<void>): Promise<void> => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const clock = setInterval(() => vi.advanceTimersByTime(1000), 1);
  try {
    await work();
  } finally {
    clearInterval(clock);
    vi.useRealTimers();
  }
};

describe('storage adapters of one connector', () => {
  it('serve its sources, and no other connector knows them', async () => {
    const ask = withAdapters({ own: memoryFactory });
    expect((await ask('/folderCreate?name=a')).status).toBe(200);
    expect(() => createApp({ sources: sourcesOf('own') }, {}, quiet)).toThrow(/storageAdapter/u);
  });

  it('neither replace the built-in ones nor go without a factory', () => {
    const make = (own: unknown) => () =>
      createRouter({ sources: {} }, {}, { ...quiet, storageAdapters: own as Record<string, StorageFactory> });
    expect(make({ local: memoryFactory })).toThrow('"local" is built in and cannot be replaced');
    expect(make({ own: {} })).toThrow('"own" needs a factory with a create function');
    expect(make({ own: undefined })).toThrow('"own" needs a factory with a create function');
  });
});

describe('an adapter that makes its methods anew each time', () => {
  it('is not remembered by them: a service that runs for months grows by nothing', async () => {
    const made: WeakRef<object>[] = [];
    const own: StorageFactory = {
      create: () => {
        const adapter = new MemoryAdapter();
        return new Proxy(adapter, {
          get: (_, name) => {
            const member: unknown = Reflect.get(adapter, name, adapter);
            if (typeof member !== 'function') return member;
            const bound = (member as (...given: unknown[]) => unknown).bind(adapter);
            made.push(new WeakRef(bound));
            return bound;
          },
        });
      },
    };
    const ask = withAdapters({ own });
    for (let round = 0; round < 50; round += 1) expect((await ask('/files')).status).toBe(200);
    // References are kept until the task that made them has ended.
    await new Promise((resolve) => setImmediate(resolve));
    memoryInUse();
    expect(made.length).toBeGreaterThanOrEqual(50);
    expect(made.filter((method) => method.deref() !== undefined).length).toBeLessThan(20);
  });
});

describe('the factory of an adapter', () => {
  it('gets what its own check has made of the options, with its type', async () => {
    const factory: StorageFactory<{ readonly bytes: number }> = {
      parseOptions: () => ({ value: { bytes: 1024 } }),
      create: ({ options }) => new MemoryAdapter({ maxBytes: options.bytes }),
    };
    const ask = withAdapters({ own: factory });
    expect((await ask('/folderCreate?name=a')).status).toBe(200);
    expect((await ask(`/folderCreate?name=${'b'.repeat(200)}&path=a`)).status).toBe(200);
    expect((await ask(`/folderCreate?name=${'c'.repeat(200)}&path=a`)).status).toBe(500);
  });
});

describe('an adapter that registers again', () => {
  it('takes the place of the older one, with a warning where it is another factory', async () => {
    const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
    onTestFinished(() => {
      warn.mockRestore();
    });
    const old: StorageFactory = {
      create: () => {
        throw new Error('The old factory must not be asked.');
      },
    };
    registerStorageAdapter('registered-twice', old);
    registerStorageAdapter('registered-twice', old);
    registerStorageAdapter('registered-twice', memoryFactory);
    const router = createRouter({ sources: sourcesOf('registered-twice') }, {}, quiet);
    onTestFinished(() => router.close());
    const answer = await router.fetch(new Request('https://site.test/folderCreate?name=a'));
    expect(answer.status).toBe(200);
    expect(warn.mock.calls.map(([text]) => text)).toEqual([
      expect.stringContaining('"registered-twice" is registered again'),
    ]);
  });
});

describe('a store that could not be opened', () => {
  it('is tried again by the next request', async () => {
    let isBroken = true;
    const ask = withAdapters({
      own: {
        create: () => {
          if (isBroken) throw new Error('no such disk');
          return new MemoryAdapter();
        },
      },
    });
    expect((await ask('/files?source=files')).status).toBe(500);
    isBroken = false;
    expect((await ask('/files?source=files')).status).toBe(200);
  });
});

describe('a download whose file is replaced before it is read', () => {
  const after = Buffer.from('the new content, which is longer');

  const downloading = async (replacements: number) => {
    const inner = new MemoryAdapter();
    await put(inner, 'a.txt', 'old');
    let left = replacements;
    const store = replacing(inner, {
      read: async (...input) => {
        if (left > 0) await put(inner, 'a.txt', Buffer.concat([after, Buffer.alloc(left, 'x')]));
        left -= 1;
        return inner.read(...input);
      },
    });
    return withAdapters({ own: { create: () => store } })('/fileDownload?name=a.txt');
  };

  it('starts over: headers and bytes are of the new version', async () => {
    const answer = await downloading(1);
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-length')).toBe(String(after.length + 1));
    expect(await answer.text()).toBe(`${after.toString()}x`);
  });

  it('is given up when the file changes every time', async () => {
    expect((await downloading(100)).status).toBe(412);
  });
});

describe('a store that keeps silent', () => {
  it('is not asked again whether it answers before it has answered', async () => {
    let asked = 0;
    let answer: () => void = () => undefined;
    const silence = new Promise<void>((resolve) => (answer = resolve));
    const own: StorageFactory = {
      create: () =>
        Object.assign(new MemoryAdapter(), {
          async *list() {
            asked += 1;
            await silence;
            yield [];
          },
        }),
    };
    const app = createApp({ sources: sourcesOf('own') }, {}, { ...quiet, storageAdapters: { own } });
    onTestFinished(() => app.close());
    for (let round = 0; round < 5; round += 1) expect(await app.unavailableSources(20)).toEqual(['files']);
    expect(asked).toBe(1);
    answer();
    await expect.poll(() => app.unavailableSources()).toEqual([]);
  });
});

describe('a connector that closes', () => {
  it('opens nothing for a request whose hook has taken its time', async () => {
    let opened = 0;
    let proceed: () => void = () => undefined;
    const waiting = new Promise<void>((resolve) => (proceed = resolve));
    const own: StorageFactory = {
      create: () => {
        opened += 1;
        return new MemoryAdapter();
      },
    };
    const router = createRouter(
      { sources: {} },
      { resolveSources: () => waiting.then(() => ({ id: 'ann', sources: sourcesOf('own') })) },
      { ...quiet, storageAdapters: { own } },
    );
    const answer = router.fetch(new Request('https://site.test/files'));
    await router.close();
    proceed();
    expect([(await answer).status, opened]).toEqual([503, 0]);
  });

  it('does not wait for a store that hangs while it opens, and closes it when it is open', async () => {
    let open: (store: MemoryAdapter) => void = () => undefined;
    const opening = new Promise<MemoryAdapter>((resolve) => (open = resolve));
    const own: StorageFactory = { create: () => opening };
    const sources = sourcesOf('own');
    const router = createRouter({ sources }, {}, { ...quiet, storageAdapters: { own } });
    await passing(() => router.close());
    const closed = new Promise<void>((resolve) => {
      open(Object.assign(new MemoryAdapter(), { close: async () => resolve() }));
    });
    await closed;
  });

  it('does not wait for a sweep that hangs in its store', async () => {
    let isHanging = (): void => undefined;
    const hanging = new Promise<void>((resolve) => (isHanging = resolve));
    const own: StorageFactory = {
      create: () => {
        const inner = new MemoryAdapter();
        return replacing(inner, {
          async *list(folder, options) {
            if (folder.toString().startsWith('.stowage-')) {
              isHanging();
              await new Promise(() => undefined);
            }
            yield* inner.list(folder, options);
          },
        });
      },
    };
    const config = { sources: sourcesOf('own'), trash: {} };
    const router = createRouter(config, {}, { ...quiet, storageAdapters: { own } });
    const ask = async (path: string) => (await router.fetch(new Request(`https://site.test${path}`))).status;
    expect(await ask('/folderCreate?name=a')).toBe(200);
    expect(await ask('/folderRemove?name=a')).toBe(200);
    await hanging;
    await passing(() => router.close());
  });

  it('does not listen when it was closed before it could', async () => {
    const app = createApp({ sources: {} }, {}, quiet);
    const listening = app.listen(0);
    await Promise.all([expect(listening).rejects.toThrow('This app has been closed.'), app.close()]);
  });
});

describe('rules of the accessControl hook', () => {
  it('count as the list says at every request, also when it was changed in place', async () => {
    const rules: Record<string, boolean>[] = [];
    const router = createRouter({ sources: sourcesOf('memory') }, { accessControl: () => rules }, quiet);
    onTestFinished(() => router.close());
    const create = async (name: string) =>
      (await router.fetch(new Request(`https://site.test/folderCreate?name=${name}`))).status;
    expect([await create('a'), await create('b')]).toEqual([200, 200]);
    rules.push({ FOLDER_CREATE: false });
    expect(await create('c')).toBe(403);
  });

  it('are compiled once for as long as they are the same', async () => {
    let asked = 0;
    const rule = {
      FILES: true,
      get path() {
        asked += 1;
        return '/a';
      },
    };
    const rules = [rule];
    const router = createRouter({ sources: sourcesOf('memory') }, { accessControl: () => rules }, quiet);
    onTestFinished(() => router.close());
    const reads: number[] = [];
    for (let round = 0; round < 3; round += 1) {
      const before = asked;
      await router.fetch(new Request('https://site.test/files'));
      reads.push(asked - before);
    }
    // Compared once a request; the first also checks and compiles.
    expect(reads.slice(1)).toEqual([1, 1]);
    expect(reads[0]).toBeGreaterThan(1);
  });
});
