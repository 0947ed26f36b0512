import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ConnectorRequest, ConnectorResponse, Handle } from '../message.ts';
import { belowBase, drain, encodedBase, mountOf, type MountOptions, peerAddress, STALL_MS } from './fetch.ts';
import { hostBody } from './host-body.ts';

/**
 * Whether a request is queued behind others of its connection (HTTP pipelining). Until the response has the
 * socket, nothing can be sent, and a disconnect goes unnoticed.
 */
const isQueued = (request: IncomingMessage, response: ServerResponse): boolean => {
  if (response.socket !== null || response.writableEnded) return false;
  const { socket } = request;
  // Some hosts pass requests without a real connection.
  return socket.destroyed || (socket.pending as boolean | undefined) === false;
};

/** Waits until a request is the first of its connection. False: the client has disconnected. */
const untilFirst = (request: IncomingMessage, response: ServerResponse): Promise<boolean> | true => {
  if (!isQueued(request, response)) return true;
  const { socket } = request;
  return new Promise((resolve) => {
    const settle = (came: boolean) => (): void => {
      socket.off('close', onGone);
      response.off('socket', onSocket);
      resolve(came);
    };
    const onGone = settle(false);
    const onSocket = settle(true);
    if (socket.destroyed) return onGone();
    // One packet may contain many requests: so many listeners are not a leak.
    socket.setMaxListeners(0);
    socket.once('close', onGone);
    response.once('socket', onSocket);
  });
};

/** Details that a framework on top of `node:http` may know better. */
export interface NodeRequestView {
  /** Path and query below the mount point. Default: `request.url`. */
  readonly url?: string;
  /** Whether the URL is known to begin at the mount. */
  readonly isExact?: boolean;
  /** The prefix that was removed from the URL. */
  readonly mount?: string | undefined;
  /** The value of `native` for hooks. Default: the request. */
  readonly native?: unknown;
  /** Sends the response. Default: by `node:http` alone. */
  readonly send?: typeof send;
}

/** The stream of an HTTP/2 request; undefined for HTTP/1. */
const http2Stream = (request: IncomingMessage): Http2ServerRequest['stream'] | undefined =>
  request.httpVersionMajor === 2 ? (request as unknown as Http2ServerRequest).stream : undefined;

const signalOf = (response: ServerResponse): AbortSignal => {
  const gone = new AbortController();
  const onClose = (): void => {
    if (!response.writableFinished) gone.abort();
  };
  if (response.destroyed) onClose();
  else response.once('close', onClose);
  return gone.signal;
};

const hasBody = (request: IncomingMessage): boolean => {
  const stream = http2Stream(request);
  if (stream !== undefined) return !stream.endAfterHeaders;
  const { headers } = request;
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) !== 0;
};

/** As over HTTP/1: `Headers` accepts neither the pseudo-headers of HTTP/2 nor the symbol beside them. */
const headersOf = ({ headers, httpVersionMajor }: IncomingMessage): ConnectorRequest['headers'] => {
  // Only `set-cookie` can be a list, and that is not a request header.
  const given = headers as ConnectorRequest['headers'];
  if (httpVersionMajor !== 2) return given;
  const named = Object.entries(given).map(
    ([name, value]) => [name === ':authority' ? 'host' : name, value] as const,
  );
  return Object.fromEntries(named.filter(([name]) => !name.startsWith(':')));
};

const connectorRequest = (
  request: IncomingMessage,
  response: ServerResponse,
  view: NodeRequestView,
): ConnectorRequest => {
  const host = hostBody(request, hasBody);
  const body = host === undefined && hasBody(request) ? request : host?.body;
  // A middleware of the host reads along. Without a pause it alone would get what arrives while hooks run.
  if (body === request && request.readableFlowing === true) request.pause();
  let signal: AbortSignal | undefined;
  return {
    method: request.method ?? 'GET',
    url: view.url ?? request.url ?? '/',
    isExact: view.isExact,
    mount: view.mount,
    headers: headersOf(request),
    native: view.native ?? request,
    peer: peerAddress(request),
    body,
    parsedBody: host?.parsedBody,
    /** Created on first use: a signal costs a tenth of the time of a small response. */
    get signal() {
      signal ??= signalOf(response);
      return signal;
    },
  };
};

/** Closes the connection when the client leaves data unread for this long. */
export const closeWhenStalled = (response: ServerResponse, stallMs = STALL_MS): void => {
  const { socket } = response;
  // Adapters to AWS Lambda pass objects that are not real sockets, without timeouts.
  if (!socket || 'setTimeout' in socket) response.setTimeout(stallMs, () => response.destroy());
};

const writeBody = async (
  response: ServerResponse,
  body: ConnectorResponse['body'],
  end: boolean,
): Promise<void> => {
  if (body instanceof Readable) {
    // A pipeline would treat it as a disconnected client.
    const onClose = (): void => {
      if (response.writableFinished && !body.readableEnded)
        body.destroy(new Error('the host has ended the response'));
    };
    // h3 2.0.1-rc.2 (Nitro 3.0.0) sends a stream that is piped into the response once more itself.
    response.removeAllListeners('pipe');
    // With a few listeners of the host, those of a pipeline would be reported as a leak.
    response.setMaxListeners(0).once('close', onClose);
    await pipeline(body, response, { end }).finally(() => response.off('close', onClose));
  } else if (end) response.end(body);
  else if (body === undefined) response.flushHeaders();
  else response.write(body);
};

/** Adds the host's own `Vary` headers: without them a shared cache could mix responses of its users. */
export const withHostVary = (
  response: Pick<ServerResponse, 'getHeader'>,
  headers: ConnectorResponse['headers'],
): ConnectorResponse['headers'] => {
  const ofHost = response.getHeader('vary');
  if (ofHost === undefined || headers['vary'] === undefined) return headers;
  return { ...headers, vary: [ofHost, headers['vary']].flat().join(', ') };
};

/**
 * Sends a response. `unread`: the client is still sending a body that is not read; over HTTP/1 the response
 * is sent first, the rest is read for a limited time, and then the connection is closed. Rejects when a
 * stream body fails or the client disconnects.
 */
export const send = async (
  request: IncomingMessage,
  response: ServerResponse,
  result: ConnectorResponse,
  unread: boolean,
  stallMs?: number,
): Promise<void> => {
  const stream = http2Stream(request);
  if (stream === undefined && result.statusText !== undefined) response.statusMessage = result.statusText;
  const lingers = unread && stream === undefined;
  if (lingers) response.setHeader('connection', 'close');
  response.writeHead(result.status, withHostVary(response, result.headers));
  const drained = lingers ? drain(request) : undefined;
  closeWhenStalled(response, stallMs);
  await writeBody(response, result.body, !lingers);
  if (drained !== undefined) {
    await drained;
    response.end();
  }
  // HTTP/2 can stop this request and preserve the connection. Not together with the response, which many clients
  // would lose then: when they acknowledge a ping, they have received it.
  if (unread && stream !== undefined)
    stream.session?.ping(() => {
      stream.close();
      // Without a reader the stream would never end.
      request.resume();
    });
};

/**
 * A handler for `node:http`, `node:https` and `node:http2` servers, for `app.use` of Express and compatible
 * frameworks. Resolves when the response has been handed over. It responds to every path, so `next` only gets
 * failures.
 */
export type NodeHandler = (
  request: IncomingMessage | Http2ServerRequest,
  response: ServerResponse | Http2ServerResponse,
  next?: (error?: unknown) => void,
) => Promise<void>;

export const serveNode = async (
  handle: Handle,
  request: IncomingMessage,
  response: ServerResponse,
  view: NodeRequestView,
  stallMs?: number,
): Promise<void> => {
  // Read while the socket is connected: Node caches it on the socket.
  peerAddress(request);
  const isFirst = untilFirst(request, response);
  if (isFirst !== true && !(await isFirst)) {
    response.destroy();
    return;
  }
  // A middleware that responds, for example with 401, and then passes the request on: it must have no effect.
  if (response.headersSent) return;
  const message = connectorRequest(request, response, view);
  const result = await handle(message);
  if (response.destroyed) {
    if (result.body instanceof Readable) result.body.destroy();
    return;
  }
  try {
    const isUnread = message.body !== undefined && !request.complete;
    await (view.send ?? send)(request, response, result, isUnread, stallMs);
    // A middleware of the host may wait for the end of a body that was not read.
    if (message.body === request && request.complete) request.resume();
  } catch (error) {
    if (result.body instanceof Readable) result.body.destroy();
    if (!response.headersSent) throw error;
    // After a failed body or a disconnect the response is incomplete, and the client must notice that.
    response.destroy();
  }
};

interface HostMarks {
  /** Express: the part of the URL that mounts have removed. */
  readonly baseUrl?: unknown;
  /** Connect (Vite), Polka, h3 (Nitro), Express: the URL before mounts have removed a part. */
  readonly originalUrl?: unknown;
  /** Express: the matched route. It removes nothing, so its path is still in the URL. */
  readonly route?: unknown;
}

/** The prefix that a mount of the host has removed from the URL; empty if the URL may still contain one. */
const removedPrefix = (url: string, { baseUrl, originalUrl, route }: HostMarks): string => {
  if (route !== undefined) return '';
  if (typeof baseUrl === 'string') return baseUrl;
  return typeof originalUrl === 'string' ? mountOf(originalUrl, url) : '';
};

const createMountReader = ({
  basePath,
}: MountOptions): ((request: IncomingMessage & HostMarks) => NodeRequestView) => {
  if (basePath === undefined) {
    return (request) => {
      const url = request.url ?? '/';
      const mount = removedPrefix(url, request);
      // Only Express names the whole mount: Nuxt removes its base path, and leaves that of the route.
      return { url, isExact: mount !== '' && mount === request.baseUrl, mount };
    };
  }
  const base = encodedBase(basePath);
  return (request) => {
    const url = request.url ?? '/';
    const whole = typeof request.originalUrl === 'string' ? request.originalUrl : url;
    // The host may have removed it already.
    return { url: belowBase(base, whole) ?? url, isExact: true, mount: base };
  };
};

export interface NodeHandlerOptions extends MountOptions {
  /** The connection is closed when the client leaves data unread for this long. Default: two minutes. */
  readonly stallMs?: number | undefined;
}

export const toNodeHandler = (
  handle: Handle,
  { stallMs, ...options }: NodeHandlerOptions = {},
): NodeHandler => {
  const readMount = createMountReader(options);
  return async (request, response, next) => {
    try {
      // The compatibility API of HTTP/2 has everything that is used here.
      const message = request as IncomingMessage;
      await serveNode(handle, message, response as ServerResponse, readMount(message), stallMs);
    } catch (error) {
      if (next === undefined) response.destroy();
      else next(error);
    }
  };
};
