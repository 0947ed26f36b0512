import type { FastifyPluginCallback, FastifyReply, FastifyRequest } from 'fastify';
import { Readable } from 'node:stream';
import type { Handle } from '../message.ts';
import { mountOf } from './fetch.ts';
import { closeWhenStalled, type NodeRequestView, send, serveNode, withHostVary } from './node.ts';

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
 * Sends by the reply, so that `onSend` hooks run: sessions are saved and renewed there. Streams, and
 * responses to unread bodies, are sent by `node:http`, as in other hosts.
 */
const senderOf =
  (reply: FastifyReply): NonNullable<NodeRequestView['send']> =>
  async (request, response, result, isUnread, stallMs) => {
    const { status, statusText, headers, body } = result;
    if (isUnread || body instanceof Readable) {
      reply.hijack();
      for (const [name, value] of Object.entries(reply.getHeaders())) {
        if (value !== undefined) response.setHeader(name, value);
      }
      return send(request, response, result, isUnread, stallMs);
    }
    closeWhenStalled(response, stallMs);
    if (statusText !== undefined && request.httpVersionMajor === 1) response.statusMessage = statusText;
    // @fastify/compress reads this header of the request, and not `no-transform`.
    if (headers['cache-control']?.includes('no-transform') === true)
      request.headers['x-no-compression'] = '1';
    reply.code(status).headers(withHostVary(reply, headers));
    // The reply counts what hooks return: they may replace the body, or add trailers.
    if (request.method !== 'HEAD') reply.removeHeader('content-length');
    // As bytes: the reply would add a type to text, or serialize it.
    await reply.send(typeof body === 'string' ? Buffer.from(body) : body);
  };

/**
 * A Fastify plugin that serves a connector: `app.register(fastifyConnector(router), { prefix: '/files' })`.
 * It is encapsulated: only its own scope is without body parsers. Hooks of the application (sessions,
 * authentication) run with it; the connector's hooks get the Fastify request as `native`.
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
      const whole = request.raw.url ?? '/';
      const url = below(whole);
      const view = { url, isExact, mount: mountOf(whole, url), native: request, send: senderOf(reply) };
      await serveNode(connector.handle, request.raw, reply.raw, view);
    };
    // A hook has failed after the headers of the response were set: they would describe, and cache, the error.
    instance.addHook('onError', (_request, reply, _error, next) => {
      reply.removeHeader('content-encoding').header('cache-control', 'no-store');
      next();
    });
    instance.all('/', serve);
    instance.all('/*', serve);
    done();
  };
