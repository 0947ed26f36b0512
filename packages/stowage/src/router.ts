import { createConnector, type ConnectorOptions, type OwnOption } from './connector.ts';
import type { ConfigInput } from './config/types.ts';
import type { ConnectorHooks } from './hooks.ts';
import { toFetchHandler, type FetchHandler } from './http/bridges/fetch.ts';
import { toNodeHandler, type NodeHandler } from './http/bridges/node.ts';
import type { LinksIn, RenewLinks } from './actions/texts/text-links.ts';
import type { UrlFor } from './view/links.ts';
import type { Handle } from './http/message.ts';

/** Options of a mounted connector. */
export interface RouterOptions extends Omit<ConnectorOptions, OwnOption> {
  /**
   * The prefix of the mount: `/api/connector`. Mounts of Express, Connect, Polka and h3 and prefixes of
   * Fastify supply it themselves. Elsewhere it may still be part of the URL: without this option the last
   * segment of a path names the action, regardless of the segments before it, and a path without the name of
   * an action is the mount itself. Needed when the last segment of the prefix is the name of an action
   * (`/api/files`), and for links when the host removes the prefix without a trace, as `mount` of Hono does.
   */
  readonly basePath?: string | undefined;
}

/** A connector to mount in a host application. */
export interface Router {
  /** For web requests: Hono, Next.js, Bun. */
  readonly fetch: FetchHandler;
  /**
   * For `node:http` requests: Express, Koa, Nest. Responds to every path below its mount; `next` gets only
   * failures of the transport.
   */
  readonly handler: NodeHandler;
  /** The core without a framework, for bridges such as the Fastify plugin (`stowage/fastify`). */
  readonly handle: Handle;
  readonly urlFor: UrlFor;
  readonly renewLinks: RenewLinks;
  readonly linksIn: LinksIn;
  /**
   * Closes stores, threads and browsers. Call it when the host shuts down, after its server has stopped:
   * later requests get 503. Running ones may take 12 seconds to end, so their hooks must not wait for it.
   */
  close(): Promise<void>;
}

/**
 * Builds a connector for mounting. Instances are isolated: each has its own configuration, sources, rules,
 * hooks and caches.
 * @throws ConfigError listing every problem of the configuration.
 */
export const createRouter = <Native = unknown>(
  config?: ConfigInput | null,
  hooks: ConnectorHooks<Native> = {},
  { basePath, ...options }: RouterOptions = {},
): Router => {
  const connector = createConnector(config, hooks, {
    ...options,
    isMounted: basePath === undefined,
    mount: basePath,
  });
  return {
    fetch: toFetchHandler(connector.handle, { basePath }),
    handler: toNodeHandler(connector.handle, { basePath }),
    handle: connector.handle,
    urlFor: connector.urlFor,
    renewLinks: connector.renewLinks,
    linksIn: connector.linksIn,
    close: () => connector.close(),
  };
};
