import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** A proxy between a client and its server: counts connections, resets them, or stalls. */
export interface TcpProxy {
  readonly port: number;
  /** Number of open connections. */
  readonly open: () => number;
  /** Resets all connections. */
  readonly cut: () => void;
  /** Withholds the server's data from now on, until the next cut. */
  readonly stall: () => void;
  readonly close: () => Promise<void>;
}

export const startTcpProxy = async (target: number): Promise<TcpProxy> => {
  const pairs = new Set<readonly [Socket, Socket]>();
  let isStalled = false;
  const server = createServer((client) => {
    const upstream = connect(target, '127.0.0.1');
    const pair = [client, upstream] as const;
    pairs.add(pair);
    const end = (): void => {
      pairs.delete(pair);
      client.destroy();
      upstream.destroy();
    };
    for (const socket of pair) socket.setNoDelay(true).on('error', end).on('close', end);
    client.on('data', (bytes) => upstream.write(bytes));
    upstream.on('data', (bytes) => {
      if (!isStalled) client.write(bytes);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const cut = (): void => {
    isStalled = false;
    for (const [client, upstream] of pairs) {
      client.resetAndDestroy();
      upstream.destroy();
    }
  };
  return {
    port: (server.address() as AddressInfo).port,
    open: () => pairs.size,
    cut,
    stall: () => {
      isStalled = true;
    },
    close: () =>
      new Promise((resolve) => {
        cut();
        server.close(() => resolve());
      }),
  };
};
