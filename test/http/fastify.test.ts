import fastify from 'fastify';
import { Readable } from 'node:stream';
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

  it('leaves to hooks that fail or replace a response no header that describes the former one', async () => {
    const hooked = fastify();
    hooked.addHook('onSend', async (request, _reply, payload) => {
      const { hook } = request.query as { hook?: string };
      if (hook === 'fails') throw new Error('no session store');
      return hook === 'replaces' ? Readable.from(['other']) : payload;
    });
    const served: ConfigInput = {
      sources: { files: { title: 'Files', storageAdapter: 'memory', serve: 'public' } },
      serveCacheControl: 'public, max-age=31536000, immutable',
    };
    await hooked.register(fastifyConnector(createRouter(served, {}, quiet)));
    const url = await hooked.listen({ port: 0, host: '127.0.0.1' });
    onTestFinished(() => hooked.close());

    const form = new FormData();
    form.append('files[0]', new File(['a'], 'a.txt'));
    expect((await fetch(`${url}/fileUpload`, { method: 'POST', body: form })).status).toBe(200);
    const icon = 'file/files/_thumbs/a.txt';
    expect((await fetch(`${url}/${icon}`)).headers.get('cache-control')).toContain('immutable');
    // One of them is cached for long, and the other is compressed.
    for (const path of [icon, 'permissions']) {
      const failed = await fetch(`${url}/${path}?hook=fails`);
      expect([failed.status, failed.headers.get('cache-control')]).toEqual([500, 'no-store']);
      expect(await failed.json()).toMatchObject({ message: 'no session store' });
    }
    expect(await (await fetch(`${url}/files?hook=replaces`)).text()).toBe('other');
  });
});
