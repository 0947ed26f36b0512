import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { Connections } from './connections.ts';
import type { NodeHandler } from './bridges/node.ts';
import { refuse, refuseUnreadable } from './refusal.ts';

/** Where and how a standalone service listens. */
export interface ListenOptions {
  /** 0: any free one. */
  readonly port: number;
  readonly host: string;
  /** Go with the answers that the server gives by itself, without the connector. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** A service that listens. */
export interface ListeningServer {
  readonly port: number;
  readonly host: string;
  /**
   * Stops: new connections and requests are refused (503), running requests may finish for `graceMs` (default 30 s), then
   * their connections are closed. Resolves when all are closed.
   */
  close(graceMs?: number): Promise<void>;
}

const GRACE_MS = 30_000;

const listening = (server: Server, { port, host }: ListenOptions): Promise<AddressInfo> =>
  new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve(server.address() as AddressInfo);
    });
  });

/** Notes that a request is being served, until its answer is closed or the returned function is called. */
const begin = (
  running: Set<ServerResponse>,
  connections: Connections,
  response: ServerResponse,
  socket: Socket,
): (() => void) => {
  running.add(response);
  connections.begin(socket);
  const end = (): void => {
    if (running.delete(response)) connections.end(socket);
  };
  response.once('close', end);
  return end;
};

/** Says "go on" to a client that waits for it when somebody begins to read its body. */
const continueWhenRead = (request: IncomingMessage, response: ServerResponse): void => {
  const goOn = (event: string): void => {
    if (event !== 'data' && event !== 'readable') return;
    request.off('newListener', goOn);
    if (!response.headersSent) response.writeContinue();
  };
  request.on('newListener', goOn);
};

/** Serves a connector by `node:http`. Rejects when the address cannot be had. */
export const listen = async (handler: NodeHandler, options: ListenOptions): Promise<ListeningServer> => {
  const { headers = {} } = options;
  const running = new Set<ServerResponse>();
  const connections = new Connections();
  let closed: Promise<void> | undefined;

  const onRequest = (request: IncomingMessage, response: ServerResponse): void => {
    if (closed !== undefined) return refuse(response, 'SHUTTING_DOWN', { ...headers, 'retry-after': '2' });
    if (request.headers.host === undefined && request.httpVersion === '1.1') {
      return refuse(response, 'INVALID_PARAMETERS', headers);
    }
    const { socket } = request;
    const end = begin(running, connections, response, socket);
    handler(request, response)
      .catch(() => response.destroy())
      .finally(() => {
        // An answer whose turn on the connection never came does not tell that it is closed.
        if (socket.destroyed) end();
      });
  };

  const server = createServer(
    {
      // A large upload over a slow line takes as long as it takes; a body that stalls is given up by whoever reads it.
      requestTimeout: 0,
      headersTimeout: 60_000,
      // Longer than the minute that proxies keep idle connections, so that it is not us who close under a request.
      keepAliveTimeout: 65_000,
      // We refuse such requests ourselves, in words that clients of ours understand.
      requireHostHeader: false,
    },
    onRequest,
  );
  // A client that asks before it sends hears "go on" when somebody begins to read: what is refused before is not sent at all.
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    continueWhenRead(request, response);
    onRequest(request, response);
  });
  // Of what a client may expect of us we know nothing but 100-continue, and may pass over the rest.
  server.on('checkExpectation', onRequest);
  server.on('clientError', (error, socket) => {
    const answered = [...running].some((response) => response.socket === socket && response.headersSent);
    if (answered) socket.destroy();
    else refuseUnreadable(socket, error, headers);
  });
  server.on('connection', (socket) => connections.add(socket));
  const { port, address } = await listening(server, options);

  const close = (graceMs: number): Promise<void> =>
    new Promise((resolve) => {
      const giveUp = setTimeout(() => {
        server.closeAllConnections();
      }, graceMs);
      server.close(() => {
        clearTimeout(giveUp);
        resolve();
      });
      for (const response of running) if (!response.headersSent) response.setHeader('connection', 'close');
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
