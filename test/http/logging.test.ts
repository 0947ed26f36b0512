import { createServer, type AddressInfo } from 'node:net';
import { inspect } from 'node:util';
import { createApp } from 'stowage';
import { describe, expect, it } from 'vitest';
import { createLineLogger, createTerminalLogger } from '#internals';

const circular: Record<string, unknown> = { why: 'no database' };
circular['self'] = circular;

const endless = new Error('no database');
endless.cause = endless;

/** What programs throw besides plain errors. None of it is JSON. */
const thrown: readonly (readonly [what: string, value: unknown])[] = [
  ['an object that holds itself', circular],
  ['an error that is its own cause', endless],
  ['an error whose cause holds itself', new Error('no database', { cause: circular })],
  ['several errors', new AggregateError([new Error('no database')], 'All promises were rejected')],
  ['an object with a large integer', { why: 'no database', rows: 10n }],
  ['an object without a prototype', Object.assign(Object.create(null) as object, { why: 'no database' })],
  ['a symbol', Symbol('no database')],
  ['a text', 'no database'],
];

describe('whatever a hook throws', () => {
  it.each(thrown)('is answered with 500 and told to the log: %s', async (_what, value) => {
    for (const debug of [true, false]) {
      const lines: string[] = [];
      const hooks = {
        checkAuthentication: () => {
          throw value;
        },
      };
      const app = createApp({ sources: {}, debug }, hooks, {
        logger: createLineLogger((line) => lines.push(line)),
      });
      try {
        const answer = await app.fetch(new Request('http://localhost/files'));
        expect(answer.status).toBe(500);
        expect(await answer.text()).not.toContain('database');
        expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([
          { level: 'error', status: 500 },
        ]);
        expect(lines[0]).toContain('no database');
      } finally {
        await app.close();
      }
    }
  });
});

describe('code of the host that fails where nothing waits for it', () => {
  const sources = { files: { title: 'F', storageAdapter: 'memory', baseurl: 'http://files.test/' } };
  const fail = (): never => {
    throw new Error('the worker has exited');
  };
  const refuse = (): Promise<never> => Promise.reject(new Error('the worker has exited'));

  // An error that reaches the process fails the run.
  it.each([
    ['throws', fail],
    ['rejects', refuse],
  ])('changes no answer: a logger that %s', async (_how, log) => {
    const logger = { debug: log, info: log, warn: log, error: log };
    const hooks = {
      onEvent: fail,
      checkAuthentication: ({ url }: { url: string }) => (url === '/files' ? fail() : 'guest'),
    };
    const app = createApp({ sources, allowCrossOrigin: true, debug: true }, hooks, { logger });
    try {
      const ask = (path: string) =>
        app.fetch(new Request(`http://localhost${path}`, { headers: { origin: 'http://other.test' } }));
      expect((await ask('/folderCreate?name=a')).status).toBe(200);
      expect((await ask('/folders')).status).toBe(200);
      const failed = await ask('/files');
      expect([failed.status, await failed.json()]).toMatchObject([500, { data: { error: 'INTERNAL' } }]);
    } finally {
      await app.close();
    }
  });

  it.each([
    ['when a request begins', fail],
    ['when it has ended', () => fail],
  ])('changes no answer: an observer that fails %s', async (_when, observe) => {
    const lines: string[] = [];
    const app = createApp(
      { sources, createThumb: false },
      {},
      { observe, logger: createLineLogger((line) => lines.push(line)) },
    );
    try {
      const body = new FormData();
      body.append('files[]', new Blob(['x']), 'a.txt');
      const upload = await app.fetch(new Request('http://localhost/fileUpload', { method: 'POST', body }));
      expect(upload.status).toBe(200);
      const download = await app.fetch(new Request('http://localhost/fileDownload?name=a.txt'));
      expect([download.status, await download.text()]).toEqual([200, 'x']);
      await expect.poll(() => lines.filter((line) => line.includes('observe')).length).toBe(2);
    } finally {
      await app.close();
    }
  });

  it('is answered also where its error cannot be read', async () => {
    const lines: string[] = [];
    const { proxy, revoke } = Proxy.revocable(new Error('gone'), {});
    revoke();
    const unreadable = Object.defineProperty(new Error(), 'message', { get: fail });
    const thrown = [unreadable, new Error('outer', { cause: proxy }), { inner: proxy }];
    for (const debug of [true, false]) {
      for (const error of thrown) {
        const refuseAll = () => {
          throw error as Error;
        };
        const app = createApp(
          { sources, debug },
          { checkAuthentication: refuseAll },
          { logger: createLineLogger((line) => lines.push(line)) },
        );
        const answer = await app.fetch(new Request('http://localhost/files'));
        expect([answer.status, await answer.json()]).toMatchObject([500, { data: { error: 'INTERNAL' } }]);
        await app.close();
      }
    }
    expect(lines.filter((line) => line.includes('A request failed.'))).toHaveLength(2 * thrown.length);
  });
});

describe('secrets', () => {
  it('do not reach a logger with the errors of a library', async () => {
    const seen: unknown[] = [];
    const note = (...told: unknown[]): void => void seen.push(told);
    const logger = { debug: note, info: note, warn: note, error: note };
    const app = createApp(
      {
        sources: {},
        debug: true,
      },
      {
        checkAuthentication: () => {
          const cause = Object.assign(new Error('no answer of https://ann:hunter2@db.example/?sig=hunter2'), {
            command: { args: ['hunter2'] },
          });
          throw new Error('no database', { cause });
        },
      },
      { logger },
    );
    try {
      await app.fetch(new Request('http://localhost/files'));
      const text = inspect(seen, { depth: null, showHidden: true });
      expect(text).toContain('no database');
      expect(text).toContain('https://ann:***@db.example');
      expect(text).not.toContain('hunter2');
    } finally {
      await app.close();
    }
  });

  it('do not reach a logger when Redis refuses them', async () => {
    const redis = createServer((socket) => {
      socket.on('data', () => socket.write('-WRONGPASS invalid username-password pair\r\n'));
      socket.on('error', () => undefined);
    });
    await new Promise<void>((resolve) => redis.listen(0, '127.0.0.1', resolve));
    const { port } = redis.address() as AddressInfo;
    const seen: unknown[] = [];
    const note = (...told: unknown[]): void => void seen.push(told);
    const app = createApp(
      {
        sources: {},
        redis: { url: `redis://bert:hunter2@127.0.0.1:${String(port)}` },
        rateLimits: { listings: { requests: 1, seconds: 60 } },
      },
      {},
      { logger: { debug: note, info: note, warn: note, error: note } },
    );
    try {
      await app.fetch(new Request('http://localhost/files'));
      const text = inspect(seen, { depth: null, showHidden: true });
      expect(text).toContain('WRONGPASS');
      expect(text).not.toContain('hunter2');
    } finally {
      await app.close();
      redis.close();
    }
  });
});

describe('the log of requests', () => {
  const linesOf = async (logRequests: boolean): Promise<Record<string, unknown>[]> => {
    const lines: Record<string, unknown>[] = [];
    const sources = { files: { title: 'F', storageAdapter: 'memory', serve: 'public' as const } };
    const app = createApp(
      { sources, logRequests, debug: false },
      { checkAuthentication: () => ({ role: 'editor', subject: 'ann' }) },
      { logger: createLineLogger((line) => lines.push(JSON.parse(line) as Record<string, unknown>)) },
    );
    for (const path of ['folderCreate?name=trip', 'files?path=trip', 'files?path=gone', 'file/files/a.txt']) {
      await (await app.fetch(new Request(`http://localhost/${path}`))).arrayBuffer();
    }
    await app.close();
    return lines;
  };
  const known = { role: 'editor', subject: 'ann', source: '', milliseconds: expect.any(Number) as number };

  it('has a line for each, where that is asked for', async () => {
    expect(await linesOf(true)).toMatchObject([
      {
        ...known,
        source: 'files',
        message: 'Changed.',
        action: 'folderCreate',
        item: 'trip',
        status: 200,
      },
      {
        ...known,
        message: 'Answered.',
        action: 'files',
        item: 'trip',
        status: 200,
        bytes: expect.any(Number) as number,
      },
      { ...known, message: 'A request failed.', action: 'files', item: 'gone', status: 404 },
      { message: 'A request failed.', action: 'file', source: 'files', item: 'a.txt', status: 404 },
    ]);
  });

  it('names the first file of an upload, how many there are, and their source', async () => {
    const lines: Record<string, unknown>[] = [];
    const app = createApp(
      { sources: { files: { title: 'F', storageAdapter: 'memory', serve: 'public' } }, createThumb: false },
      {},
      { logger: createLineLogger((line) => lines.push(JSON.parse(line) as Record<string, unknown>)) },
    );
    const body = new FormData();
    body.append('path', '/');
    for (const name of ['a.txt', 'b.txt']) body.append('files[]', new Blob(['x']), name);
    await app.fetch(new Request('http://localhost/fileUpload', { method: 'POST', body }));
    await app.fetch(new Request('http://localhost/fileRename?path=/&name=a.txt&newname=c.txt'));
    await app.close();
    expect(lines.filter(({ message }) => message === 'Changed.')).toMatchObject([
      { action: 'fileUpload', source: 'files', item: 'a.txt', files: 2 },
      { action: 'fileRename', source: 'files', item: 'a.txt' },
    ]);
  });

  it('has a line for each change otherwise', async () => {
    const messages = (await linesOf(false)).map(({ message }) => message);
    expect(messages).toEqual(['Changed.']);
  });
});

describe('the log at a terminal', () => {
  it('is read by people, and not steered by what clients send', () => {
    const lines: string[] = [];
    const log = createTerminalLogger((line) => lines.push(line));
    log.info('Changed.', {
      action: 'fileRemove',
      item: 'my\u001b[2J file\nERROR',
      bytes: 12,
      source: undefined,
    });
    log.error('A request failed.', { error: new Error('no \u009b2Jdatabase') });
    expect(lines[0]).toMatch(
      /^[\d:]{8} INFO {2}Changed\. action=fileRemove item="my\\u001b\[2J file\\nERROR" bytes=12\n$/u,
    );
    expect(lines[1]).toMatch(/^[\d:]{8} ERROR A request failed\.\nError: no .2Jdatabase\n +at /u);
    expect(lines.join('')).not.toMatch(/[\u001b\u009b]/u);
  });
});
