import { connect, isIP, type Socket } from 'node:net';
import { connect as connectSecurely, type ConnectionOptions, TLSSocket } from 'node:tls';
import { once } from 'node:events';
import type { Client, TransferStrategy } from 'basic-ftp';
import { StorageDeniedError, StorageUnavailableError } from '../../../errors/errors.ts';
import { codeOf, isSilence } from './errors.ts';
import type { FtpOptions } from './options.ts';
import { inTime, LostConnectionError, SilenceError } from '../core/connections.ts';

/** TLS options for both connections. */
const tlsOptionsOf = ({ host, verifyCertificate, ca }: FtpOptions): ConnectionOptions => ({
  host,
  rejectUnauthorized: verifyCertificate,
  ...(ca === undefined ? {} : { ca }),
  // TLS server names must not be IP addresses.
  ...(isIP(host) === 0 ? { servername: host } : {}),
});

/** Runs a step of the login; a rejection by the server becomes the error of `refused`. */
const step = async <T>(running: Promise<T>, refused: (code: number) => Error): Promise<T> => {
  try {
    return await running;
  } catch (error) {
    const code = codeOf(error);
    if (code !== undefined) throw refused(code);
    if (isSilence(error)) throw error;
    const { message, code: system } = error as NodeJS.ErrnoException;
    // Messages of TLS contain the host.
    const reason = typeof system === 'string' ? system : message;
    throw new StorageUnavailableError({ detail: `the connection was not made: ${reason}`, cause: error });
  }
};

/** A server rejected a connection or its login, perhaps because it has too many. */
class RefusedConnection extends Error {}

/** Whether the server rejected a connection or its login. */
export const isRefusedConnection = (error: unknown): boolean =>
  error instanceof Error && error.cause instanceof RefusedConnection;

const unavailable =
  (detail: string) =>
  (code: number): Error =>
    new StorageUnavailableError({ detail: `${detail} (${String(code)})` });

/** A rejected login is logged by its code only, because servers may repeat what they were sent. */
const denied = (code: number): Error => {
  const detail = `the server refuses the login (${String(code)})`;
  const cause = new RefusedConnection(detail);
  return code === 421
    ? new StorageUnavailableError({ detail, cause })
    : new StorageDeniedError({ detail, cause });
};

/**
 * Connects and logs in. `watch` gets each control socket before its first data. Returns whether the server
 * may support MLSD and MLST. @throws StorageUnavailableError, StorageDeniedError, and errors of the library
 */
export const logIn = async (
  client: Client,
  options: FtpOptions,
  watch: (socket: Socket) => void,
): Promise<boolean> => {
  const { host, port, username, password, tls } = options;
  const connecting = client.connect(host, port);
  watch(client.ftp.socket);
  const refused = (code: number): Error => {
    const detail = `the server refuses the connection (${String(code)})`;
    return new StorageUnavailableError({ detail, cause: new RefusedConnection(detail) });
  };
  await step(connecting, refused);
  if (tls) {
    await step(client.useTLS(tlsOptionsOf(options)), unavailable('the server does not offer TLS'));
    watch(client.ftp.socket);
  }
  await step(client.login(username, password), denied);
  if (tls) {
    // Data connections must be encrypted too.
    const open = unavailable('the server does not encrypt files');
    await step(client.send('PBSZ 0'), open);
    const { code } = await step(client.send('PROT P'), open);
    if (code >= 300) throw open(code);
  }
  await step(client.send('TYPE I'), unavailable('the server has no binary mode'));
  // Servers that do not know this command use UTF-8 anyway, or support no other encoding.
  await client.sendIgnoringError('OPTS UTF8 ON');
  const features = await client.sendIgnoringError('FEAT');
  const hasFacts = features.code >= 300 || /^ *MLST/imu.test(features.message);
  if (hasFacts) await client.sendIgnoringError('OPTS MLST type;size;modify;');
  return hasFacts;
};

/** The port for a data connection, from the response to EPSV or PASV. The address in it is ignored. */
const portIn = (reply: string): number => {
  const [, , extended] = /\(([!-~])\1\1(\d{1,5})\1\)/u.exec(reply) ?? [];
  const [, high, low] = /(?:\d{1,3},){4}(\d{1,3}),(\d{1,3})/u.exec(reply) ?? [];
  const port = extended === undefined ? Number(high) * 256 + Number(low) : Number(extended);
  // Servers never use privileged ports, which belong to other services, for data.
  if (!(port >= 1024 && port <= 65_535)) throw new LostConnectionError('the server names no port for data');
  return port;
};

/** Longest wait for a port of EPSV: that of PASV is tried after it. */
const EXTENDED_MS = 5000;

/** Capabilities of the data connections of a server, detected in use. */
export interface DataDialect {
  /** EPSV is accepted, and its ports can be reached. */
  isExtended: boolean;
}

const openData = async (ftp: Client['ftp'], command: 'EPSV' | 'PASV', ms: number) => {
  const reply = await ftp.request(command);
  const plain = connect({ host: ftp.socket.remoteAddress, port: portIn(reply.message), noDelay: true });
  plain.on('error', () => undefined);
  try {
    await inTime(once(plain, 'connect'), ms);
    return { reply, plain };
  } catch (error) {
    plain.destroy();
    if (error instanceof SilenceError) throw error;
    const { message } = error as Error;
    throw new LostConnectionError(`the data connection was lost: ${message}`, { cause: error });
  }
};

/**
 * How the library opens data connections: by EPSV until the server rejects it or only a port of PASV can be
 * reached, as through firewalls that do not know EPSV; always to the address of the control connection.
 */
export const createDataStrategy =
  (dialect: DataDialect): TransferStrategy =>
  async (ftp) => {
    let lost: unknown;
    const extended = dialect.isExtended
      ? await openData(ftp, 'EPSV', Math.min(EXTENDED_MS, ftp.timeout)).catch((error: unknown) => {
          if (ftp.closed) throw error;
          if (codeOf(error) === undefined) lost = error;
        })
      : undefined;
    const open = async () => extended ?? openData(ftp, 'PASV', ftp.timeout);
    const { reply, plain } = await open().catch((error: unknown) => {
      // A rejection of PASV, as over IPv6, would count as one of the command that needs the connection.
      throw codeOf(error) === undefined ? error : (lost ?? error);
    });
    dialect.isExtended &&= extended !== undefined;
    // Servers require the TLS session of the control connection, or its latest one, to recognise the client.
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
    // The library would end the session on these events, but the server's response holds the reason.
    for (const event of ['error', 'close']) {
      const [last] = data.listeners(event).slice(-1);
      data.off(event, last as () => void);
    }
    return reply;
  };
