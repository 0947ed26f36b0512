/** A typed client of the service, for browsers and servers: `stowage/client`. It has no dependencies. */
export { createClient, type CallOptions, type Client, type ClientOptions } from './client.ts';
export { ConnectorError } from './client.ts';
export type { Actions } from '../generated/actions.ts';
export type * from '../generated/answers.ts';
export type * from '../generated/parameters.ts';
