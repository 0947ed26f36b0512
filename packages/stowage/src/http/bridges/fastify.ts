import type { FastifyPluginCallback, FastifyReply, FastifyRequest } from 'fastify';
import type { Handle } from '../message.ts';
import { mountOf } from './fetch.ts';
import { serveNode } from './node.ts';

/** The part of a connector that the plugin needs: `createRouter` and `createApp` return it. */
export interface HandlingConnector {
  readonly handle: Handle;
}

/** Removes as many segments as the prefix has: with parameters, its text does not occur in the URL. */
const cutter = (prefix: string): ((url: string) => string) => {
  const segments = prefix.split('/').filter((segment) => segment !== '').length;
  const pattern = new RegExp(`^(?:/+[^/?]*){${String(segments)}}`, 'u');
  return (url) => {
    const rest = url.replace(pattern, '');
    return rest.startsWith('/') ? rest : `/${rest}`;
  };
};

/**
 * A Fastify plugin that serves a connector: `app.register(fastifyConnector(router), { prefix: '/files' })`.
 * It is encapsulated: only its own scope is without body parsers. Hooks of the application (sessions,
 * authentication) run before it; the connector's hooks get the Fastify request as `native`.
 */
export const fastifyConnector =
  (connector: HandlingConnector): FastifyPluginCallback =>
  (instance, _options, done) => {
    const below = cutter(instance.prefix);
    // Without a prefix, a proxy may have left its own prefix in the URL.
    const isExact = instance.prefix !== '';
    instance.removeAllContentTypeParsers();
    instance.addContentTypeParser('*', (_request, _payload, next) => {
      next(null);
    });
    const serve = async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
      reply.hijack();
      for (const [name, value] of Object.entries(reply.getHeaders())) {
        if (value !== undefined) reply.raw.setHeader(name, value);
      }
      const whole = request.raw.url ?? '/';
      const url = below(whole);
      const mount = mountOf(whole, url);
      await serveNode(connector.handle, request.raw, reply.raw, { url, isExact, mount, native: request });
    };
    instance.all('/', serve);
    instance.all('/*', serve);
    done();
  };
