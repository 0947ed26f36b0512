import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** A port of this machine that leads to another one, and tells how many connections go through it. */
export interface CountedPort {
  /** The URL of the server, by way of this port. */
  readonly url: string;
  /** Connections that are open now. */
  open(): number;
  /** How many there have been. */
  made(): number;
  /** From now on the port is closed, or open again. */
  setDown(down: boolean): void;
  close(): Promise<void>;
}

/** Opens a port in front of the server of this URL. */
export const openCountedPort = async (target: string): Promise<CountedPort> => {
  const { hostname, port: targetPort } = new URL(target);
  const sockets = new Set<Socket>();
  let made = 0;
  let isDown = false;
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    if (isDown) return void socket.resetAndDestroy();
    made += 1;
    sockets.add(socket);
    const upstream = connect(Number(targetPort), hostname);
    upstream.on('error', () => socket.destroy());
    upstream.on('close', () => socket.destroy());
    socket.on('close', () => {
      sockets.delete(socket);
      upstream.destroy();
    });
    socket.pipe(upstream);
    upstream.pipe(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = new URL(target);
  url.port = String((server.address() as AddressInfo).port);
  return {
    url: url.href,
    open: () => sockets.size,
    made: () => made,
    setDown: (down) => {
      isDown = down;
      if (down) for (const socket of sockets) socket.destroy();
    },
    close: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
};
