import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';

/** Holds the address of the servers that the test files of a run share. */
const ADDRESS = 'STOWAGE_SHARED_SERVERS';

interface Stoppable {
  stop(): Promise<void>;
}

/**
 * Starts the servers that test files share, each at its first use: GET of its name responds with what it says of itself as JSON.
 * Returns what stops them; undefined where an outer run shares its own.
 */
export const shareServers = async (
  starters: Readonly<Record<string, () => Promise<Stoppable>>>,
): Promise<(() => Promise<void>) | undefined> => {
  if (process.env[ADDRESS] !== undefined) return undefined;
  const running = new Map<string, Promise<Stoppable>>();
  const server = createServer(({ url = '' }, response) => {
    const name = url.slice(1);
    const started = running.get(name) ?? starters[name]?.() ?? Promise.reject(new Error(`no server ${name}`));
    running.set(name, started);
    started.then(
      (one) => response.end(JSON.stringify(one)),
      (error: unknown) => response.writeHead(500).end(String(error)),
    );
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  process.env[ADDRESS] = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
  return async () => {
    server.close();
    server.closeAllConnections();
    for (const one of await Promise.allSettled(running.values()))
      if (one.status === 'fulfilled') await one.value.stop();
  };
};

/** What a shared server says of itself; undefined outside of a run that shares servers. */
export const sharedServer = async (name: string): Promise<unknown> => {
  const address = process.env[ADDRESS];
  if (address === undefined) return undefined;
  const response = await fetch(`${address}/${name}`);
  if (!response.ok) throw new Error(await response.text());
  return response.json();
};
