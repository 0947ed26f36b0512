import fastify from 'fastify';
import { createRouter } from 'stowage';
import { fastifyConnector } from 'stowage/fastify';
import { afterAll, describe, expect, it } from 'vitest';
import { memoryConfig } from './hosts.ts';

const quiet = { logger: { debug() {}, info() {}, warn() {}, error() {} } };
const app = fastify();

afterAll(() => app.close());

describe('the Fastify plugin', () => {
  it('leaves the application its parsers, and adds the headers that the application has set', async () => {
    const tenants: unknown[] = [];
    const router = createRouter(
      memoryConfig,
      {
        checkAuthentication: ({ native }) => {
          tenants.push((native as { params: { tenant?: string } }).params.tenant);
          return 'guest';
        },
      },
      quiet,
    );
    app.addHook('onRequest', async (_request, reply) => {
      reply.header('x-host', 'mine');
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
    expect((await fetch(`${url}/t/acme/files?action=folders`)).status).toBe(200);
    expect((await fetch(`${url}/t/acme/files/?action=folders`)).status).toBe(200);
    expect(tenants).toEqual(['acme', 'acme', 'acme']);
    expect((await fetch(`${url}/other/ping`)).status).toBe(200);
    expect((await fetch(`${url}/elsewhere`)).status).toBe(404);
  });
});
