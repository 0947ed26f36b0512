import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import type { Writable } from 'node:stream';
import { connect as connectSecurely, type ConnectionOptions, type TLSSocket } from 'node:tls';
import { inTime, LostConnectionError, SilenceError } from '../../remote-store/lost-connection.ts';

/** A data connection broke: what the server says of the command explains it better. */
export class DataLostError extends LostConnectionError {}

const lost = (cause: unknown): DataLostError =>
  new DataLostError(`the data connection was lost: ${cause instanceof Error ? cause.message : 'closed'}`, {
    cause,
  });

/** The port that a server listens on for data, by its answer to EPSV or PASV. What address it names is not used. */
export const portIn = (reply: string): number => {
  const [, , extended] = /\(([!-~])\1\1(\d{1,5})\1\)/u.exec(reply) ?? [];
  const [, high, low] = /(?:\d{1,3},){4}(\d{1,3}),(\d{1,3})/u.exec(reply) ?? [];
  const port = extended === undefined ? Number(high) * 256 + Number(low) : Number(extended);
  // No server listens for data on the port of another service.
  if (!(port >= 1024 && port <= 65_535)) throw new LostConnectionError('the server names no port for data');
  return port;
};

/** Connects for data to the very address that the control connection goes to. */
export const openData = async (control: Socket, port: number, timeoutMs: number): Promise<Socket> => {
  if (control.remoteAddress === undefined) throw new LostConnectionError('the connection was lost');
  const socket = connect({ host: control.remoteAddress, port, noDelay: true });
  socket.on('error', () => undefined);
  try {
    await inTime(once(socket, 'connect'), timeoutMs);
    return socket;
  } catch (error) {
    socket.destroy();
    throw error instanceof SilenceError ? error : lost(error);
  }
};

/** Encrypts a data connection; servers answer once they have accepted the command. */
export const secureData = async (
  socket: Socket,
  options: ConnectionOptions,
  timeoutMs: number,
): Promise<TLSSocket> => {
  const secure = connectSecurely({ ...options, socket });
  secure.on('error', () => undefined);
  try {
    await inTime(once(secure, 'secureConnect'), timeoutMs);
    return secure;
  } catch (error) {
    secure.destroy();
    throw error instanceof SilenceError ? error : lost(error);
  }
};

/** What is taken of a file. */
export interface Part {
  /** Bytes to pass over first. */
  readonly skip: number;
  /** Bytes to take afterwards. */
  readonly length: number;
}

/**
 * Passes on what a server sends, as fast as `body` takes it. Only the server's silence counts, not the
 * reader's. Returns whether it was read to the server's end of it. @throws SilenceError, DataLostError
 */
export const receiveAll = async (
  data: Socket,
  body: Writable,
  { skip, length }: Part,
  silenceMs: number,
): Promise<boolean> => {
  const chunks = data.iterator() as AsyncIterator<Buffer, undefined>;
  const left = new AbortController();
  const leave = (): void => {
    left.abort();
    data.destroy();
  };
  body.once('close', leave);
  if (body.destroyed) leave();
  let [before, missing] = [skip, length];
  try {
    while (missing > 0) {
      const { done, value } = await inTime(chunks.next(), silenceMs);
      if (done === true) return true;
      const part = value.subarray(Math.min(before, value.length)).subarray(0, missing);
      before -= Math.min(before, value.length);
      missing -= part.length;
      if (part.length > 0 && !body.write(part)) await once(body, 'drain', { signal: left.signal });
    }
    return false;
  } catch (error) {
    throw error instanceof SilenceError ? error : lost(error);
  } finally {
    body.off('close', leave);
  }
};

/**
 * Sends chunks and the end of them; returns how many bytes they were. @throws SilenceError, DataLostError,
 * and what the chunks throw
 */
export const sendAll = async (
  data: Socket,
  chunks: AsyncIterable<Uint8Array>,
  silenceMs: number,
): Promise<number> => {
  const closed = new Promise<never>((_, reject) => {
    data.once('close', () => reject(lost(undefined)));
  });
  closed.catch(() => undefined);
  const until = async (event: 'drain' | 'finish'): Promise<void> => {
    const reached = once(data, event).catch((error: unknown) => Promise.reject(lost(error)));
    await inTime(Promise.race([reached, closed]), silenceMs);
  };
  let size = 0;
  for await (const chunk of chunks) {
    if (data.destroyed) throw lost(undefined);
    size += chunk.byteLength;
    if (!data.write(chunk)) await until('drain');
  }
  data.end();
  if (!data.writableFinished) await until('finish');
  return size;
};
