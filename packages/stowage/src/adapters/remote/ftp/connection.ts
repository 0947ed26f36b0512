import { PassThrough, Readable, Writable } from 'node:stream';
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import type { Client, FTPResponse, RawListParser } from 'basic-ftp';
import { importOptional } from '../../../errors/optional-package.ts';
import { orAborted } from '../../../basics/concurrency/abort.ts';
import { inTime, LostConnectionError, type PooledConnection } from '../core/connections.ts';
import { createDataStrategy, type DataDialect, logIn } from './login.ts';
import { codeOf, errorOf } from './errors.ts';
import type { FtpOptions } from './options.ts';

/** Longest wait for the response to an aborted transfer, before its connection is given up. */
const SETTLE_MS = 5000;
/** Maximum characters of one response. */
const LONGEST_REPLY = 64 * 1024;
/** Maximum bytes of a listing, which is kept in memory: some 600,000 entries. */
const LONGEST_LISTING = 64 * 1024 * 1024;
/** Stands for the entries that a server has not listed. */
const OTHERS = '\r\ntype=other; /';
/** The rejection of a listing by which some servers report an empty folder. */
const EMPTY = /\bno (?:files|members|data sets) found\.?\s*$/iu;
/** Pause on the control connection, which is silent during transfers, before TCP shows that it is in use. */
const KEEP_ALIVE_MS = 60_000;
/** Bytes of a file that are buffered for a slow reader: smaller files release their connection without it. */
const READ_AHEAD = 256 * 1024;

export interface Part {
  readonly offset: number;
  /** Bytes; Infinity for all that follow. */
  readonly length: number;
}

/** A running download. `ended` resolves when the connection is free again; it never rejects. */
export interface Received {
  readonly body: Readable;
  readonly ended: Promise<void>;
}

/** A control connection with its login. Runs one command at a time; others are queued. */
export class FtpConnection implements PooledConnection {
  /** It was used by an earlier operation, so the server may have closed it since. */
  wasUsed = false;
  /** Whether the server may support MLSD and MLST. */
  hasFacts = true;
  readonly parseLine: RawListParser;
  readonly #client: Client;
  #turn: Promise<unknown> = Promise.resolve();
  #isAsked = true;
  /** The last command has its final response. */
  #hasReply = true;
  #listing = '';
  /** The server has said of the last listing that it is not whole. */
  #isCut = false;

  private constructor(client: Client, dialect: DataDialect) {
    this.#client = client;
    this.parseLine = client.parseList;
    client.parseList = (text) => {
      this.#listing = text;
      return [];
    };
    const openData = createDataStrategy(dialect);
    client.prepareTransfer = async (ftp) => {
      const reply = await openData(ftp);
      this.#hasReply = false;
      return reply;
    };
    const { ftp } = client;
    const handle = ftp.handle.bind(ftp);
    ftp.handle = (command, heard) =>
      handle(command, (reply, task) => {
        this.#hasReply ||= reply instanceof Error || (reply.code >= 200 && reply.code < 300);
        this.#isCut ||= /^226[^]*\btruncated to \d/u.test(reply.message);
        heard(reply, task);
      });
  }

  /**
   * Connects, starts TLS where it is configured, and logs in.
   * @throws UnsupportedError without the package; StorageDeniedError for a rejected login; the signal's
   * reason
   */
  static async open(options: FtpOptions, signal: AbortSignal, dialect: DataDialect): Promise<FtpConnection> {
    const { Client: FtpClient } = await importOptional('FTP storage', 'basic-ftp', () => import('basic-ftp'));
    signal.throwIfAborted();
    const timeoutMs = options.timeout * 1000;
    const client = new FtpClient(timeoutMs, { maxListingBytes: LONGEST_LISTING });
    const connection = new FtpConnection(client, dialect);
    try {
      const login = logIn(client, options, (socket) => connection.#watch(socket));
      connection.hasFacts = await inTime(orAborted(login, signal), timeoutMs);
      connection.#isAsked = false;
      return connection;
    } catch (error) {
      connection.close();
      throw errorOf('the login', error);
    }
  }

  get isOpen(): boolean {
    return !this.#client.closed;
  }

  close(): void {
    this.#end('the connection was closed');
  }

  /**
   * Sends commands, each after the previous response, and returns the last response. Sends nothing twice.
   * @throws the library's error for a rejection by the server; LostConnectionError
   */
  command(...texts: readonly string[]): Promise<FTPResponse> {
    return this.#inTurn(async () => {
      let reply: FTPResponse = { code: 0, message: '' };
      for (const text of texts) reply = await this.#client.ftp.request(text);
      return reply;
    });
  }

  /**
   * The text of MLSD or LIST, after the server has confirmed that it is complete. Where the server says that
   * it lists only so many entries, a line without a file stands for the others. @throws as command
   */
  list(command: string): Promise<string> {
    return this.#inTurn(async () => {
      this.#client.availableListCommands = [command];
      this.#isCut = false;
      await this.#transfer(() => this.#client.list()).catch((error: unknown) => {
        if (codeOf(error) === undefined || !EMPTY.test((error as Error).message)) throw error;
        this.#listing = '';
      });
      return this.#isCut ? this.#listing + OTHERS : this.#listing;
    });
  }

  /** Starts the download of a file. Resolves when the server has accepted the command. @throws as command */
  receive(path: string, { offset, length }: Part): Promise<Received> {
    const body = new PassThrough({ readableHighWaterMark: READ_AHEAD });
    body.on('error', () => undefined);
    return new Promise((resolve, reject) => {
      let hasBegun = false;
      const download = async (start: number): Promise<void> => {
        const sink = passPart(body, { offset: offset - start, length });
        sink.once('pipe', () => {
          hasBegun = true;
          resolve({ body, ended });
        });
        await this.#transfer(() => this.#client.downloadTo(sink, path, start));
      };
      const transfer = this.#inTurn(() =>
        download(offset).catch((error: unknown) => {
          // Not every server can start in the middle of a file.
          if (offset === 0 || hasBegun || codeOf(error) === undefined) throw error;
          return download(0);
        }),
      );
      // The end of a file counts only when the server has confirmed it.
      const ended = transfer.then(
        () => void body.end(),
        (error: Error) => {
          // A complete part ends before the server's response.
          if (!body.writableEnded) body.destroy(error);
          reject(error);
        },
      );
    });
  }

  /** Sends content, whose errors are left to the caller. @throws as command */
  send(path: string, chunks: AsyncIterable<Uint8Array>): Promise<void> {
    const content = Readable.from(this.#onceSecured(chunks), { objectMode: false });
    const sending = this.#inTurn(() => this.#transfer(() => this.#client.uploadFrom(content, path)));
    return sending.finally(() => void content.destroy());
  }

  /**
   * Waits for the TLS handshake before sending: the library treats a resumed session as completed, so the end
   * of an empty file could overtake the handshake or its last packet.
   */
  async *#onceSecured(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
    const data = this.#client.ftp.dataSocket;
    if (data instanceof TLSSocket) {
      if (data.getFinished() === undefined)
        await new Promise((resolve) => data.once('secureConnect', resolve).once('close', resolve));
      await new Promise((resolve) => data.write('', resolve));
    }
    yield* chunks;
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const run = async (): Promise<T> => {
      if (!this.isOpen) throw new LostConnectionError('the connection was lost before');
      this.#isAsked = true;
      try {
        return await work();
      } catch (error) {
        if (codeOf(error) !== 421) throw error;
        // The server closes the connection.
        this.#end('the server ends the connection');
        throw new LostConnectionError('the server ends the connection', { cause: error });
      } finally {
        this.#isAsked = false;
      }
    };
    const turn = this.#turn.then(run);
    this.#turn = turn.catch(() => undefined);
    return turn;
  }

  /** Runs a transfer. After an abort, waits for the server's response, whose rejection holds the reason. */
  async #transfer(work: () => Promise<unknown>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (this.#hasReply) throw error;
      const refusal = await this.#settle();
      throw refusal ?? error;
    }
  }

  /** Waits for the response to an aborted transfer; returns a rejection. Disconnects without a response. */
  async #settle(): Promise<unknown> {
    const { ftp } = this.#client;
    try {
      const replied = ftp.handle(undefined, (reply, task) => {
        if (reply instanceof Error) task.reject(reply);
        else if (reply.code >= 200) task.resolve(reply);
      });
      await inTime(replied, Math.min(SETTLE_MS, ftp.timeout));
      return undefined;
    } catch (error) {
      if (codeOf(error) !== undefined) return error;
      this.#end('a transfer that was broken off got no reply');
      return undefined;
    } finally {
      // Servers drop the TLS 1.2 session with it, and accept no data connection without one.
      if (ftp.socket instanceof TLSSocket && ftp.socket.getProtocol() === 'TLSv1.2')
        this.#end('a transfer in TLS 1.2 was broken off');
    }
  }

  /**
   * Passes responses to the library in complete lines: the library treats the end of a packet as the end of a
   * line, but a slow network can split lines anywhere. Closes the connection for a response without a
   * command, or one that does not end: later data would be taken for the response to another command.
   */
  #watch(socket: Socket): void {
    socket.setKeepAlive(true, KEEP_ALIVE_MS);
    const listeners = socket.listeners('data') as ((text: string) => void)[];
    for (const listener of listeners) socket.off('data', listener);
    let rest = '';
    socket.on('data', (chunk: Buffer | string) => {
      if (!this.#isAsked) return this.#end('the server has said what it was not asked for');
      rest += chunk.toString();
      if (rest.length > LONGEST_REPLY) return this.#end('a reply of the server does not end');
      const length = rest.lastIndexOf('\n') + 1;
      const lines = rest.slice(0, length);
      rest = rest.slice(length);
      if (lines !== '') for (const listener of listeners) listener.call(socket, lines);
    });
  }

  #end(reason: string): void {
    this.#client.ftp.closeWithError(new LostConnectionError(reason));
  }
}

/** Passes a part of the written data to a body, with backpressure, and ends when the part is complete. */
const passPart = (body: PassThrough, { offset, length }: Part): Writable => {
  let [before, missing] = [offset, length];
  const sink = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      const part = chunk.subarray(Math.min(before, chunk.length)).subarray(0, missing);
      before -= Math.min(before, chunk.length);
      missing -= part.length;
      const hasRoom = body.write(part);
      if (missing <= 0) {
        body.end();
        sink.destroy();
      } else if (hasRoom) done();
      else body.once('drain', done);
    },
  });
  // The reader stopped.
  body.once('close', () => void sink.destroy());
  return sink;
};
