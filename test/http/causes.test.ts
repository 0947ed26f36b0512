import { runInNewContext } from 'node:vm';
import {
  createRouter,
  HttpError,
  registerStorageAdapter,
  type ConnectorHooks,
  type HookRequest,
} from 'stowage';
import { describe, expect, it, onTestFinished } from 'vitest';
import { MemoryAdapter } from '#internals';
import { replacing } from '../protocol/changing-store.ts';
import { ask, form, startEdge } from './edge.ts';
import { filePart, formOf } from './raw-http.ts';

const quiet = { logger: { debug() {}, info() {}, warn() {}, error() {} } };
const configured = {
  sources: { files: { title: 'Files', baseurl: 'https://files.test/', storageAdapter: 'memory' } },
};

const answerTo = async (hooks: ConnectorHooks, path = '/files') => {
  const router = createRouter(configured, hooks, quiet);
  onTestFinished(() => router.close());
  const response = await router.fetch(new Request(`https://site.test${path}`));
  return { status: response.status, body: (await response.json()) as unknown };
};

describe('the cause of a refusal', () => {
  it.each([
    ['/nothing', 404, 'UNKNOWN_ACTION'],
    ['/missing', 404, 'NOT_FOUND'],
    ['/picky', 400, 'INVALID_PARAMETERS'],
    ['/crash', 500, 'INTERNAL'],
  ])('goes with the answer to %s, for programs', async (path, code, error) => {
    const edge = await startEdge();
    expect((await ask(edge, path)).data).toMatchObject({ code, error });
  });

  it.each([
    [401, 'UNAUTHENTICATED'],
    [403, 'ACCESS_DENIED'],
    [418, 'REFUSED_BY_HOST'],
    [503, 'INTERNAL'],
  ])('of a hook is told by its status %i, also from another realm', async (status, error) => {
    const thrown: unknown = runInNewContext(
      `Object.assign(new Error('Not today.'), { [Symbol.for('stowage.HttpError')]: true, status: ${String(status)} })`,
    );
    const checkAuthentication = () => {
      throw thrown;
    };
    expect(await answerTo({ checkAuthentication })).toEqual({
      status,
      body: { success: false, data: { code: status, error, messages: ['Not today.'] } },
    });
  });

  it.each([302, 200, Number.NaN, 999])(
    'is an internal one where an adapter of the host throws an HttpError with the status %d',
    async (status) => {
      const throwing = async (): Promise<never> => Promise.reject(new HttpError(status, 'Elsewhere.'));
      const storage = replacing(new MemoryAdapter(), { stat: throwing, makeFolder: throwing });
      registerStorageAdapter(`throwing-${status}`, { create: () => storage });
      const files = { ...configured.sources.files, storageAdapter: `throwing-${status}` };
      const router = createRouter({ sources: { files } }, {}, quiet);
      onTestFinished(() => router.close());
      const made = await router.fetch(new Request('https://site.test/folderCreate?name=a'));
      expect([made.status, await made.json()]).toMatchObject([500, { data: { error: 'INTERNAL' } }]);
    },
  );

  it('is not told where the HttpError is that of a library, about a request of the host', async () => {
    // As Octokit and many clients of APIs have it.
    class HttpError extends Error {
      override readonly name = 'HttpError';
      readonly status = 401;
    }
    const checkAuthentication = (): never => {
      throw new HttpError('GET http://users.internal:8080/me failed: Bad credentials');
    };
    expect(await answerTo({ checkAuthentication })).toEqual({
      status: 500,
      body: { success: false, data: { code: 500, error: 'INTERNAL', messages: ['Internal error.'] } },
    });
  });
});

describe('hooks as an instance of a class', () => {
  it('keep what is theirs', async () => {
    class Hooks {
      readonly #roles = new Map([['ann', 'editor']]);
      readonly asked: string[] = [];
      readonly table = { note: 'of no interest' };

      checkAuthentication({ headers }: HookRequest): string {
        this.asked.push('role');
        return this.#roles.get(headers['x-user'] ?? 'ann') ?? 'guest';
      }

      resolveSources(): null {
        this.asked.push('sources');
        return null;
      }

      accessControl() {
        this.asked.push('rules');
        return [{ FILES: false }, { role: [...this.#roles.values()][0] ?? '', FILES: true }];
      }

      allowedOrigins(): boolean {
        return this.asked.length >= 0;
      }
    }
    const hooks = new Hooks();
    expect((await answerTo(hooks)).status).toBe(200);
    expect(hooks.asked).toEqual(['sources', 'role', 'rules']);
  });

  it('are called as methods, also those for origins and icons', async () => {
    class Hooks {
      readonly #origin = 'https://editor.test';
      readonly #svg = '<svg xmlns="http://www.w3.org/2000/svg"/>';

      /** What is no hook is not touched. */
      get connection(): never {
        throw new Error('not connected yet');
      }

      allowedOrigins(origin: string): boolean {
        return origin === this.#origin;
      }

      svgGenerator(): string {
        return this.#svg;
      }
    }
    const files = { title: 'Files', storageAdapter: 'memory', serve: 'public' as const };
    const router = createRouter({ sources: { files }, allowCrossOrigin: true }, new Hooks(), quiet);
    onTestFinished(() => router.close());
    const get = (path: string) =>
      router.fetch(new Request(`https://site.test${path}`, { headers: { origin: 'https://editor.test' } }));
    expect((await get('/folderCreate?name=trip')).headers.get('access-control-allow-origin')).toBe(
      'https://editor.test',
    );
    const { data } = (await (await get('/files?mods[withFolders]=1')).json()) as {
      data: { sources: readonly { baseurl: string; files: readonly { thumb: string }[] }[] };
    };
    const [source] = data.sources;
    const icon = await get(`${source?.baseurl ?? ''}${source?.files[0]?.thumb ?? ''}`);
    expect(await icon.text()).toContain('<svg xmlns="http://www.w3.org/2000/svg"/>');
  });

  it('stop the start when one of them is misspelt', () => {
    class Hooks {
      checkAuthentification(): string {
        return 'guest';
      }
    }
    expect(() => createRouter(configured, new Hooks() as ConnectorHooks, quiet)).toThrow(
      'hooks.checkAuthentification: is not a known key; did you mean "checkAuthentication"?',
    );
  });
});

describe('the health check', () => {
  it('answers POST, also with onlyPOST', async () => {
    for (const onlyPOST of [true, false]) {
      const edge = await startEdge({ settings: { onlyPOST } });
      expect((await fetch(`${edge.url}/ping`, { method: 'POST' })).status).toBe(200);
    }
  });
});

describe('the log', () => {
  const about = { action: 'crash', source: 'main', item: 'a/b.txt', role: 'guest' };

  it('says what a failed request was about, and the answer carries its id', async () => {
    const edge = await startEdge();
    const answer = await ask(edge, '/', form('action=crash&source=main&path=a&name=b.txt'));
    const requestId = answer.headers.get('x-request-id');
    expect(requestId).toMatch(/^[\da-f-]{36}$/u);
    expect(edge.log).toMatchObject([{ level: 'error', fields: { ...about, requestId, status: 500 } }]);
  });

  it('has one line for a change and none for a look', async () => {
    const edge = await startEdge({ settings: { debug: false } });
    await ask(edge, '/other?path=a');
    const { headers } = await ask(edge, '/change?source=main&from=a/b.txt');
    const requestId = headers.get('x-request-id');
    const answer = { requestId, status: 200, bytes: Number(headers.get('content-length')) };
    expect(edge.log).toMatchObject([{ level: 'info', fields: { ...about, action: 'change', ...answer } }]);
    expect(edge.log[0]?.fields['milliseconds']).toEqual(expect.any(Number));
  });

  it('has a line for what failed and none for a look, and stacks from status 500 on only', async () => {
    const edge = await startEdge({ settings: { debug: true } });
    await ask(edge, '/other?path=a');
    await ask(edge, '/missing');
    await ask(edge, '/crash');
    expect(edge.log.map(({ level, fields }) => [level, fields['status']])).toEqual([
      ['info', 404],
      ['error', 500],
    ]);
    expect(edge.log[0]?.fields['error']).not.toHaveProperty('stack');
    expect(edge.log[1]?.fields['error']).toHaveProperty('stack');
  });

  it('has the id of every answer', async () => {
    const edge = await startEdge();
    const ids = new Set<string | null>();
    for (const path of ['/other', '/ping', '/missing', '/crash']) {
      ids.add((await fetch(`${edge.url}${path}`)).headers.get('x-request-id'));
    }
    expect(ids.size).toBe(4);
    expect(ids).not.toContain(null);
  });
});

describe('a store that cannot discard unused uploads', () => {
  it('neither fails the request nor keeps its sources', async () => {
    const inner = new MemoryAdapter();
    const storage = replacing(inner, {
      stage: async (content) => {
        for await (const chunk of content) void chunk;
        return {
          size: 1,
          open: () => {
            throw new Error('not needed');
          },
          commit: () => Promise.reject(new Error('not needed')),
          discard: () => Promise.reject(new Error('the disk is gone')),
        };
      },
    });
    const edge = await startEdge({ storage });
    const answer = await ask(edge, '/leave', formOf(filePart('files[0]', 'a.png', 'x')));
    expect(answer.status).toBe(200);
    await expect.poll(edge.leases).toBe(0);
    expect(edge.log.filter(({ level }) => level === 'warn')).toHaveLength(1);
  });
});
