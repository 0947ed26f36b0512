import { once } from 'node:events';
import { connect } from 'node:net';
import { connect as connectSecurely, TLSSocket } from 'node:tls';
import type { TransferStrategy } from 'basic-ftp';
import { inTime, LostConnectionError, SilenceError } from '../core/lost-connection.ts';
import { codeOf } from './errors.ts';

/** The port that a server listens on for data, by its answer to EPSV or PASV. What address it names is not used. */
const portIn = (reply: string): number => {
  const [, , extended] = /\(([!-~])\1\1(\d{1,5})\1\)/u.exec(reply) ?? [];
  const [, high, low] = /(?:\d{1,3},){4}(\d{1,3}),(\d{1,3})/u.exec(reply) ?? [];
  const port = extended === undefined ? Number(high) * 256 + Number(low) : Number(extended);
  // No server listens for data on the port of another service.
  if (!(port >= 1024 && port <= 65_535)) throw new LostConnectionError('the server names no port for data');
  return port;
};

/**
 * How the library comes to a data connection: by EPSV until the server refuses that, else by PASV, and to the
 * very address that the control connection goes to.
 */
export const createDataStrategy = (): TransferStrategy => {
  let isExtended = true;
  return async (ftp) => {
    const extended = isExtended
      ? await ftp.request('EPSV').catch((error: unknown) => {
          if (codeOf(error) === undefined) throw error;
          isExtended = false;
        })
      : undefined;
    const reply = extended ?? (await ftp.request('PASV'));
    const plain = connect({ host: ftp.socket.remoteAddress, port: portIn(reply.message), noDelay: true });
    plain.on('error', () => undefined);
    try {
      await inTime(once(plain, 'connect'), ftp.timeout);
    } catch (error) {
      plain.destroy();
      if (error instanceof SilenceError) throw error;
      const { message } = error as Error;
      throw new LostConnectionError(`the data connection was lost: ${message}`, { cause: error });
    }
    // Servers want the session of the control connection, or the newest of it, which only this client can have.
    const data =
      ftp.socket instanceof TLSSocket
        ? connectSecurely({
            ...ftp.tlsOptions,
            socket: plain,
            session: ftp.tlsSessionStore ?? ftp.socket.getSession(),
          }).on('session', (session) => (ftp.tlsSessionStore = session))
        : plain;
    data.on('error', () => undefined);
    ftp.dataSocket = data;
    // The library would end the session with it, but the server's answer says why it broke.
    for (const event of ['error', 'close']) {
      const [last] = data.listeners(event).slice(-1);
      data.off(event, last as () => void);
    }
    return reply;
  };
};
