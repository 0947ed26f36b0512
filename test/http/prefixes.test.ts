import express, { Router } from 'express';
import fastify from 'fastify';
import Koa from 'koa';
import { createServer, type RequestListener } from 'node:http';
import { createRouter } from 'stowage';
import { fastifyConnector } from 'stowage/fastify';
import { afterEach, describe, expect, it } from 'vitest';
import { listening, memoryConfig, quiet, type RunningHost } from './hosts.ts';

let host: RunningHost | undefined;
afterEach(() => host?.close());

const serve = async (listener: RequestListener): Promise<void> => {
  host = await listening(createServer(listener), '');
};

/**
 * The status and what was answered with: `sources` by `files`, `permissions` by `permissions`, `messages` by
 * a refusal.
 */
const ask = async (path: string): Promise<string> => {
  const answer = await fetch(`${host?.url ?? ''}${path}`);
  const { data = {} } = (await answer.json()) as { data?: object };
  return `${String(answer.status)} ${'permissions' in data ? 'permissions' : (Object.keys(data).at(-1) ?? 'pong')}`;
};

const connector = (basePath?: string) => createRouter(memoryConfig, {}, { ...quiet, basePath });

/** The connector as a whole server. */
const plain = (basePath: string): RequestListener => {
  const { handler } = connector(basePath);
  return (request, response) => void handler(request, response);
};

/** What holds below a mount whose place is known: the path names the action, whatever the query says. */
const expectExactly = async (mount: string): Promise<void> => {
  expect(await ask(`${mount}/files`)).toBe('200 sources');
  expect(await ask(`${mount}/permissions?action=files`)).toBe('200 permissions');
  expect(await ask(`${mount}?action=files`)).toBe('200 sources');
  expect(await ask(`${mount}/?action=files`)).toBe('200 sources');
  expect(await ask(`${mount}/ping`)).toBe('200 pong');
  expect(await ask(`${mount}/nope?action=files`)).toBe('404 messages');
  expect(await ask(`${mount}/nope/files`)).toBe('404 messages');
  expect(await ask(`${mount}/files/nope?action=files`)).toBe('404 messages');
};

/** What holds where a prefix of unknown length may stand before the action. */
const expectSearched = async (mount: string): Promise<void> => {
  expect(await ask(`${mount}/files`)).toBe('200 sources');
  expect(await ask(`${mount}/permissions?action=files`)).toBe('200 permissions');
  expect(await ask(`${mount}?action=files`)).toBe('200 sources');
  expect(await ask(`${mount}/ping`)).toBe('200 pong');
  expect(await ask(`${mount}/nope`)).toBe('404 messages');
};

describe('the path names the action, and the query does not change it,', () => {
  it('below a mount of Express', async () => {
    const app = express();
    app.use('/api/:tenant/files', connector().handler);
    await serve(app);
    await expectExactly('/api/ann/files');
  });

  it('below a mount of a router of Express', async () => {
    const app = express();
    app.use('/api', Router().use('/files', connector().handler));
    await serve(app);
    await expectExactly('/api/files');
  });

  it('below the prefix of a Fastify plugin', async () => {
    const app = fastify();
    await app.register(async (api) => api.register(fastifyConnector(connector()), { prefix: '/files' }), {
      prefix: '/api/:tenant',
    });
    host = { url: await app.listen({ port: 0, host: '127.0.0.1' }), close: () => app.close() };
    await expectExactly('/api/ann/files');
  });

  it('below a base path that node:http leaves in the URL', async () => {
    await serve(plain('/api/files'));
    await expectExactly('/api/files');
    expect(await ask('/api/files2/ping')).toBe('404 messages');
  });

  it('below a base path, however its slashes are written', async () => {
    await serve(plain('api/files/'));
    await expectExactly('/api/files');
  });

  it('below a base path of letters that URLs encode', async () => {
    await serve(plain('/größe a/files'));
    await expectExactly('/gr%C3%B6%C3%9Fe%20a/files');
  });

  it('below a base path that Koa leaves in the URL', async () => {
    const { handler } = connector('/api/files');
    const app = new Koa();
    app.use(async (context) => {
      context.respond = false;
      await handler(context.req, context.res);
    });
    const answer = app.callback();
    await serve((request, response) => void answer(request, response));
    await expectExactly('/api/files');
  });

  it.each([
    ['in a mount', () => express().use('/files', connector('/files').handler), '/files'],
    ['in a route', () => express().all('/api/files{/*rest}', connector('/api/files').handler), '/api/files'],
    [
      'in a route of a router',
      () => express().use('/api', Router().all('/files{/*rest}', connector('/api/files').handler)),
      '/api/files',
    ],
  ])('below a base path that Express knows too: %s', async (_where, app, mount) => {
    await serve(app());
    await expectExactly(mount);
  });
});

describe('the last segment of the path names the action', () => {
  it('in a route of Express, which cuts nothing', async () => {
    const app = express();
    app.all('/connector{/*rest}', connector().handler);
    await serve(app);
    await expectSearched('/connector');
  });

  it('in a route of a router of Express, which cuts a part', async () => {
    const app = express();
    app.use('/api', Router().all('/connector{/*rest}', connector().handler));
    await serve(app);
    await expectSearched('/api/connector');
  });

  it('in Express and Fastify without a prefix, behind a proxy that has one', async () => {
    await serve(express().use(connector().handler));
    await expectSearched('/proxied/connector');
    await host?.close();
    const app = fastify();
    await app.register(fastifyConnector(connector()));
    host = { url: await app.listen({ port: 0, host: '127.0.0.1' }), close: () => app.close() };
    await expectSearched('/proxied/connector');
  });
});
