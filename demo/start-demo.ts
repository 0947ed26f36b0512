import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import type { Server } from 'node:http';
import { createApp, type App, type ConfigInput, type ConnectorHooks, type Logger } from 'stowage';
import { demoConfig } from './demo-config.ts';
import { createPageServer } from './page-server.ts';
import { writeSamples } from './samples/write-samples.ts';

/** How a demo is started. Port 0 takes a free one. */
export interface DemoOptions {
  readonly connectorPort: number;
  readonly pagePort: number;
  /** Holds the folders `photos` and `documents`; a missing one is made with sample files. */
  readonly dataDir: string;
  /**
   * Address to listen on. Default 127.0.0.1: the demo lets everyone write, so only this machine may reach it.
   */
  readonly host?: string | undefined;
  /** Settings that replace those of the demo, key by key. */
  readonly config?: ConfigInput | undefined;
  readonly hooks?: ConnectorHooks | undefined;
  /** Default: JSON lines on standard error. */
  readonly logger?: Logger | undefined;
}

/** A running demo. */
export interface Demo {
  /** Of the connector, with a slash at the end. */
  readonly connectorUrl: string;
  /** Of the page, with a slash at the end. */
  readonly pageUrl: string;
  /** Finishes what is running and frees both ports. */
  close(): Promise<void>;
}

const loopbackHost = '127.0.0.1';

/** The name in URLs: people and browsers know this machine as localhost. */
const nameOf = (host: string): string =>
  [loopbackHost, '0.0.0.0', '::', '::1'].includes(host) ? 'localhost' : host;

const listen = async (server: Server, port: number, host: string): Promise<number> => {
  server.listen(port, host);
  await once(server, 'listening');
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : port;
};

const closeServer = async (server: Server): Promise<void> => {
  const closed = once(server, 'close');
  server.close();
  // A connection that is in use now takes one more request, and no third.
  server.prependListener('request', (_request, response) => response.setHeader('Connection', 'close'));
  server.closeIdleConnections();
  await closed;
};

/** Starts the connector and, in the same process, the page with its editor. */
export const startDemo = async (options: DemoOptions): Promise<Demo> => {
  const { dataDir, host = loopbackHost } = options;
  await mkdir(dataDir, { recursive: true });
  await writeSamples(dataDir, new Date());
  let connectorPort = options.connectorPort;
  let app: App | undefined;
  const pageServer = createPageServer(() => ({ connectorPort, files: app?.handler }));
  const pagePort = await listen(pageServer, options.pagePort, host);
  const pageUrl = `http://${nameOf(host)}:${String(pagePort)}/`;
  const origins = [nameOf(host), loopbackHost].map((name) => `http://${name}:${String(pagePort)}`);
  try {
    const config = { ...demoConfig({ dataDir, origins }), ...options.config };
    const started = createApp(config, options.hooks, { logger: options.logger });
    app = started;
    ({ port: connectorPort } = await started.listen(options.connectorPort, host));
    return {
      connectorUrl: `http://${nameOf(host)}:${String(connectorPort)}/`,
      pageUrl,
      close: async () => {
        await Promise.all([started.close(), closeServer(pageServer)]);
      },
    };
  } catch (error) {
    await closeServer(pageServer);
    throw error;
  }
};
