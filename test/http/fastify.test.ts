import fastify from 'fastify';
import { createRouter } from 'stowage';
import { fastifyConnector } from 'stowage/fastify';
import { afterAll, describe, expect, it } from 'vitest';
import { memoryConfig } from './hosts.ts';

const quiet = { logger: { debug() {}, info() {}, warn() {}, error() {} } };
const app = fastify();

afterAll(() => app.close());

describe('the Fastify plugin', () => {
  it('leaves the application its parsers, adds headers that it has set, and runs its hooks', async () => {
    const tenants: unknown[] = [];
    const router = createRouter(
      { ...memoryConfig, allowCrossOrigin: true },
      {
        checkAuthentication: ({ native }) => {
          tenants.push((native as { params: { tenant?: string } }).params.tenant);
          return 'guest';
        },
      },
      quiet,
    );
    app.addHook('onRequest', async (_request, reply) => {
      reply.header('x-host', 'mine').header('vary', 'X-Tenant');
    });
    // Where @fastify/session saves a session and renews its cookie.
    app.addHook('onSend', async (_request, reply) => {
      reply.header('set-cookie', 'session=renewed');
    });
    app.post('/own', async (request) => request.body);
    await app.register(fastifyConnector(router), { prefix: '/t/:tenant/files' });
    await app.register(fastifyConnector(createRouter(memoryConfig, {}, quiet)), { prefix: '/other' });
    const url = await app.listen({ port: 0, host: '127.0.0.1' });

    const own = await fetch(`${url}/own`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"a":1}',
    });
    expect(await own.json()).toEqual({ a: 1 });

    const files = await fetch(`${url}/t/acme/files/files?path=/`);
    expect([files.status, files.headers.get('x-host')]).toEqual([200, 'mine']);
    const folders = await fetch(`${url}/t/acme/files/folders`);
    for (const { headers } of [files, folders]) {
      expect(headers.get('vary')).toBe('X-Tenant, Origin');
      expect(headers.get('set-cookie')).toBe('session=renewed');
    }
    expect((await fetch(`${url}/t/acme/files?action=folders`)).status).toBe(200);
    expect((await fetch(`${url}/t/acme/files/?action=folders`)).status).toBe(200);
    const missing = await fetch(`${url}/t/acme/files/folders?path=missing`);
    expect([missing.status, missing.statusText]).toEqual([404, 'The folder was not found.']);
    expect(tenants).toEqual(Array(5).fill('acme'));
    expect((await fetch(`${url}/other/ping`)).status).toBe(200);
    expect((await fetch(`${url}/elsewhere`)).status).toBe(404);
  });
});
