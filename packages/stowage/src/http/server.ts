import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { type ErrorCode, errorTable } from '../errors/table.ts';
import type { NodeHandler } from './bridges/node.ts';
import { peerAddress } from './bridges/fetch.ts';
import { errorEnvelope, jsonResponse } from './run-action.ts';

type Headers = Readonly<Record<string, string>>;

const rejectionOf = (code: ErrorCode, more: Headers) => {
  const { status, message } = errorTable[code];
  const body = errorEnvelope(status, code, [message]);
  const { headers } = jsonResponse(status, body, { headers: { ...more, connection: 'close' } });
  return { status, headers, body };
};

/** Rejects a request before it reaches the connector, and closes its connection. */
const rejectRequest = (response: ServerResponse, code: ErrorCode, headers: Headers): void => {
  const rejection = rejectionOf(code, headers);
  response.writeHead(rejection.status, rejection.headers);
  response.end(rejection.body);
};

const codes: Readonly<Record<string, ErrorCode>> = {
  HPE_HEADER_OVERFLOW: 'HEADERS_TOO_LARGE',
  ERR_HTTP_REQUEST_TIMEOUT: 'REQUEST_TIMEOUT',
};

/** Responds to bytes that the server could not parse as a request, and closes the connection. */
const refuseUnreadable = (socket: Duplex, error: NodeJS.ErrnoException, more: Headers): void => {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const { status, headers, body } = rejectionOf(codes[error.code ?? ''] ?? 'INVALID_PARAMETERS', more);
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${String(status)} ${STATUS_CODES[status] ?? ''}\r\n${lines.join('')}\r\n${body}`);
};

/**
 * The connections of a server and their pending responses. The server's own list counts a connection without
 * any request (browsers open such in advance) as busy; a shutdown must not wait for it.
 */
class Connections {
  readonly #owed = new Map<Socket, Set<ServerResponse>>();
  #isClosing = false;

  add(socket: Socket): void {
    if (this.#isClosing) {
      socket.destroy();
      return;
    }
    this.#owed.set(socket, new Set());
    socket.once('close', () => this.#owed.delete(socket));
  }

  begin(response: ServerResponse, socket: Socket): void {
    const owed = this.#owed.get(socket);
    owed?.add(response);
    response.once('close', () => {
      if (owed?.delete(response) === true && this.#isClosing && owed.size === 0) socket.destroySoon();
    });
  }

  /** Whether a response has begun on a connection, so that nothing else may be written there. */
  isResponding(socket: Socket): boolean {
    return [...(this.#owed.get(socket) ?? [])].some(({ headersSent }) => headersSent);
  }

  /** Closes idle connections now, and the others as soon as they are idle. */
  closeWhenIdle(): void {
    this.#isClosing = true;
    for (const [socket, owed] of this.#owed) {
      for (const response of owed) if (!response.headersSent) response.setHeader('connection', 'close');
      if (owed.size === 0) socket.destroySoon();
    }
  }
}

export interface ListenOptions {
  /** 0 picks a free port. */
  readonly port: number;
  readonly host: string;
  /** Added to responses that the server sends itself, without the connector. */
  readonly headers?: Readonly<Record<string, string>>;
}

export interface ListeningServer {
  readonly port: number;
  readonly host: string;
  /**
   * Stops: new connections and requests are rejected (503), running requests may finish for `graceMs`
   * (default 30 s), then their connections are closed. Resolves when all are closed.
   */
  close(graceMs?: number): Promise<void>;
}

const GRACE_MS = 30_000;

/** Sends 100 Continue to a client that waits for it, when its body is first read. */
const continueWhenRead = (request: IncomingMessage, response: ServerResponse): void => {
  const goOn = (event: string): void => {
    if (event !== 'data' && event !== 'readable') return;
    request.off('newListener', goOn);
    if (!response.headersSent) response.writeContinue();
  };
  request.on('newListener', goOn);
};

/** Serves a connector by `node:http`. Rejects when the address is not available. */
export const listen = async (handler: NodeHandler, options: ListenOptions): Promise<ListeningServer> => {
  const { headers = {} } = options;
  const connections = new Connections();
  let closed: Promise<void> | undefined;

  const onRequest = (request: IncomingMessage, response: ServerResponse): void => {
    if (closed !== undefined)
      return rejectRequest(response, 'SHUTTING_DOWN', { ...headers, 'retry-after': '2' });
    if (request.headers.host === undefined && request.httpVersion === '1.1')
      return rejectRequest(response, 'INVALID_PARAMETERS', headers);
    connections.begin(response, request.socket);
    handler(request, response).catch(() => response.destroy());
  };

  const server = createServer(
    {
      // No limit for a whole request: uploads over slow lines take long. `body/pour.ts` limits bodies that
      // stall.
      requestTimeout: 0,
      headersTimeout: 60_000,
      // Longer than proxies keep idle connections (nginx and AWS a minute, Traefik 90 seconds, Caddy two
      // minutes, Google ten, Cloudflare fifteen, Envoy and Istio an hour), so that the server never closes one
      // that the proxy is about to use.
      keepAliveTimeout: 3_620_000,
      // Closes connections whose client is gone without a word.
      keepAlive: true,
      keepAliveInitialDelay: 60_000,
      // The connector rejects such requests itself, in its own format.
      requireHostHeader: false,
    },
    onRequest,
  );
  // 100 Continue is sent when the reading begins: the body of a request that is rejected earlier is not sent
  // at all.
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    continueWhenRead(request, response);
    onRequest(request, response);
  });
  // 100-continue is the only expectation that is known; others may be ignored.
  server.on('checkExpectation', onRequest);
  server.on('clientError', (error, socket) => {
    if (connections.isResponding(socket as Socket)) socket.destroy();
    else refuseUnreadable(socket, error, headers);
  });
  server.on('connection', (socket) => {
    // Node caches the address at the first read: after a reset it could not be read.
    peerAddress({ socket });
    connections.add(socket);
  });
  // As an object: anything but a port in the first argument would listen on all addresses.
  server.listen({ port: options.port, host: options.host });
  await once(server, 'listening');
  const { port, address } = server.address() as AddressInfo;

  const close = (graceMs: number): Promise<void> =>
    new Promise((resolve) => {
      const giveUp = setTimeout(() => {
        server.closeAllConnections();
      }, graceMs);
      server.close(() => {
        clearTimeout(giveUp);
        resolve();
      });
      connections.closeWhenIdle();
    });

  return {
    port,
    host: address,
    close: (graceMs = GRACE_MS) => {
      closed ??= close(graceMs);
      return closed;
    },
  };
};
