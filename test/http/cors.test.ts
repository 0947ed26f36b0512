import { describe, expect, it } from 'vitest';
import { HttpError } from 'stowage';
import { startEdge, type RunningEdge } from './edge.ts';
import { RawConnection } from './raw-http.ts';

const GOOD = 'https://good.test';

/** Sends headers that `fetch` keeps for itself. */
const request = async (
  edge: RunningEdge,
  method: string,
  path: string,
  headers: Record<string, string>,
): Promise<{ status: number; headers: Headers; text: string }> => {
  const connection = await RawConnection.open(edge.port);
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  await connection.write(`${method} ${path} HTTP/1.1\r\nHost: a\r\n${lines.join('')}\r\n`);
  const { status, text } = await connection.answer();
  const head = connection.received.slice(0, connection.received.indexOf('\r\n\r\n')).split('\r\n').slice(1);
  connection.destroy();
  return {
    status,
    text,
    headers: new Headers(
      head.map((line): [string, string] => {
        const colon = line.indexOf(':');
        return [line.slice(0, colon), line.slice(colon + 1).trim()];
      }),
    ),
  };
};

const corsOf = ({ headers }: { headers: Headers }) => ({
  origin: headers.get('access-control-allow-origin'),
  credentials: headers.get('access-control-allow-credentials'),
  vary: headers.get('vary'),
});

const none = { origin: null, credentials: null };
const refused = { ...none, vary: 'Origin' };
const echoed = (origin: string) => ({ origin, credentials: 'true', vary: 'Origin' });

describe('with allowCrossOrigin off', () => {
  it('adds nothing, whatever is listed', async () => {
    const edge = await startEdge({ settings: { allowedOrigins: [GOOD] }, isOriginAllowed: () => true });
    for (const path of ['/ping', '/other', '/missing']) {
      expect(corsOf(await request(edge, 'GET', path, { origin: GOOD }))).toEqual({ ...none, vary: null });
    }
    const preflight = await request(edge, 'OPTIONS', '/other', { origin: GOOD });
    expect(preflight.status).toBe(200);
    expect(corsOf(preflight)).toEqual({ ...none, vary: null });
  });
});

describe('with allowCrossOrigin on and no list', () => {
  it('echoes every origin on every answer', async () => {
    const edge = await startEdge({ settings: { allowCrossOrigin: true } });
    for (const path of ['/ping', '/other', '/missing', '/crash', '/nonsense', '/download', '/many']) {
      const answer = await request(edge, 'GET', path, { origin: 'http://any.test:8080' });
      const vary = path === '/many' ? 'Accept-Encoding, Origin' : 'Origin';
      expect(corsOf(answer)).toEqual({ ...echoed('http://any.test:8080'), vary });
    }
  });

  it('lets pages read the headers of downloads and the id of a failure', async () => {
    const edge = await startEdge({ settings: { allowCrossOrigin: true } });
    const exposed = async (path: string): Promise<readonly string[]> => {
      const { headers } = await request(edge, 'GET', path, { origin: GOOD });
      return (headers.get('access-control-expose-headers') ?? '').toLowerCase().split(', ');
    };
    expect(await exposed('/download')).toEqual(
      expect.arrayContaining(['content-disposition', 'content-length', 'content-range', 'etag']),
    );
    expect(await exposed('/crash')).toContain('x-request-id');
    const { headers } = await request(edge, 'GET', '/download', {});
    expect(headers.get('access-control-expose-headers')).toBeNull();
  });

  it('leaves answers without an origin uncached for others', async () => {
    const edge = await startEdge({ settings: { allowCrossOrigin: true } });
    expect(corsOf(await request(edge, 'GET', '/other', {}))).toEqual(refused);
  });

  it('reaches the refusal of GET too', async () => {
    const edge = await startEdge({ settings: { allowCrossOrigin: true, onlyPOST: true } });
    const answer = await request(edge, 'GET', '/other', { origin: GOOD });
    expect([answer.status, corsOf(answer)]).toEqual([405, echoed(GOOD)]);
    expect((await request(edge, 'OPTIONS', '/other', { origin: GOOD })).status).toBe(200);
  });

  it('answers preflights with what may be sent', async () => {
    const edge = await startEdge({
      settings: { allowCrossOrigin: true },
      authenticate: () => {
        throw new HttpError(401, 'no');
      },
    });
    const bare = await request(edge, 'OPTIONS', '/fileUpload', {
      origin: GOOD,
      'access-control-request-method': 'POST',
    });
    expect(bare.status).toBe(200);
    expect(corsOf(bare)).toEqual(echoed(GOOD));
    expect(bare.headers.get('access-control-allow-methods')).toBe('GET, POST, OPTIONS');
    expect(bare.headers.get('access-control-allow-headers')).toBe(
      'Origin, X-Requested-With, Content-Type, Accept, Authorization',
    );
    expect(bare.headers.get('access-control-max-age')).toBe('86400');
    const asking = await request(edge, 'OPTIONS', '/', {
      origin: GOOD,
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'content-type,x-csrf-token, X-Requested-With,b@d name',
    });
    expect(asking.headers.get('access-control-allow-headers')).toBe(
      'Origin, X-Requested-With, Content-Type, Accept, Authorization, x-csrf-token',
    );
  });
});

/** A shared cache that took no account of the host's cookie would mix the users. */
describe('below a host whose answers vary by themselves', () => {
  it.each<[string, string | string[], string]>([
    ['one header', 'Cookie', 'Cookie, Origin'],
    ['several headers', ['Cookie', 'Accept-Language'], 'Cookie, Accept-Language, Origin'],
  ])('keeps %s', async (_title, ofHost, expected) => {
    const edge = await startEdge({
      settings: { allowCrossOrigin: true },
      beforeHandler: (response) => response.setHeader('Vary', ofHost),
    });
    const answer = await request(edge, 'GET', '/other', { origin: GOOD });
    expect(corsOf(answer)).toEqual({ ...echoed(GOOD), vary: expected });
  });

  it('adds nothing of its own with allowCrossOrigin off', async () => {
    const edge = await startEdge({ beforeHandler: (response) => response.setHeader('Vary', 'Cookie') });
    expect((await request(edge, 'GET', '/other', {})).headers.get('vary')).toBe('Cookie');
  });
});

/** @see CORS origin checks by prefix, suffix or pattern; an answer that names another allowed origin */
describe('with a list of origins', () => {
  const strangers = [
    'https://good.test.evil.test',
    'https://evilgood.test',
    'https://good.test:8443',
    'http://good.test',
    'https://GOOD.test',
    'https://good.test/',
    'https://www.good.test',
    'null',
    '*',
    '',
  ];

  it('accepts exactly these', async () => {
    const edge = await startEdge({
      settings: { allowCrossOrigin: true, allowedOrigins: [GOOD, 'https://two.test:8443'] },
    });
    for (const origin of [GOOD, 'https://two.test:8443']) {
      expect(corsOf(await request(edge, 'GET', '/other', { origin }))).toEqual(echoed(origin));
      expect((await request(edge, 'OPTIONS', '/other', { origin })).status).toBe(200);
    }
    for (const origin of strangers) {
      const answer = await request(edge, 'GET', '/other', { origin });
      expect([answer.status, corsOf(answer)]).toEqual([200, refused]);
      const preflight = await request(edge, 'OPTIONS', '/other', {
        origin,
        'access-control-request-method': 'POST',
      });
      expect([preflight.status, corsOf(preflight)]).toEqual([403, refused]);
      expect(JSON.parse(preflight.text)).toMatchObject({ success: false, data: { code: 403 } });
      expect(preflight.headers.get('access-control-allow-methods')).toBeNull();
    }
  });

  it('accepts no origin by an empty list', async () => {
    const edge = await startEdge({ settings: { allowCrossOrigin: true, allowedOrigins: [] } });
    expect(corsOf(await request(edge, 'GET', '/ping', { origin: GOOD }))).toEqual(refused);
    expect((await request(edge, 'OPTIONS', '/', { origin: GOOD })).status).toBe(403);
  });
});

describe('with a hook', () => {
  it('lets the hook decide over the list, by origin and request', async () => {
    const edge = await startEdge({
      settings: { allowCrossOrigin: true, allowedOrigins: [GOOD] },
      isOriginAllowed: async (origin, { headers }) => origin === headers['x-expected'],
    });
    const other = { origin: 'https://other.test', 'x-expected': 'https://other.test' };
    expect(corsOf(await request(edge, 'GET', '/other', other))).toEqual(echoed('https://other.test'));
    expect(corsOf(await request(edge, 'GET', '/other', { origin: GOOD }))).toEqual(refused);
  });

  it('takes nothing but true for a yes', async () => {
    const edge = await startEdge({
      settings: { allowCrossOrigin: true },
      isOriginAllowed: (() => 'yes') as unknown as () => boolean,
    });
    expect(corsOf(await request(edge, 'GET', '/other', { origin: GOOD }))).toEqual(refused);
  });

  it('answers 500 when the hook fails, but pings', async () => {
    const edge = await startEdge({
      settings: { allowCrossOrigin: true },
      isOriginAllowed: () => {
        throw new Error('no database');
      },
    });
    for (const method of ['GET', 'OPTIONS']) {
      const answer = await request(edge, method, '/other', { origin: GOOD });
      expect([answer.status, corsOf(answer)]).toEqual([500, refused]);
    }
    expect((await request(edge, 'GET', '/ping', { origin: GOOD })).status).toBe(200);
    expect((await request(edge, 'GET', '/other', {})).status).toBe(200);
  });
});

describe('the log names pages that are turned away', () => {
  const warningsOf = (edge: RunningEdge): readonly string[] =>
    edge.log.filter(({ level }) => level === 'warn').map(({ message }) => message);

  it('once for each origin, with the setting that decides', async () => {
    const edge = await startEdge();
    for (const origin of [GOOD, GOOD, 'http://localhost:3000', GOOD]) {
      await request(edge, 'GET', '/other', { origin });
      await request(edge, 'OPTIONS', '/other', { origin });
    }
    expect(warningsOf(edge)).toEqual([
      expect.stringMatching(/^https:\/\/good\.test asked; cross-origin requests .*allowCrossOrigin/u),
      expect.stringMatching(/^http:\/\/localhost:3000 asked; /u),
    ]);
  });

  it('with a list or a hook that does not accept them', async () => {
    const listed = await startEdge({ settings: { allowCrossOrigin: true, allowedOrigins: [] } });
    await request(listed, 'GET', '/other', { origin: GOOD });
    expect(warningsOf(listed)).toEqual([expect.stringMatching(/^https:\/\/good\.test .*allowedOrigins/u)]);
    const hooked = await startEdge({ settings: { allowCrossOrigin: true }, isOriginAllowed: () => false });
    await request(hooked, 'GET', '/other', { origin: GOOD });
    expect(warningsOf(hooked)).toEqual([expect.stringMatching(/hook allowedOrigins/u)]);
  });

  it('and no others: pages of its own host, accepted ones, clients that are no page', async () => {
    const closed = await startEdge();
    await request(closed, 'GET', '/other', {});
    await request(closed, 'GET', '/other', { origin: 'http://a' });
    await request(closed, 'GET', '/other', { origin: GOOD, 'sec-fetch-site': 'same-origin' });
    expect(warningsOf(closed)).toEqual([]);
    const open = await startEdge({ settings: { allowCrossOrigin: true } });
    await request(open, 'GET', '/other', { origin: GOOD });
    expect(warningsOf(open)).toEqual([]);
  });

  /** @see CWE-117, CWE-770 */
  it('neither in the words of a client nor without an end', async () => {
    const edge = await startEdge();
    for (const origin of [
      'https://a.test\u009b31m',
      'https://a.test level=error',
      '"https://a.test"',
      `https://${'a'.repeat(300)}`,
      'buy now',
    ])
      await request(edge, 'GET', '/other', { origin });
    expect(warningsOf(edge)).toEqual([]);
    for (let index = 0; index < 150; index += 1) {
      await request(edge, 'GET', '/ping', { origin: `https://a${String(index)}.test` });
    }
    expect(warningsOf(edge)).toHaveLength(101);
    expect(warningsOf(edge).at(-1)).toMatch(/^More origins asked; /u);
  });
});
