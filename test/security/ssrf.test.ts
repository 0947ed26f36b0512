import { gzipSync } from 'node:zlib';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createRemoteFetcher, createSilentLogger } from '#internals';
import type { HostAddress } from '../../packages/stowage/dist/basics/network/checked-request.js';
import { startCanary, startSite, type Canary, type Site } from '../network/loopback.ts';

const limits = { maxBytes: 1024, timeoutMs: 2000 };
const v4 = (address: string): HostAddress => ({ address, family: 4 });
const v6 = (address: string): HostAddress => ({ address, family: 6 });

/**
 * A fetcher whose names are found in a table; each question is counted. Names that are not in it do not
 * exist.
 */
const fetcherWith = (names: Record<string, (question: number) => readonly HostAddress[]> = {}) => {
  const questions = new Map<string, number>();
  const fetcher = createRemoteFetcher({
    log: createSilentLogger(),
    resolve: async (hostname) => {
      const count = (questions.get(hostname) ?? 0) + 1;
      questions.set(hostname, count);
      const answer = names[hostname];
      if (answer === undefined) throw new Error(`getaddrinfo ENOTFOUND ${hostname}`);
      return answer(count);
    },
  });
  return { ...fetcher, questions };
};

const failureOf = async (work: Promise<unknown>): Promise<{ status: unknown; message: string }> =>
  work.then(
    () => {
      throw new Error('The fetch succeeded.');
    },
    (error: unknown) => ({
      status: (error as { status?: unknown }).status,
      message: (error as Error).message,
    }),
  );

let canary: Canary;
let site: Site;
let redirectTo = '';

beforeAll(async () => {
  canary = await startCanary();
  site = await startSite((request, response) => {
    if (request.url === '/file.png') response.end('content');
    else response.writeHead(302, { location: redirectTo }).end();
  });
});

afterEach(() => {
  expect(canary.connections).toBe(0);
});

afterAll(async () => {
  await Promise.all([canary.close(), site.close()]);
});

const atCanary = (url: string): string => url.replace('PORT', String(canary.port));

describe('inner addresses in every spelling', () => {
  /** @see CVE-2019-6257 (S1), CVE-2022-0086 (S2), CVE-2026-55187 (S3), CVE-2025-24354 (S4) */
  it.each([
    'http://127.0.0.1:PORT/',
    'http://127.1:PORT/',
    'http://0177.0.0.1:PORT/',
    'http://0x7f000001:PORT/',
    'http://0x7f.1:PORT/',
    'http://2130706433:PORT/',
    'http://%31%32%37.0.0.1:PORT/',
    'http://①②⑦.⓪.⓪.①:PORT/',
    'http://127。0。0。1:PORT/',
    'http://localhost:PORT/',
    'http://localhost.:PORT/',
    'http://LOCALHOST:PORT/',
    'http://files.localhost:PORT/',
    'https://127.0.0.1:PORT/',
    'HTTP://127.0.0.1:PORT/',
    'http://[::1]:PORT/',
    'http://[0:0:0:0:0:0:0:1]:PORT/',
    'http://[::ffff:127.0.0.1]:PORT/',
    'http://[::ffff:10.0.0.1]:PORT/',
    'http://[::ffff:7f00:1]:PORT/',
    'http://[::127.0.0.1]:PORT/',
    'http://[::10.0.0.1]/',
    'http://[2002:7f00:1::]:PORT/',
    'http://[64:ff9b::7f00:1]:PORT/',
    'http://[64:ff9b:1::7f00:1]:PORT/',
    'http://[2001:0:4136:e378:8000:63bf:80ff:fffe]:PORT/',
    'http://[fe80::5efe:7f00:1]:PORT/',
    'http://[2606:4700::5efe:7f00:1]:PORT/',
    'http://[2606:4700::7f00:1]:PORT/',
    'http://[fe80::1%25eth0]:PORT/',
    'http://[fe80::1%eth0]:PORT/',
    'http://[fec0::1]/',
    'http://[2001:db8::1]/',
    'http://[100::1]/',
    'http://[fd00::1]/',
    'http://[ff02::1]/',
    'http://192.0.0.1/',
    'http://198.18.0.1/',
    'http://100.64.0.1/',
    'http://100.100.100.200/',
    'http://168.63.129.16/',
    'http://169.254.169.254/latest/meta-data/',
    'http://224.0.0.1/',
    'http://240.0.0.1/',
    'http://255.255.255.255/',
    'http://10.0.0.1/',
    'http://172.16.0.1/',
    'http://192.168.0.1/',
    'http://0.0.0.0:PORT/',
    'http://0:PORT/',
    'http://[::]:PORT/',
  ])('%s is refused with 403', async (url) => {
    const { status, message } = await failureOf(fetcherWith().fetch(atCanary(url), limits));
    expect(status).toBe(403);
    expect(message).toBe('This address must not be fetched.');
  });

  it('a wildcard name that points inside is refused (127.0.0.1.nip.io)', async () => {
    const fetcher = fetcherWith({ '127.0.0.1.nip.io': () => [v4('127.0.0.1')] });
    const failure = await failureOf(fetcher.fetch(atCanary('http://127.0.0.1.nip.io:PORT/'), limits));
    expect(failure.status).toBe(403);
  });
});

describe('the host is that of the parsed URL', () => {
  /** S8: whatever a reader may take for the host. */
  it.each([
    ['user name that looks like a host', 'http://example.com@127.0.0.1:PORT/'],
    ['password', 'http://example.com:80@127.0.0.1:PORT/'],
    ['backslashes', 'http:\\\\127.0.0.1:PORT\\'],
    ['backslash before @', 'http://127.0.0.1:PORT\\@example.com/'],
    ['fragment', 'http://127.0.0.1:PORT#example.com'],
    ['query', 'http://127.0.0.1:PORT?example.com'],
    ['missing slashes', 'http:127.0.0.1:PORT/'],
    ['too many slashes', 'http:////127.0.0.1:PORT/'],
    ['tab and newline', 'ht\ntp://127.\t0.0.1:PORT/'],
    ['leading blanks', '  \u0000http://127.0.0.1:PORT/'],
  ])('%s: %j', async (_case, url) => {
    expect((await failureOf(fetcherWith().fetch(atCanary(url), limits))).status).toBe(403);
  });

  it('a name that only begins like an allowed one is looked up whole', async () => {
    const fetcher = fetcherWith({ 'allowed.com.evil.tld': () => [v4('10.0.0.1')] });
    expect((await failureOf(fetcher.fetch('http://allowed.com.evil.tld/', limits))).status).toBe(403);
    expect([...fetcher.questions.keys()]).toEqual(['allowed.com.evil.tld']);
  });

  it('user name and password of a URL are not sent', async () => {
    const seen: unknown[] = [];
    const server = await startSite((request, response) => {
      seen.push(request.headers.authorization);
      response.end('ok');
    });
    const { stream } = await fetcherWith().fetch(`http://bob:secret@127.0.0.1:${server.port}/`, {
      ...limits,
      allowPrivate: true,
    });
    expect(await text(stream)).toBe('ok');
    expect(seen).toEqual([undefined]);
    await server.close();
  });
});

describe('schemes', () => {
  /** @see CVE-2018-14728, CVE-2020-8135 (S7) */
  it.each([
    'file:///etc/passwd',
    'FILE:///etc/passwd',
    'gopher://127.0.0.1:PORT/_x',
    'ftp://127.0.0.1:PORT/a.png',
    'data:image/png;base64,AAAA',
    'dict://127.0.0.1:PORT/info',
    'javascript:alert(1)',
    'blob:http://127.0.0.1:PORT/x',
    'ws://127.0.0.1:PORT/',
    'jar:http://127.0.0.1:PORT!/',
    '//127.0.0.1:PORT/a.png',
    '/etc/passwd',
    '',
    'http://',
    `http://example.com/${'a'.repeat(10_000)}`,
  ])('%.60s is refused with 400', async (url) => {
    for (const allowPrivate of [false, true]) {
      const failure = await failureOf(fetcherWith().fetch(atCanary(url), { ...limits, allowPrivate }));
      expect(failure.status).toBe(400);
    }
  });

  /** @see CVE-2026-40280: an upper-case scheme is the same scheme. */
  it('HTTP:// in capitals is http', async () => {
    const { stream } = await fetcherWith().fetch(`HTTP://127.0.0.1:${site.port}/file.png`, {
      ...limits,
      allowPrivate: true,
    });
    expect(await text(stream)).toBe('content');
  });
});

describe('names with changing or mixed answers', () => {
  /** @see GO-2026-4990 (S5) */
  it('a second answer cannot replace the checked one', async () => {
    // TEST-NET-3 would be refused; this public address of nobody leads nowhere from a test.
    const fetcher = fetcherWith({
      'rebind.example': (question) => [question === 1 ? v4('203.0.112.1') : v4('127.0.0.1')],
    });
    const failure = await failureOf(
      fetcher.fetch(atCanary('http://rebind.example:PORT/'), { ...limits, timeoutMs: 300 }),
    );
    expect(failure.status).toBe(400);
    expect(fetcher.questions.get('rebind.example')).toBe(1);
  });

  it.each([
    ['last', [v4('203.0.112.1'), v4('127.0.0.1')]],
    ['first', [v4('127.0.0.1'), v4('203.0.112.1')]],
    ['in the other family', [v4('203.0.112.1'), v6('::1')]],
    ['mapped', [v4('203.0.112.1'), v6('::ffff:127.0.0.1')]],
  ])('one inner address among public ones refuses the name: %s', async (_case, addresses) => {
    const fetcher = fetcherWith({ 'mixed.example': () => addresses });
    expect((await failureOf(fetcher.fetch(atCanary('http://mixed.example:PORT/'), limits))).status).toBe(403);
  });

  it('the connection goes to the checked address with the host of the URL', async () => {
    const hosts: unknown[] = [];
    const server = await startSite((request, response) => {
      hosts.push(request.headers.host);
      response.end('ok');
    });
    const fetcher = fetcherWith({ 'files.example': () => [v4('127.0.0.1')] });
    const { stream } = await fetcher.fetch(`http://files.example:${server.port}/`, {
      ...limits,
      allowPrivate: true,
    });
    expect(await text(stream)).toBe('ok');
    expect(hosts).toEqual([`files.example:${server.port}`]);
    await server.close();
  });
});

/**
 * Redirects are seen only by a fetcher that may reach the first server. The check of addresses is lifted for
 * loopback only through a resolver's name: `site.example` would be refused as any other, so these run the
 * first hop with the check off.
 */
describe('redirects', () => {
  const lifted = { ...limits, allowPrivate: true };

  it.each(['file:///etc/passwd', 'ftp://example.com/', 'data:text/plain,x', 'gopher://127.0.0.1/'])(
    'to %s: 400',
    async (location) => {
      redirectTo = location;
      expect((await failureOf(fetcherWith().fetch(`${site.origin}/go`, lifted))).status).toBe(400);
    },
  );

  /** @see GO-2026-5324 (S6) */
  it.each([
    'http://169.254.169.254/latest/',
    'http://127.0.0.1:PORT/',
    '//127.0.0.1:PORT/',
    'http://[::1]:PORT/',
    'http://[::ffff:127.0.0.1]:PORT/',
    'http://inner.example:PORT/',
    'HTTP://127.1:PORT/',
    '\\\\127.0.0.1:PORT\\',
  ])('to %s: each hop is checked again', async (location) => {
    redirectTo = atCanary(location);
    const fetcher = fetcherWith({
      'outer.example': () => [v4('127.0.0.1')],
      'inner.example': () => [v4('127.0.0.1')],
    });
    const failure = await failureOf(
      fetcher.fetch(`http://outer.example:${site.port}/go`, {
        ...limits,
        // On for the first hop, off for all that follow: the same check as without it, with a first server
        // that can be reached.
        get allowPrivate() {
          return !fetcher.questions.has('outer.example');
        },
      }),
    );
    expect(failure.status).toBe(403);
  });

  it.each([301, 302, 303, 307, 308])('%i is followed, without credentials or cookies', async (status) => {
    const seen: unknown[] = [];
    const server = await startSite((request, response) => {
      seen.push([request.method, request.headers.authorization, request.headers.cookie]);
      if (request.url === '/a')
        response.writeHead(status, { location: 'b', 'set-cookie': 'a=1' }).end('body of a redirect');
      else response.end('arrived');
    });
    const { stream } = await fetcherWith().fetch(`${server.origin.replace('//', '//u:p@')}/a`, lifted);
    expect(await text(stream)).toBe('arrived');
    expect(seen).toEqual([
      ['GET', undefined, undefined],
      ['GET', undefined, undefined],
    ]);
    await server.close();
  });

  it('five redirects arrive, the sixth is refused', async () => {
    let asked = 0;
    const server = await startSite((request, response) => {
      asked += 1;
      const left = Number(request.url?.slice(1));
      if (left === 0) response.end('arrived');
      else response.writeHead(302, { location: `/${left - 1}` }).end();
    });
    const { stream } = await fetcherWith().fetch(`${server.origin}/5`, lifted);
    expect(await text(stream)).toBe('arrived');
    asked = 0;
    expect((await failureOf(fetcherWith().fetch(`${server.origin}/6`, lifted))).status).toBe(400);
    expect(asked).toBe(6);
    await server.close();
  });
});

describe('failures tell nothing of the inside', () => {
  /** @see CVE-2022-0528 (S9) */
  it('every failure outside reads the same', async () => {
    const closed = await startSite(() => undefined);
    await closed.close();
    const server = await startSite((request, response) => {
      if (request.url === '/401')
        response.writeHead(401, { 'www-authenticate': 'Basic' }).end('inner secret');
      else if (request.url === '/500') response.writeHead(500).end('stack of the inner host');
      else request.socket.end('SSH-2.0-OpenSSH_9.2\r\n');
    });
    const urls = [
      `http://127.0.0.1:${closed.port}/`,
      `${server.origin}/401`,
      `${server.origin}/500`,
      `${server.origin}/ssh`,
      'http://does-not-exist.example/',
    ];
    for (const url of urls) {
      expect(await failureOf(fetcherWith().fetch(url, { ...limits, allowPrivate: true }))).toEqual({
        status: 400,
        message: 'The remote file could not be fetched.',
      });
    }
    await server.close();
  });
});

/** Rows S11: what a server may do with its answer. */
describe('answers without end', () => {
  const lifted = { ...limits, allowPrivate: true };
  let server: Site;
  beforeAll(async () => {
    // Made before the time for a fetch begins.
    const bomb = gzipSync(Buffer.alloc(50_000_000));
    server = await startSite((request, response) => {
      const repeat = (piece: Buffer): void => {
        while (response.write(piece));
        response.once('drain', () => repeat(piece));
      };
      if (request.url === '/endless') repeat(Buffer.alloc(16_384));
      else if (request.url === '/nothing') {
        response.writeHead(200, { 'content-encoding': 'gzip' });
        repeat(Buffer.concat(Array.from({ length: 500 }, () => gzipSync(Buffer.alloc(0)))));
      } else if (request.url === '/bomb') {
        response.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb);
      } else if (request.url === '/double-bomb') {
        response.writeHead(200, { 'content-encoding': 'gzip, gzip' }).end(gzipSync(bomb));
      } else if (request.url === '/layers') {
        response.writeHead(200, { 'content-encoding': 'gzip, gzip, gzip' }).end('x');
      } else if (request.url === '/unknown') {
        response.writeHead(200, { 'content-encoding': 'zstd' }).end('x');
      } else if (request.url === '/announced') {
        response.writeHead(200, { 'content-length': '5000' });
        response.write('x');
      } else if (request.url === '/short') {
        response.writeHead(200, { 'content-length': '100' });
        response.write('only this', () => response.destroy());
      } else if (request.url === '/header') {
        response.writeHead(200, { 'x-long': 'a'.repeat(40_000) }).end('x');
      } else if (request.url === '/drip') {
        response.writeHead(200);
        const timer = setInterval(() => response.write('x'), 50);
        response.on('close', () => clearInterval(timer));
      }
      // Anything else: silence.
    });
  });
  afterAll(() => server.close());

  const readAll = async (path: string, options = lifted): Promise<string> =>
    text((await fetcherWith().fetch(server.origin + path, options)).stream);

  it.each(['/endless', '/nothing', '/bomb', '/double-bomb', '/announced'])(
    '%s stops at the limit: 403',
    async (path) => {
      expect(await failureOf(readAll(path))).toEqual({ status: 403, message: 'The file is too large.' });
    },
  );

  it.each(['/layers', '/unknown', '/short', '/header'])('%s: 400', async (path) => {
    expect((await failureOf(readAll(path))).status).toBe(400);
  });

  it.each(['/drip', '/silence'])('%s ends with the time for the whole fetch: 400', async (path) => {
    expect((await failureOf(readAll(path, { ...lifted, timeoutMs: 400 }))).status).toBe(400);
  });

  it('leaves no connection open, however a fetch ended', async () => {
    await expect.poll(() => server.sockets.size).toBe(0);
    await expect.poll(() => site.sockets.size).toBe(0);
  });
});

describe('environment proxies', () => {
  it('are not used', async () => {
    const before = process.env['http_proxy'];
    process.env['http_proxy'] = process.env['HTTP_PROXY'] = atCanary('http://127.0.0.1:PORT');
    try {
      const { stream } = await fetcherWith().fetch(`${site.origin}/file.png`, {
        ...limits,
        allowPrivate: true,
      });
      expect(await text(stream)).toBe('content');
    } finally {
      delete process.env['HTTP_PROXY'];
      if (before === undefined) delete process.env['http_proxy'];
      else process.env['http_proxy'] = before;
    }
  });
});

/** S10: a second way out without the guard is how such guards are passed by. */
describe('one door outward', () => {
  const clients = new Set(['undici', 'node:https', 'node:tls', 'axios', 'got', 'node-fetch', 'ws']);
  /** Modules that serve as well as they connect, with what connects. */
  const connecting = new Map([
    ['node:http', /\b(?:request|get|Agent|globalAgent|ClientRequest)\b/u],
    ['node:http2', /\bconnect\b/u],
    ['node:net', /\b(?:connect|createConnection|Socket)\b/u],
  ]);

  const isWayOut = (clause: string, module: string): boolean => {
    if (clients.has(module)) return true;
    const words = connecting.get(module);
    return words !== undefined && (!clause.includes('{') || words.test(clause));
  };

  it('no other room of the package names a client', async () => {
    const root = fileURLToPath(new URL('../../packages/stowage/src', import.meta.url));
    const files = (await readdir(root, { recursive: true })).filter((file) => file.endsWith('.ts'));
    const guilty: string[] = [];
    for (const file of files) {
      if (file.startsWith(join('basics', 'network'))) continue;
      // These ask where the operator's configuration says, never where a user does.
      if (file.startsWith('adapters')) continue;
      if (file === join('http', 'roles.ts') || file.startsWith(join('cli', 'doctor'))) continue;
      if (file === join('operations', 'inspection', 'clamd.ts')) continue;
      const code = (await readFile(join(root, file), 'utf8')).replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*$/gmu, '');
      const imports = [...code.matchAll(/import\s+(?!type\b)([^'();]*?)\s*from\s+'([^']+)'/gu)];
      const lazy = [...code.matchAll(/\b(?:import|require)\(\s*'([^']+)'\s*\)/gu)];
      const ways = [
        ...imports.filter(([, clause = '', module = '']) => isWayOut(clause, module)),
        ...lazy.filter(([, module = '']) => isWayOut('', module)),
        ...code.matchAll(/(?:await|return|=>?|\()\s*fetch\(|globalThis\.fetch/gu),
      ];
      if (ways.length > 0) guilty.push(file);
    }
    expect(guilty).toEqual([]);
  });
});
