import { createConnector, type ConnectorOptions, type OwnOption } from './connector.ts';
import { DEFAULT_ADDRESS } from './config/environment.ts';
import type { ConfigInput } from './config/types.ts';
import type { WebhookFigures } from './config/event.ts';
import type { ConnectorHooks } from './hooks.ts';
import { toFetchHandler } from './http/bridges/fetch.ts';
import { toNodeHandler } from './http/bridges/node.ts';
import { listen, type ListeningServer } from './http/server.ts';
import type { Logger } from './basics/log/logger.ts';
import type { Router } from './router.ts';
import { readVersion } from './version.ts';

export type AppOptions = Omit<ConnectorOptions, OwnOption>;

/** Export of a module for `stowage serve --config`, with hooks or a logger besides the configuration. */
export interface ServiceDefinition {
  /** Default: one source, built from the environment. */
  readonly config?: ConfigInput | null | undefined;
  readonly hooks?: ConnectorHooks | undefined;
  /** Default: JSON lines on standard error. */
  readonly logger?: Logger | undefined;
}

/** Returns its argument; types a module for `--config`. */
export const defineConfig: {
  (definition: ServiceDefinition): ServiceDefinition;
  (config: ConfigInput): ConfigInput;
} = <Written>(written: Written): Written => written;

/** A standalone connector. */
export interface App extends Router {
  /**
   * Starts an HTTP server. Port 0 picks a free port; the host defaults to 127.0.0.1. Rejects when the address
   * is not available, and after `close`.
   */
  listen(port?: number, host?: string): Promise<ListeningServer>;
  /**
   * Lists the root of every configured source and returns the names of the sources that do not respond in
   * time (default: 3 seconds). Never rejects; the causes are logged. Costs one listing per source.
   */
  unavailableSources(timeoutMs?: number): Promise<readonly string[]>;
  /** State of each webhook, in order: pending deliveries, results since the start. Never rejects. */
  webhooks(): Promise<readonly WebhookFigures[]>;
  /** Rejects new requests, waits for running ones (at most 30 seconds), then releases all resources. */
  close(): Promise<void>;
}

/**
 * Builds a standalone connector. Without a configuration it serves one source, built from the environment.
 * Every response carries `X-App-Version`.
 * @throws ConfigError listing every problem of the configuration.
 */
export const createApp = <Native = unknown>(
  config?: ConfigInput | null,
  hooks: ConnectorHooks<Native> = {},
  options: AppOptions = {},
): App => {
  const version = readVersion();
  const connector = createConnector(config, hooks, { ...options, version });
  const servers = new Set<ListeningServer>();
  const handler = toNodeHandler(connector.handle);
  let isClosed = false;
  return {
    fetch: toFetchHandler(connector.handle),
    handler,
    handle: connector.handle,
    urlFor: connector.urlFor,
    renewLinks: connector.renewLinks,
    linksIn: connector.linksIn,
    unavailableSources: (timeoutMs = 3000) => connector.unavailableSources(timeoutMs),
    webhooks: connector.webhooks,
    listen: async (port = DEFAULT_ADDRESS.port, host = DEFAULT_ADDRESS.host) => {
      if (isClosed) throw new Error('This app has been closed.');
      const server = await listen(handler, { port, host, headers: { 'x-app-version': version } });
      servers.add(server);
      if (isClosed) {
        await server.close();
        throw new Error('This app has been closed.');
      }
      return server;
    },
    close: async () => {
      isClosed = true;
      await Promise.all([...servers].map((server) => server.close()));
      await connector.close();
    },
  };
};
