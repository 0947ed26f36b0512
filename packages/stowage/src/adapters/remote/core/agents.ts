import { Agent } from 'node:http';
import { Agent as SecureAgent } from 'node:https';
import type { Socket } from 'node:net';

/** How long connections may say nothing, in milliseconds. */
export interface Silence {
  /** While one is opened, TLS included. */
  readonly connectMs: number;
  /** Afterwards, while a request is under way. */
  readonly readMs: number;
}

/** Kept connections to the servers of one store. */
export interface Agents {
  /** The one for this URL. */
  of(url: string): Agent;
  destroy(): void;
}

type Connect = (...given: readonly unknown[]) => Socket;

/** A silent connection fails with ETIMEDOUT. Idle ones end quietly. */
const limitSilence = <Kind extends Agent>(agent: Kind, opened: string, silence: Silence): Kind => {
  const maker = agent as unknown as { createConnection: Connect };
  const connect = maker.createConnection;
  maker.createConnection = (...given) => {
    const socket = connect.call(agent, ...given);
    socket.setTimeout(silence.connectMs);
    socket.once(opened, () => socket.setTimeout(silence.readMs));
    socket.on('timeout', () => {
      socket.destroy(
        Object.assign(new Error('the server has been silent for too long'), { code: 'ETIMEDOUT' }),
      );
    });
    return socket;
  };
  return agent;
};

/**
 * Agents for libraries that take no other limits. A request that waits for the server, and a download whose
 * reader does not go on, end after the silence that is permitted.
 * @param ca authorities that are trusted in place of the usual ones, in PEM
 */
export const createAgents = (silence: Silence, ca: string | undefined): Agents => {
  const pool = { keepAlive: true, timeout: silence.readMs };
  const http = limitSilence(new Agent(pool), 'connect', silence);
  const https = limitSilence(new SecureAgent({ ...pool, ca }), 'secureConnect', silence);
  return {
    of: (url) => (url.startsWith('https:') ? https : http),
    destroy: () => {
      http.destroy();
      https.destroy();
    },
  };
};
