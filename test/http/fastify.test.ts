import fastify from 'fastify';
import { gzipSync } from 'node:zlib';
import { type ConfigInput, createRouter } from 'stowage';
import { fastifyConnector } from 'stowage/fastify';
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
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

  it('keeps responses that contain signed links from being compressed by the application', async () => {
    const compressing = fastify();
    // As @fastify/compress does.
    compressing.addHook('onSend', async (request, reply, payload) => {
      if (request.headers['x-no-compression'] !== undefined) return payload;
      reply.header('content-encoding', 'gzip').removeHeader('content-length');
      return gzipSync(payload as Buffer);
    });
    const config = (serve: 'signed' | 'public'): ConfigInput => ({
      sources: { files: { title: 'Files', storageAdapter: 'memory', serve } },
      signingSecret: 'a-key-of-a-test-that-is-long-enough-to-sign',
    });
    for (const serve of ['signed', 'public'] as const)
      await compressing.register(fastifyConnector(createRouter(config(serve), {}, quiet)), {
        prefix: `/${serve}`,
      });
    const url = await compressing.listen({ port: 0, host: '127.0.0.1' });
    onTestFinished(() => compressing.close());
    const codingOf = async (serve: string) =>
      (await fetch(`${url}/${serve}/files`)).headers.get('content-encoding');
    expect([await codingOf('signed'), await codingOf('public')]).toEqual([null, 'gzip']);
  });
});
