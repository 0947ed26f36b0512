import { Agent, type AgentOptions } from 'node:http';
import { Agent as SecureAgent, type AgentOptions as SecureAgentOptions } from 'node:https';
import type { Socket } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { patientAttempts } from '../../../basics/network/attempts.ts';
import * as errors from '../../../errors/errors.ts';
import { SilenceError } from './connections.ts';

/** Longest silence of connections, in milliseconds. */
interface Silence {
  /** While a connection is opened, TLS included. */
  readonly connectMs: number;
  /** Afterwards, while a request is running. */
  readonly readMs: number;
}

type Connect = (...given: readonly unknown[]) => Socket;

/** Makes a silent connection fail with ETIMEDOUT. Idle ones end without an error. */
const limitSilence = (agent: Agent, opened: string, silence: Silence): void => {
  const maker = agent as unknown as { createConnection: Connect };
  const connect = maker.createConnection;
  maker.createConnection = (...given) => {
    const socket = connect.call(agent, ...given);
    socket.setTimeout(silence.connectMs);
    socket.once(opened, () => socket.setTimeout(silence.readMs));
    socket.on('timeout', () => socket.destroy(new SilenceError('the server has been silent for too long')));
    return socket;
  };
};

/** Agents for both schemes. @param tls such as `ca`: trusted authorities, in PEM */
export const createAgents = (pool: AgentOptions, tls: SecureAgentOptions) => {
  const http = new Agent({ ...patientAttempts, ...pool });
  const https = new SecureAgent({ ...patientAttempts, ...pool, ...tls });
  return {
    http,
    https,
    of: (url: string): Agent => (url.startsWith('https:') ? https : http),
    destroy: (): void => {
      http.destroy();
      https.destroy();
    },
  };
};

export type Agents = ReturnType<typeof createAgents>;

/**
 * Agents with the kept connections of one store, for libraries that support no other limits. A request that
 * waits for the server, and a download whose reader pauses, end after the configured silence.
 */
export const createLimitedAgents = (silence: Silence, ca: string | undefined): Agents => {
  const agents = createAgents({ keepAlive: true, timeout: silence.readMs }, { ca });
  limitSilence(agents.http, 'connect', silence);
  limitSilence(agents.https, 'secureConnect', silence);
  return agents;
};

/** The `ETag` of a response as a strong quoted validator; undefined for a missing or weak one. */
export const strongEtag = (etag: string | undefined): string | undefined => {
  if (etag === undefined || etag === '' || etag.startsWith('W/')) return undefined;
  return etag.startsWith('"') ? etag : `"${etag}"`;
};

/** Total size from the `Content-Range` of a part; undefined when the header does not include it. */
export const wholeSize = (contentRange: string | undefined): number | undefined => {
  const total = /\/(\d+)$/u.exec(contentRange ?? '')?.[1];
  return total === undefined ? undefined : Number(total);
};

/** Bytes from a header or another text of a server; undefined for an invalid length. */
export const lengthOf = (text: string | undefined): number | undefined =>
  text !== undefined && /^\d{1,15}$/u.test(text) ? Number(text) : undefined;

/** Milliseconds since 1970 of a date in a header or response; undefined without a valid one. */
export const timeOf = (text: string | undefined): number | undefined => {
  const time = Date.parse(text ?? '');
  return Number.isNaN(time) ? undefined : time;
};

const byStatus = errors.errorsByCode(
  [errors.StorageDeniedError, 401, 403],
  [errors.NotFoundError, 404, 410],
  [errors.StorageTimeoutError, 408, 504],
  [errors.ChangedMeanwhileError, 412, 416],
  [errors.BusyError, 423, 424, 429],
  [errors.UnsupportedError, 501],
  [errors.StorageFullError, 507],
);

/** The error for a status of a store's server, where the adapter has no more specific one. */
export const errorOfStatus = (
  status: number | undefined,
  facts: { readonly detail: string; readonly cause?: unknown },
): errors.StowageError => new (byStatus.get(status) ?? errors.StorageUnavailableError)(facts);

/** Milliseconds to wait by `Retry-After`; undefined without one. */
export const retryAfter = (header: string | undefined): number | undefined => {
  if (header === undefined) return undefined;
  const ms = /^\d+$/u.test(header.trim()) ? Number(header) * 1000 : Date.parse(header) - Date.now();
  return ms > 0 ? ms : undefined;
};

interface Backoff {
  readonly firstMs: number;
  readonly longestMs: number;
  /** Minimum wait requested by the server, limited by `longestMs`. */
  readonly leastMs?: number | undefined;
}

/**
 * Waits before a retry: exponentially longer with every attempt, and partly random, so that clients that
 * failed together do not retry together.
 * @param attempt number of attempts so far, from 1
 * @throws the signal's reason
 */
export const pause = async (
  attempt: number,
  { firstMs, longestMs, leastMs = 0 }: Backoff,
  signal: AbortSignal | undefined,
): Promise<void> => {
  signal?.throwIfAborted();
  const most = Math.min(longestMs, firstMs * 2 ** (attempt - 1));
  const wait = Math.min(longestMs, leastMs) + most * (0.5 + Math.random() / 2);
  await setTimeout(wait, undefined, { signal }).catch((error: unknown) => {
    signal?.throwIfAborted();
    throw error;
  });
};
