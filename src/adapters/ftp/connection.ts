import { PassThrough, type Readable } from 'node:stream';
import type { Socket } from 'node:net';
import { TLSSocket, type ConnectionOptions } from 'node:tls';
import type { Client, FTPResponse } from 'basic-ftp';
import { loadOptional } from '../../adapter-support/optional-package.ts';
import { StorageDeniedError } from '../../errors/errors.ts';
import type { PooledConnection } from '../../remote-store/connection-pool.ts';
import { inTime, LostConnectionError, SilenceError } from '../../remote-store/lost-connection.ts';
import { DataLostError, openData, portIn, receiveAll, secureData, sendAll } from './data.ts';
import { codeOf } from './errors.ts';
import { logIn, tlsOptionsOf } from './login.ts';
import type { FtpOptions } from './options.ts';
import { watchReplies } from './replies.ts';

/** How long a transfer that was broken off may take to be answered, before its connection is given up. */
const SETTLE_MS = 5000;

/** What a download takes of a file, and how far it runs ahead of its reader. */
export interface Wanted {
  /** First byte. Default: 0. */
  readonly offset?: number;
  /** Bytes. Default: all. */
  readonly length?: number;
  /** Bytes that are kept for a slow reader. */
  readonly ahead: number;
}

/** What a server sends. `ended` resolves when the connection is free again; it never rejects. */
export interface Received {
  readonly body: Readable;
  readonly ended: Promise<void>;
}

/** A control connection with its login. One command at a time: the others wait for their turn. */
export class FtpConnection implements PooledConnection {
  /** It has served an operation before, so that the server may have closed it meanwhile. */
  wasUsed = false;
  /** Whether the server may know MLSD and MLST. */
  hasFacts = true;
  readonly #client: Client;
  readonly #silenceMs: number;
  readonly #tls: ConnectionOptions | undefined;
  #session: Buffer | undefined;
  #turn: Promise<unknown> = Promise.resolve();
  #isAsked = true;
  #isOpen = true;
  /** Until it refuses, the server is asked by EPSV. */
  #isExtended = true;

  private constructor(client: Client, options: FtpOptions) {
    this.#client = client;
    this.#silenceMs = options.timeout * 1000;
    this.#tls = options.tls ? tlsOptionsOf(options) : undefined;
  }

  /**
   * Connects, encrypts where that is wanted, and logs in.
   * @throws UnsupportedError without the package; StorageDeniedError for a refused login; the signal's reason
   */
  static async open(options: FtpOptions, signal: AbortSignal): Promise<FtpConnection> {
    const { Client: FtpClient } = await loadOptional('FTP storage', 'basic-ftp', () => import('basic-ftp'));
    signal.throwIfAborted();
    // The library's own time limit counts any packet as an answer.
    const client = new FtpClient(0);
    const connection = new FtpConnection(client, options);
    const watch = (socket: Socket): void => {
      // TLS 1.2 has its session by now, 1.3 only later.
      if (socket instanceof TLSSocket) connection.#session = socket.getSession();
      socket.on('session', (session: Buffer) => (connection.#session = session));
      watchReplies(
        socket,
        () => connection.#isAsked,
        (reason) => connection.#end(reason),
      );
    };
    try {
      connection.hasFacts = await logIn(client, options, { signal, watch });
      connection.#isAsked = false;
      return connection;
    } catch (error) {
      connection.close();
      throw error;
    }
  }

  get isOpen(): boolean {
    return this.#isOpen && !this.#client.closed;
  }

  /** The library, for the listings of other kinds that it understands. */
  get client(): Client {
    return this.#client;
  }

  close(): void {
    this.#end(new LostConnectionError('the connection was closed'));
  }

  /**
   * Sends commands, each after the answer to the one before, and returns the last answer. Nothing is sent twice.
   * @throws what the server refused with, as the library tells it; SilenceError, LostConnectionError
   */
  command(...texts: readonly string[]): Promise<FTPResponse> {
    return this.#inTurn(async () => {
      let reply: FTPResponse = { code: 0, message: '' };
      for (const text of texts) reply = await this.#ask(text);
      return reply;
    });
  }

  /** Has the server send something. It has accepted the command when this resolves. @throws as command */
  receive(text: string, { offset = 0, length = Number.POSITIVE_INFINITY, ahead }: Wanted): Promise<Received> {
    const body = new PassThrough({ readableHighWaterMark: ahead });
    body.on('error', () => undefined);
    return new Promise((resolve, reject) => {
      const accept = (): void => resolve({ body, ended });
      const transfer = this.#inTurn(() =>
        this.#transfer(text, offset, async (data, skip) => {
          accept();
          return receiveAll(data, body, { skip, length }, this.#silenceMs);
        }),
      );
      // The end of a file is believed when the server has confirmed it.
      const ended = transfer.then(
        () => void body.end(),
        (error: Error) => {
          body.destroy(error);
          reject(error);
        },
      );
    });
  }

  /** Sends content; returns its length. The signal ends it also while the server takes nothing. */
  send(text: string, chunks: AsyncIterable<Uint8Array>, signal: AbortSignal | undefined): Promise<number> {
    return this.#inTurn(async () => {
      let size = 0;
      let leave = (): void => this.close();
      const abort = (): void => leave();
      signal?.addEventListener('abort', abort, { once: true });
      try {
        await this.#transfer(text, 0, async (data) => {
          leave = () => void data.destroy();
          size = await sendAll(data, chunks, this.#silenceMs);
          return true;
        });
        return size;
      } finally {
        signal?.removeEventListener('abort', abort);
      }
    });
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const run = async (): Promise<T> => {
      if (!this.isOpen) throw new LostConnectionError('the connection was lost before');
      this.#isAsked = true;
      try {
        return await work();
      } catch (error) {
        // Nobody knows what its next answer would belong to.
        if (error instanceof SilenceError) this.#end(error);
        // The server says good-bye.
        if (codeOf(error) === 421) this.#end(new LostConnectionError('the server ends the connection'));
        throw codeOf(error) === 421
          ? new LostConnectionError('the server ends the connection', { cause: error })
          : error;
      } finally {
        this.#isAsked = false;
      }
    };
    const turn = this.#turn.then(run);
    this.#turn = turn.catch(() => undefined);
    return turn;
  }

  async #ask(text: string): Promise<FTPResponse> {
    requireOneLine(text);
    return inTime(this.#client.ftp.request(text), this.#silenceMs);
  }

  async #openData(): Promise<Socket> {
    const control = this.#client.ftp.socket;
    if (this.#isExtended) {
      try {
        const { message } = await this.#ask('EPSV');
        return await openData(control, portIn(message), this.#silenceMs);
      } catch (error) {
        if (codeOf(error) === undefined) throw error;
        this.#isExtended = false;
      }
    }
    const { message } = await this.#ask('PASV');
    return openData(control, portIn(message), this.#silenceMs);
  }

  /**
   * Runs a command with a data connection: `move` is called when the server has accepted the command, and
   * returns whether it has seen the data to its end. What the server answers at last decides.
   */
  async #transfer(
    text: string,
    offset: number,
    move: (data: Socket, skip: number) => Promise<boolean>,
  ): Promise<void> {
    requireOneLine(text);
    let data = await this.#openData();
    let ended: Promise<unknown> = Promise.resolve();
    try {
      const skip = offset === 0 || (await this.#restartAt(offset)) ? 0 : offset;
      const transfer = this.#begin(text);
      ended = transfer.ended;
      await inTime(Promise.race([transfer.accepted, ended]), this.#silenceMs);
      if (this.#tls !== undefined) data = await this.#secure(data, this.#tls);
      ended.catch(() => data.destroy());
      if (await move(data, skip)) return await inTime(ended, this.#silenceMs).then(() => undefined);
      await this.#breakOff(data, ended);
    } catch (error) {
      const refusal = await this.#breakOff(data, ended);
      throw error instanceof DataLostError && refusal !== undefined ? refusal : error;
    }
  }

  /** Whether the server goes on from that byte. */
  async #restartAt(offset: number): Promise<boolean> {
    try {
      return (await this.#ask(`REST ${String(offset)}`)).code === 350;
    } catch (error) {
      if (codeOf(error) === undefined) throw error;
      return false;
    }
  }

  #begin(text: string): { readonly accepted: Promise<void>; readonly ended: Promise<FTPResponse> } {
    let accept = (): void => undefined;
    const accepted = new Promise<void>((resolve) => (accept = resolve));
    const ended = this.#client.ftp.handle(text, (reply, task) => {
      if (reply instanceof Error) task.reject(reply);
      else if (reply.code < 200) accept();
      else if (reply.code < 300) task.resolve(reply);
      else task.reject(new LostConnectionError(`an answer of another kind: ${String(reply.code)}`));
    }) as Promise<FTPResponse>;
    ended.catch(() => undefined);
    return { accepted, ended };
  }

  /** Ends a transfer in its midst; returns a refusal. */
  async #breakOff(data: Socket, ended: Promise<unknown>): Promise<unknown> {
    data.destroy();
    const refusal = await this.#settle(ended);
    // Servers forget a session of TLS 1.2 with it, and take no data without one.
    const control = this.#client.ftp.socket;
    if (control instanceof TLSSocket && control.getProtocol() === 'TLSv1.2')
      this.#end(new LostConnectionError('a transfer in TLS 1.2 was broken off'));
    return refusal;
  }

  /** Waits for the answer to what was broken off; returns a refusal. Without an answer the connection ends. */
  async #settle(ended: Promise<unknown>): Promise<unknown> {
    try {
      await inTime(ended, Math.min(SETTLE_MS, this.#silenceMs));
      return undefined;
    } catch (error) {
      if (codeOf(error) !== undefined) return error;
      this.#end(new LostConnectionError('a transfer that was broken off was not answered'));
      return undefined;
    }
  }

  /** Servers want the session of the control connection, or the newest of it, which nobody else can have. */
  async #secure(data: Socket, tls: ConnectionOptions): Promise<Socket> {
    const secure = await secureData(data, { ...tls, session: this.#session }, this.#silenceMs);
    secure.on('session', (session) => (this.#session = session));
    return secure;
  }

  #end(reason: Error): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#client.ftp.closeWithError(reason);
  }
}

/** What ends a command would begin another one. */
const requireOneLine = (text: string): void => {
  if (/[\r\n\0]/u.test(text)) throw new StorageDeniedError({ detail: 'a line break or NUL in a command' });
};
