import { createHmac, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { exportJWK, exportSPKI, SignJWT } from 'jose';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { createApp, createRouter, type App, type ConfigInput, type Logger } from 'stowage';

type Jwt = NonNullable<NonNullable<ConfigInput['auth']>['jwt']>;

const lines: { readonly message: string; readonly fields: unknown }[] = [];
const note = (message: string, fields?: unknown): void => void lines.push({ message, fields });
const logger: Logger = { debug: note, info: note, warn: note, error: note };
const apps: App[] = [];
const issuer = 'https://login.example.com/';
const audience = 'files';
const secret = 'a secret that is longer than thirty-two bytes';
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
const other = generateKeyPairSync('rsa', { modulusLength: 2048 });
const curve = generateKeyPairSync('ec', { namedCurve: 'P-256' });

let root: string;
let publicPem: string;
/** A login service that publishes its keys. */
let login: Server;
let jwksUrl: string;
let fetches = 0;
let answerKeys: () => { readonly status: number; readonly body: string };

const keySet = async (keys: Readonly<Record<string, KeyObject>>): Promise<string> => {
  const list = Object.entries(keys).map(async ([kid, key]) => ({ ...(await exportJWK(key)), kid }));
  return JSON.stringify({ keys: await Promise.all(list) });
};

let published: string;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'stowage-token-role-'));
  publicPem = await exportSPKI(rsa.publicKey);
  published = await keySet({ one: rsa.publicKey, two: curve.publicKey });
  login = createServer((_request, response) => {
    fetches += 1;
    const { status, body } = answerKeys();
    response.writeHead(status, { 'content-type': 'application/json' }).end(body);
  }).listen(0, '127.0.0.1');
  await once(login, 'listening');
  jwksUrl = `http://127.0.0.1:${String((login.address() as AddressInfo).port)}/keys`;
});

afterEach(async () => {
  await Promise.all(apps.splice(0).map((app) => app.close()));
  lines.length = 0;
});

afterAll(async () => {
  login.closeAllConnections();
  login.close();
  await rm(root, { recursive: true, force: true });
});

type Headers = Readonly<Record<string, string>>;

/** Starts a service whose editors may list folders, and returns a way to ask for them. */
const serveWith = (jwt: Jwt): ((headers?: Headers) => Promise<number>) => {
  answerKeys = () => ({ status: 200, body: published });
  fetches = 0;
  const app = createApp(
    {
      auth: { jwt },
      accessControl: [{ FOLDERS: false }, { role: 'editor', FOLDERS: true }],
      sources: { a: { title: 'A', root, serve: 'protected' } },
    },
    {},
    { logger },
  );
  apps.push(app);
  return async (headers = {}) =>
    (await app.fetch(new Request('http://host/folders', { headers: { ...headers } }))).status;
};

const bearer = (token: string): Headers => ({ authorization: `Bearer ${token}` });

interface Signing {
  readonly alg?: string;
  readonly kid?: string;
  readonly key?: KeyObject | Uint8Array;
}

type Payload = Readonly<Record<string, unknown>>;

const editor: Payload = { role: 'editor', sub: 'ann', iss: issuer, aud: audience };

const sign = (
  payload: Payload = editor,
  { alg = 'RS256', kid = 'one', key = rsa.privateKey }: Signing = {},
): Promise<string> => {
  const soon = Math.floor(Date.now() / 1000) + 600;
  return new SignJWT({ exp: soon, ...payload }).setProtectedHeader({ alg, kid }).sign(key);
};

const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');

/** A token that no library would make. */
const forged = (header: object, signature: (input: string) => string): string => {
  const input = `${encode(header)}.${encode({ ...editor, exp: 4e9 })}`;
  return `${input}.${signature(input)}`;
};

describe('the role in a token', () => {
  it('counts when a published key has signed it, and the keys are fetched once', async () => {
    const ask = serveWith({ jwksUrl, issuer, audience });
    const tokens = [await sign(), await sign(editor, { alg: 'ES256', kid: 'two', key: curve.privateKey })];
    expect(await Promise.all([...tokens, ...tokens].map((token) => ask(bearer(token))))).toEqual(
      Array(4).fill(200),
    );
    expect(await ask(bearer(await sign({ ...editor, role: 'guest' })))).toBe(403);
    expect(fetches).toBe(1);
  });

  it('counts when it is signed with the configured key or secret', async () => {
    const byKey = serveWith({ publicKey: publicPem });
    expect(await byKey(bearer(await sign()))).toBe(200);
    expect(await byKey(bearer(await sign(editor, { alg: 'PS256' })))).toBe(200);
    const bySecret = serveWith({ secret });
    expect(await bySecret(bearer(await sign(editor, { alg: 'HS256', key: Buffer.from(secret) })))).toBe(200);
  });

  it.each<[string, () => Promise<string> | string]>([
    ['has expired', () => sign({ ...editor, exp: Math.floor(Date.now() / 1000) - 60 })],
    ['never ends', () => sign({ ...editor, exp: undefined })],
    ['is not yet valid', () => sign({ ...editor, nbf: Math.floor(Date.now() / 1000) + 120 })],
    ['is for another audience', () => sign({ ...editor, aud: 'mail' })],
    ['is for no audience', () => sign({ ...editor, aud: undefined })],
    ['comes from another issuer', () => sign({ ...editor, iss: 'https://login.example.com.evil/' })],
    ['is signed with another key', () => sign(editor, { key: other.privateKey })],
    ['is not signed', () => forged({ alg: 'none' }, () => '')],
    ['is not signed, in other letters', () => forged({ alg: 'nOnE', kid: 'one' }, () => '')],
    [
      'is signed with the public key as a secret',
      () =>
        forged({ alg: 'HS256', kid: 'one' }, (input) =>
          createHmac('sha256', publicPem).update(input).digest('base64url'),
        ),
    ],
    [
      'brings its own key',
      async () => {
        const jwk = await exportJWK(other.publicKey);
        return new SignJWT({ ...editor, exp: 4e9 })
          .setProtectedHeader({ alg: 'RS256', jwk })
          .sign(other.privateKey);
      },
    ],
    ['is none', () => 'a.b.c'],
    [
      'has been changed',
      async () => (await sign()).replace(/\.[^.]+\./u, `.${encode({ ...editor, exp: 4e9 })}.`),
    ],
    ['holds a role that is not text', () => sign({ ...editor, role: 7 })],
    ['holds several roles', () => sign({ ...editor, role: ['editor', 'admin'] })],
  ])('is refused when the token %s', async (_case, make) => {
    const token = await make();
    for (const jwt of [{ jwksUrl }, { publicKey: publicPem }]) {
      expect(await serveWith({ ...jwt, issuer, audience })(bearer(token))).toBe(401);
      expect(await serveWith({ ...jwt, issuer, audience, optional: true })(bearer(token))).toBe(401);
    }
    expect(JSON.stringify(lines)).not.toContain(token);
  });

  it.each(['two', 'three'])('is refused when the published key %s has not signed it', async (kid) => {
    expect(await serveWith({ jwksUrl })(bearer(await sign(editor, { kid })))).toBe(401);
  });

  it('is refused when its algorithm is not listed', async () => {
    const ask = serveWith({ publicKey: publicPem, algorithms: ['RS512'] });
    expect(await ask(bearer(await sign()))).toBe(401);
    expect(await ask(bearer(await sign(editor, { alg: 'RS512' })))).toBe(200);
  });

  it('is needed, unless tokens are optional: then it is the default role', async () => {
    expect(await serveWith({ secret })()).toBe(401);
    expect(await serveWith({ secret })({ authorization: 'Basic YTpi' })).toBe(401);
    expect(await serveWith({ secret, optional: true })()).toBe(403);
    expect(await serveWith({ secret, optional: true })(bearer(await sign()))).toBe(401);
  });

  it('may come in the named cookie alone, after the header', async () => {
    const ask = serveWith({ publicKey: publicPem, cookie: 'session' });
    const [good, bad] = [await sign(), await sign(editor, { key: other.privateKey })];
    expect(await ask({ cookie: `a=b; session=${good}` })).toBe(200);
    expect(await ask({ cookie: `other=${good}; xsession=${good}` })).toBe(401);
    expect(await ask({ cookie: `session=${good}`, ...bearer(bad) })).toBe(401);
    expect(await serveWith({ publicKey: publicPem })({ cookie: `session=${good}` })).toBe(401);
  });

  it('is found in other claims, and the user too', async () => {
    const nested = serveWith({
      publicKey: publicPem,
      roleClaim: 'realm_access.roles',
      roles: ['editor', 'guest'],
      subjectClaim: 'name',
    });
    const claims = { realm_access: { roles: ['offline', 'guest', 'editor'] } };
    expect(await nested(bearer(await sign(claims)))).toBe(200);
    expect(await nested(bearer(await sign({ realm_access: { roles: ['offline'] }, name: 'ann' })))).toBe(403);
    expect(await nested(bearer(await sign({ realm_access: 'editor' })))).toBe(403);
    const named = serveWith({ publicKey: publicPem, roleClaim: 'https://example.com/role' });
    expect(await named(bearer(await sign({ 'https://example.com/role': ['editor'] })))).toBe(200);
    expect(await named(bearer(await sign({ role: 'editor' })))).toBe(403);
    const words = serveWith({ publicKey: publicPem, roleClaim: 'scope', roles: ['editor'] });
    expect(await words(bearer(await sign({ scope: 'openid editor' })))).toBe(200);
    expect(JSON.stringify(lines)).toContain('"subject":"ann"');
  });
});

describe('published keys', () => {
  it.each<[string, () => { status: number; body: string }]>([
    ['are not there', () => ({ status: 404, body: '{}' })],
    ['are not JSON', () => ({ status: 200, body: '<html>' })],
    ['are not keys', () => ({ status: 200, body: '[]' })],
    ['do not end', () => ({ status: 200, body: ' '.repeat(1024 * 1024 + 1) + published })],
  ])('that %s are the fault of the service: 503, and used when they are back', async (_case, answer) => {
    const ask = serveWith({ jwksUrl, issuer, audience });
    answerKeys = answer;
    const token = await sign();
    expect(await ask(bearer(token))).toBe(503);
    expect(JSON.stringify(lines)).toContain('the keys of auth.jwt.jwksUrl could not be fetched');
    answerKeys = () => ({ status: 200, body: published });
    expect(await ask(bearer(token))).toBe(200);
  });

  describe('later', () => {
    beforeEach(() => void vi.useFakeTimers({ toFake: ['Date', 'performance'] }));
    afterEach(() => void vi.useRealTimers());

    const signForHours = async (): Promise<Headers> =>
      bearer(await sign({ ...editor, exp: Math.floor(Date.now() / 1000) + 7200 }));

    it('stay in use for an hour when the login service is away', async () => {
      const ask = serveWith({ jwksUrl, issuer, audience });
      const token = await signForHours();
      expect(await ask(token)).toBe(200);
      answerKeys = () => ({ status: 502, body: 'away' });
      for (const minutes of [11, 20]) {
        vi.advanceTimersByTime(minutes * 60_000);
        expect(await ask(token)).toBe(200);
      }
      expect(JSON.stringify(lines)).toContain('The last ones stay in use.');
      const known = fetches;
      // No request waits for the service within the next half minute.
      expect(await ask(token)).toBe(200);
      expect(fetches).toBe(known);
      vi.advanceTimersByTime(30 * 60_000);
      expect(await ask(token)).toBe(503);
      answerKeys = () => ({ status: 200, body: published });
      expect(await ask(token)).toBe(200);
    });

    it('are refused after ten minutes when they are withdrawn', async () => {
      const ask = serveWith({ jwksUrl, issuer, audience });
      const token = await signForHours();
      expect(await ask(token)).toBe(200);
      const withdrawn = await keySet({ two: curve.publicKey });
      answerKeys = () => ({ status: 200, body: withdrawn });
      vi.advanceTimersByTime(10 * 60_000);
      expect(await ask(token)).toBe(401);
    });
  });

  it('are not fetched again for every name that a stranger makes up', async () => {
    const ask = serveWith({ jwksUrl, issuer, audience });
    expect(await ask(bearer(await sign()))).toBe(200);
    for (let count = 0; count < 20; count += 1)
      expect(await ask(bearer(await sign(editor, { kid: `made-up-${String(count)}` })))).toBe(401);
    expect(fetches).toBe(1);
  });
});

describe('auth.jwt', () => {
  const problemsOf = (auth: object): string => {
    try {
      createRouter(
        { auth, sources: { a: { title: 'A', storageAdapter: 'memory', serve: 'public' } } },
        {},
        { logger },
      );
      return '';
    } catch (error) {
      return String(error);
    }
  };

  it.each<[string, () => object, string]>([
    ['no key', () => ({ jwt: {} }), 'auth.jwt.jwksUrl: is required unless publicKey or secret is set'],
    ['two keys', () => ({ jwt: { secret, jwksUrl } }), 'more than one of jwksUrl, publicKey and secret'],
    [
      'a proxy too',
      () => ({ jwt: { secret }, header: 'x' }),
      'auth.jwt: must not be set together with header',
    ],
    ['nothing', () => ({}), 'auth.header: is required unless jwt is set'],
    ['half a proxy', () => ({ header: 'x' }), 'auth.from: is required with header'],
    ['none', () => ({ jwt: { secret, algorithms: ['none'] } }), 'not the text "none"'],
    [
      'a secret for keys',
      () => ({ jwt: { publicKey: publicPem, algorithms: ['HS256'] } }),
      'auth.jwt.algorithms: must not list what this key cannot verify: HS256',
    ],
    ['keys for a secret', () => ({ jwt: { secret, algorithms: ['RS256'] } }), 'cannot verify: RS256'],
    [
      'a short secret',
      () => ({ jwt: { secret: 'hunter2' } }),
      'auth.jwt.secret: must not be shorter than 32',
    ],
    ['another scheme', () => ({ jwt: { jwksUrl: 'file:///keys' } }), 'auth.jwt.jwksUrl: must be an http or'],
    [
      'the private key',
      () => ({ jwt: { publicKey: rsa.privateKey.export({ type: 'pkcs8', format: 'pem' }) } }),
      'auth.jwt.publicKey: must not be anything but a public key or a certificate in PEM',
    ],
    ['a typing error', () => ({ jwt: { secret, audiance: 'a' } }), 'did you mean "audience"?'],
  ])('is refused with %s', (_case, auth, problem) => {
    const text = problemsOf(auth());
    expect(text).toContain(problem);
    expect(text).not.toMatch(/hunter2|PRIVATE/u);
  });

  it('warns of what makes tokens worth less', () => {
    problemsOf({ jwt: { jwksUrl: 'http://keys.example.com/', cookie: 'session' } });
    const text = JSON.stringify(lines);
    for (const part of ['audience is not set', 'jwksUrl is not https', 'refuseCrossSite is not'])
      expect(text).toContain(part);
  });
});
