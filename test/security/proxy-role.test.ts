import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { type App, createApp, createRouter, type ConfigInput, type Logger } from 'stowage';

const nothing = (): void => undefined;
const logger: Logger = { debug: nothing, info: nothing, warn: nothing, error: nothing };
const apps: App[] = [];
let root: string;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'stowage-proxy-role-'));
});

afterEach(async () => {
  await Promise.all(apps.splice(0).map((app) => app.close()));
});

afterAll(() => rm(root, { recursive: true, force: true }));

const configFor = (from: readonly string[]): ConfigInput => ({
  auth: { header: 'X-Role', from },
  accessControl: [{ FOLDERS: false }, { role: 'editor', FOLDERS: true }],
  sources: { a: { title: 'A', root, serve: 'protected' } },
});

/** Asks for folders with these headers and returns the status. */
const serveFrom = async (
  from: readonly string[],
  host = '127.0.0.1',
): Promise<(headers?: [string, string][]) => Promise<number>> => {
  const app = createApp(configFor(from), {}, { logger });
  apps.push(app);
  const { port } = await app.listen(0, host);
  return async (headers = []) =>
    (await fetch(`http://127.0.0.1:${String(port)}/folders`, { headers })).status;
};

/** Asks over a Unix socket for folders, as a proxy with one client after another does. */
const serveOnSocket = async (from: readonly string[]) => {
  const limits = { rateLimits: { listings: { requests: 1, seconds: 60 } }, trustedProxies: from };
  const router = createRouter({ ...configFor(from), ...limits }, {}, { logger });
  const socketPath = join(root, `${String(from.length)}.sock`);
  const server = createServer((asked, response) => void router.handler(asked, response)).listen(socketPath);
  await once(server, 'listening');
  onTestFinished(async () => {
    server.closeAllConnections();
    server.close();
    await router.close();
  });
  return async (client: string): Promise<number | undefined> => {
    const headers = { 'x-role': 'editor', 'x-forwarded-for': client };
    const sent = request({ socketPath, path: '/folders', headers }).end();
    const [answer] = (await once(sent, 'response')) as [IncomingMessage];
    answer.resume();
    return answer.statusCode;
  };
};

describe('the role in a header of a proxy', () => {
  it('counts over a Unix socket, with the client that the proxy names, where it says so', async () => {
    const ask = await serveOnSocket(['unix']);
    expect([await ask('192.0.2.1'), await ask('192.0.2.2'), await ask('192.0.2.1')]).toEqual([200, 200, 429]);
    expect(await (await serveOnSocket(['0.0.0.0/0', '::/0']))('192.0.2.1')).toBe(401);
    expect(await (await serveFrom(['unix']))([['x-role', 'editor']])).toBe(401);
  });

  it.each([
    [['127.0.0.1/32'], '127.0.0.1'],
    [['10.0.0.0/8', '127.0.0.1'], '127.0.0.1'],
    [['127.0.0.0/8'], '::'],
  ])('counts when the connection comes from %j (listening on %s)', async (from, host) => {
    const ask = await serveFrom(from, host);
    expect(await ask([['x-role', 'editor']])).toBe(200);
    expect(await ask([['x-role', 'guest']])).toBe(403);
  });

  it.each([['10.0.0.0/8'], ['::1'], ['0.0.0.0/32'], ['::/0']])(
    'does not count when the connection comes from elsewhere than %s',
    async (network) => {
      const ask = await serveFrom([network]);
      expect(await ask([['x-role', 'editor']])).toBe(401);
      const forged: [string, string][] = [
        ['x-role', 'editor'],
        ['x-forwarded-for', '10.0.0.1, ::1'],
        ['forwarded', 'for=10.0.0.1'],
        ['x-real-ip', '10.0.0.1'],
      ];
      expect(await ask(forged)).toBe(401);
    },
  );

  it('is needed, once, for everything but the health check', async () => {
    const ask = await serveFrom(['127.0.0.1']);
    expect(await ask()).toBe(401);
    expect(await ask([['x-role', ' ']])).toBe(401);
    expect(
      await ask([
        ['x-role', 'editor'],
        ['x-role', 'guest'],
      ]),
    ).toBe(401);
  });

  it('is not believed where the connection is not known', async () => {
    const router = createRouter(configFor(['0.0.0.0/0', '::/0']), {}, { logger });
    const request = new Request('http://host/folders', { headers: { 'x-role': 'editor' } });
    expect((await router.fetch(request)).status).toBe(401);
    await router.close();
  });

  it('is refused beside a hook that decides the same, and with addresses that are none', () => {
    const hooks = { checkAuthentication: () => 'guest' };
    expect(() => createRouter(configFor(['::1']), hooks, { logger })).toThrow(
      'auth: must not be set together with the hook checkAuthentication',
    );
    expect(() => createRouter(configFor(['localhost']), {}, { logger })).toThrow(
      'auth.from.0: must be an address or a network such as 127.0.0.1 or 10.0.0.0/8, or unix',
    );
    expect(() => createRouter(configFor([]), {}, { logger })).toThrow('auth.from: must not be empty');
  });
});
