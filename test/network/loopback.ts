import { createServer, type RequestListener } from 'node:http';
import { createServer as createTcpServer, type AddressInfo, type Server, type Socket } from 'node:net';

const listen = async (server: Server, host = '127.0.0.1'): Promise<number> => {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, host, resolve);
  });
  return (server.address() as AddressInfo).port;
};

/** Something inside that must never be reached: counts every connection, whatever is said on it. */
export const startCanary = async () => {
  let connections = 0;
  const server = createTcpServer((socket) => {
    connections += 1;
    socket.on('error', () => undefined);
    socket.end('HTTP/1.1 200 OK\r\ncontent-type: image/png\r\n\r\nSECRET');
  });
  // Both loopbacks where the machine has them.
  const port = await listen(server, '::').catch(() => listen(server));
  return {
    port,
    get connections() {
      return connections;
    },
    close: () => new Promise<void>((resolve) => server.close(() => resolve())),
  };
};

export type Canary = Awaited<ReturnType<typeof startCanary>>;

/** A web server on loopback that knows its open sockets. */
export const startSite = async (listener: RequestListener) => {
  const sockets = new Set<Socket>();
  const server = createServer(listener);
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  const port = await listen(server);
  return {
    port,
    origin: `http://127.0.0.1:${port}`,
    sockets,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
};

export type Site = Awaited<ReturnType<typeof startSite>>;
