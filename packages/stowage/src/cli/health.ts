import { createServer, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import type { App } from '../app.ts';
import type { Address } from '../config/environment.ts';
import type { Metrics } from './metrics.ts';

/** Answers those who watch the service, on a port of its own: no hook, rule or setting applies. */
export interface Health {
  /** Returns where it listens. Rejects when the address cannot be had. */
  listen(address: Address): Promise<Address>;
  /** From now on the service is not ready. */
  drain(): void;
  close(): Promise<void>;
}

const answer = (response: ServerResponse, status: number, text: string): void => {
  const type = 'text/plain; version=0.0.4; charset=utf-8';
  response.writeHead(status, { 'content-type': type, 'cache-control': 'no-store' });
  response.end(text);
};

/** Runs one work at a time; callers meanwhile get the same result. */
const shared = <Result>(work: () => Promise<Result>): (() => Promise<Result>) => {
  let running: Promise<Result> | undefined;
  return () => {
    running ??= work().finally(() => (running = undefined));
    return running;
  };
};

export const createHealth = (
  metrics: Metrics,
  { unavailableSources, webhooks }: Pick<App, 'unavailableSources' | 'webhooks'>,
): Health => {
  const unavailable = shared(() => unavailableSources());
  const figures = shared(webhooks);
  let isStopping = false;

  const answerReady = async (response: ServerResponse): Promise<void> => {
    if (isStopping) return answer(response, 503, 'stopping\n');
    const names = await unavailable();
    if (names.length === 0) return answer(response, 200, 'ready\n');
    answer(response, 503, names.map((name) => `not available: ${JSON.stringify(name)}\n`).join(''));
  };

  const server = createServer((request, response) => {
    const path = request.url?.split('?', 1)[0];
    if (request.method !== 'GET' && request.method !== 'HEAD') answer(response, 405, 'GET or HEAD\n');
    else if (path === '/live') answer(response, 200, 'live\n');
    else if (path === '/metrics') void figures().then((all) => answer(response, 200, metrics.text(all)));
    else if (path === '/ready') void answerReady(response);
    else answer(response, 404, '/live, /ready or /metrics\n');
  });

  return {
    listen: async ({ port, host }) => {
      server.listen(port, host);
      await once(server, 'listening');
      return { host, port: (server.address() as AddressInfo).port };
    },
    drain: () => {
      isStopping = true;
    },
    close: async () => {
      if (!server.listening) return;
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
};
