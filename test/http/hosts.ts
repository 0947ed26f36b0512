import { serve } from '@hono/node-server';
import express from 'express';
import fastify, { type FastifyRequest } from 'fastify';
import { Hono, type Context } from 'hono';
import Koa from 'koa';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createApp, createRouter, type ConfigInput, type ConnectorHooks, type HookRequest } from 'stowage';
import { fastifyConnector } from 'stowage/fastify';

/** A host application with a connector mounted below `/fb`, that knows its user by the header `x-user`. */
export interface RunningHost {
  readonly url: string;
  close(): Promise<void>;
}

/** How a host carries its knowledge of the user to the connector's hook. */
export interface HostKind {
  readonly userOf: (native: unknown) => unknown;
  readonly start: (config: ConfigInput, hooks: ConnectorHooks) => Promise<RunningHost>;
}

interface WithUser {
  user?: unknown;
}

const closeServer = (server: Server): Promise<void> =>
  new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });

/** Listens on a free port of this machine. */
export const listening = async (server: Server, path = '/fb'): Promise<RunningHost> => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${String(port)}${path}`, close: () => closeServer(server) };
};

const withoutPrefix = (url: string | undefined): string => (url ?? '/').replace(/^\/fb\/?/u, '/');

const markUser = (request: IncomingMessage): void => {
  (request as WithUser).user = request.headers['x-user'];
};

/** Options without a log. */
export const quiet = { logger: { debug() {}, info() {}, warn() {}, error() {} } };

export const hosts: Readonly<Record<string, HostKind>> = {
  'node:http': {
    userOf: (native) => (native as WithUser).user,
    start: async (config, hooks) => {
      const router = createRouter(config, hooks, quiet);
      const server = createServer((request, response) => {
        markUser(request);
        request.url = withoutPrefix(request.url);
        void router.handler(request, response);
      });
      return listening(server);
    },
  },
  'Express 5': {
    userOf: (native) => (native as WithUser).user,
    start: async (config, hooks) => {
      const app = express();
      const router = createRouter(config, hooks, quiet);
      app.use((request, _response, next) => {
        markUser(request);
        next();
      });
      app.use('/fb', router.handler);
      return listening(createServer(app));
    },
  },
  'Fastify 5': {
    userOf: (native) => (native as FastifyRequest & WithUser).user,
    start: async (config, hooks) => {
      const app = fastify();
      app.decorateRequest('user', null);
      app.addHook('onRequest', async (request) => {
        (request as WithUser).user = request.headers['x-user'];
      });
      app.post('/own', async (request) => request.body);
      await app.register(fastifyConnector(createRouter(config, hooks, quiet)), { prefix: '/fb' });
      await app.listen({ port: 0, host: '127.0.0.1' });
      const { port } = app.server.address() as AddressInfo;
      return {
        url: `http://127.0.0.1:${String(port)}/fb`,
        close: async () => {
          app.server.closeAllConnections();
          await app.close();
        },
      };
    },
  },
  'Koa 3': {
    userOf: (native) => (native as WithUser).user,
    start: async (config, hooks) => {
      const app = new Koa();
      app.silent = true;
      const router = createRouter(config, hooks, quiet);
      app.use(async (context) => {
        if (!context.path.startsWith('/fb')) return;
        // Koa must not answer: the connector does.
        context.respond = false;
        markUser(context.req);
        await router.handler(context.req, context.res);
      });
      const handle = app.callback();
      return listening(createServer((request, response) => void handle(request, response)));
    },
  },
  'Hono 4 on node': {
    userOf: (native) => (native as Context<{ Variables: { user: string | undefined } }>).get('user'),
    start: async (config, hooks) => {
      const app = new Hono<{ Variables: { user: string | undefined } }>();
      const router = createRouter(config, hooks, quiet);
      app.use(async (context, next) => {
        context.set('user', context.req.header('x-user'));
        await next();
      });
      app.all('/fb/*', (context) => router.fetch(context.req.raw, context));
      app.all('/fb', (context) => router.fetch(context.req.raw, context));
      return new Promise((resolve) => {
        const server = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, ({ port }) => {
          resolve({
            url: `http://127.0.0.1:${String(port)}/fb`,
            close: () => closeServer(server as Server),
          });
        });
      });
    },
  },
  'the standalone service': {
    userOf: (native) => (native as IncomingMessage).headers['x-user'],
    start: async (config, hooks) => {
      const app = createApp(config, hooks, quiet);
      const server = await app.listen(0);
      return { url: `http://127.0.0.1:${String(server.port)}`, close: () => app.close() };
    },
  },
};

/** A configuration with one store in memory. */
export const memoryConfig: ConfigInput = {
  maxUploadFileSize: '16mb',
  extensions: ['bin', 'txt', 'png'],
  createThumb: false,
  accessControl: [{ FILE_UPLOAD: false }, { role: 'editor', FILE_UPLOAD: true }],
  sources: { files: { title: 'Files', baseurl: 'http://files.test/', storageAdapter: 'memory' } },
};

/** A hook that takes the host's user for the role. */
export const roleByUser =
  ({ userOf }: HostKind) =>
  ({ native }: HookRequest): string => {
    const user = userOf(native);
    return typeof user === 'string' ? user : 'guest';
  };
