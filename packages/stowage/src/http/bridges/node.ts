import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ConnectorRequest, ConnectorResponse, Handle, ParsedBody } from '../message.ts';
import { createCut, drain, mountOf, type MountOptions, peerAddress } from './fetch.ts';
import { hostBody } from './host-body.ts';

/**
 * Whether a request waits behind others of its connection: a client may send several before the first answer.
 * Until the response has the socket, nothing can be sent and a client that leaves is not noticed.
 */
const isQueued = (request: IncomingMessage, response: ServerResponse): boolean => {
  if (response.socket !== null || response.writableEnded) return false;
  const { socket } = request;
  // Some hosts hand on requests that never had a connection, or have only something like one.
  return socket.destroyed || (socket.pending as boolean | undefined) === false;
};

/**
 * Waits until a request is the first of its connection. False: the client has left before. Free for most
 * requests.
 */
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
    // One packet may hold many requests: that many listeners are not a leak.
    socket.setMaxListeners(0);
    socket.once('close', onGone);
    response.once('socket', onSocket);
  });
};

/** What a framework on top of node's HTTP may know better. */
export interface NodeRequestView {
  /** Path and query below the mount point. Default: `request.url`. */
  readonly url?: string;
  /** Whether the URL begins at the mount for certain. */
  readonly isExact?: boolean;
  /** What was cut from the URL. */
  readonly mount?: string | undefined;
  /** What hooks get as `native`. Default: the request. */
  readonly native?: unknown;
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

class NodeConnectorRequest implements ConnectorRequest {
  readonly method: string;
  readonly url: string;
  readonly isExact: boolean | undefined;
  readonly mount: string | undefined;
  readonly headers: ConnectorRequest['headers'];
  readonly native: unknown;
  readonly peer: string | undefined;
  readonly body: Readable | undefined;
  readonly parsedBody: ParsedBody | undefined;
  readonly #response: ServerResponse;
  #signal: AbortSignal | undefined;

  constructor(request: IncomingMessage, response: ServerResponse, view: NodeRequestView) {
    const host = hostBody(request, hasBody);
    this.peer = peerAddress(request);
    this.method = request.method ?? 'GET';
    this.url = view.url ?? request.url ?? '/';
    this.isExact = view.isExact;
    this.mount = view.mount;
    // Only `set-cookie` can be a list, and that is not a header of requests.
    this.headers = request.headers as ConnectorRequest['headers'];
    this.native = view.native ?? request;
    this.body = host === undefined && hasBody(request) ? request : host?.body;
    this.parsedBody = host?.parsedBody;
    this.#response = response;
  }

  /** Made when it is first asked for: a signal costs as much as a tenth of a small answer. */
  get signal(): AbortSignal {
    this.#signal ??= signalOf(this.#response);
    return this.#signal;
  }
}

/** The connection is closed when the client takes nothing for this long while we have something to send. */
const STALL_MS = 120_000;

const writeBody = async (
  response: ServerResponse,
  body: ConnectorResponse['body'],
  end: boolean,
  stallMs: number,
): Promise<void> => {
  response.setTimeout(stallMs, () => response.destroy());
  if (body instanceof Readable) {
    // A pipeline cannot tell it from a client that has left.
    const onClose = (): void => {
      if (response.writableFinished && !body.readableEnded)
        body.destroy(new Error('the host has ended the answer'));
    };
    response.once('close', onClose);
    await pipeline(body, response, { end }).finally(() => response.off('close', onClose));
  } else if (end) response.end(body);
  else if (body === undefined) response.flushHeaders();
  else response.write(body);
};

/** Keeps what the host's own answers vary by: without it a shared cache would mix its users. */
const withHostVary = (
  response: ServerResponse,
  headers: ConnectorResponse['headers'],
): ConnectorResponse['headers'] => {
  const ofHost = response.getHeader('vary');
  if (ofHost === undefined || headers['vary'] === undefined) return headers;
  return { ...headers, vary: [ofHost, headers['vary']].flat().join(', ') };
};

/**
 * Sends an answer. `unread`: the client is still sending a body that is not read; over HTTP/1 the answer
 * goes out first, the rest is taken for a while, and then the connection is closed. Rejects when a stream
 * body fails or the client leaves.
 */
export const send = async (
  request: IncomingMessage,
  response: ServerResponse,
  answer: ConnectorResponse,
  unread: boolean,
  stallMs = STALL_MS,
): Promise<void> => {
  const stream = http2Stream(request);
  if (stream === undefined && answer.statusText !== undefined) response.statusMessage = answer.statusText;
  const lingers = unread && stream === undefined;
  if (lingers) response.setHeader('connection', 'close');
  response.writeHead(answer.status, withHostVary(response, answer.headers));
  const drained = lingers ? drain(request) : undefined;
  await writeBody(response, answer.body, !lingers, stallMs);
  if (drained !== undefined) {
    await drained;
    response.end();
  }
  // HTTP/2 can stop the one request and keep the connection.
  if (unread && stream !== undefined) {
    stream.close();
    // Without a reader the stream would never end.
    request.resume();
  }
};

/**
 * A handler for `node:http`, `node:https` and `node:http2` servers, for `app.use` of Express and for
 * everything that hands on their requests. Resolves when the answer has been handed over; every path is
 * answered, so `next` only gets failures.
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
  // Read while there is one: Node remembers it for the socket.
  peerAddress(request);
  const isFirst = untilFirst(request, response);
  if (isFirst !== true && !(await isFirst)) {
    response.destroy();
    return;
  }
  const message = new NodeConnectorRequest(request, response, view);
  const answer = await handle(message);
  if (response.destroyed) {
    if (answer.body instanceof Readable) answer.body.destroy();
    return;
  }
  try {
    await send(request, response, answer, message.body !== undefined && !request.complete, stallMs);
  } catch (error) {
    if (answer.body instanceof Readable) answer.body.destroy();
    if (!response.headersSent) throw error;
    // A body that broke off, or a client that left: what was sent is not a whole answer, and the client must
    // see that.
    response.destroy();
  }
};

interface MountedUrl {
  readonly url: string;
  /** Whether the path begins at the mount for certain. */
  readonly isExact: boolean;
  /** What was cut. */
  readonly mount?: string | undefined;
}

interface ExpressMarks {
  /** What mounts have cut from the URL. */
  readonly baseUrl?: unknown;
  readonly originalUrl?: unknown;
  /** The route that the request has come to; a route cuts nothing. */
  readonly route?: unknown;
}

/** Express has cut the whole mount, unless a route stands between: its own path is still in the URL. */
const isCutByExpress = ({ baseUrl, route }: ExpressMarks): boolean =>
  typeof baseUrl === 'string' && baseUrl !== '' && route === undefined;

const createMountReader = ({
  basePath,
}: MountOptions): ((request: IncomingMessage & ExpressMarks) => MountedUrl) => {
  if (basePath === undefined) {
    return (request) => {
      const url = request.url ?? '/';
      const isExact = isCutByExpress(request);
      return { url, isExact, ...(isExact ? { mount: String(request.baseUrl) } : {}) };
    };
  }
  const cut = createCut(basePath);
  return (request) => {
    const url = request.url ?? '/';
    const whole = typeof request.originalUrl === 'string' ? request.originalUrl : url;
    // A host may have cut it by itself.
    const rest = cut(whole) ?? url;
    return { url: rest, isExact: true, mount: mountOf(whole, rest) };
  };
};

export interface NodeHandlerOptions extends MountOptions {
  /**
   * The connection is closed when the client takes nothing for this long while there is something to send.
   * Default: two minutes.
   */
  readonly stallMs?: number | undefined;
}

export const toNodeHandler = (
  handle: Handle,
  { stallMs, ...options }: NodeHandlerOptions = {},
): NodeHandler => {
  const readMount = createMountReader(options);
  return async (request, response, next) => {
    try {
      // The compatibility API of HTTP/2 has all that is used here.
      const message = request as IncomingMessage;
      await serveNode(handle, message, response as ServerResponse, readMount(message), stallMs);
    } catch (error) {
      if (next === undefined) response.destroy();
      else next(error);
    }
  };
};
