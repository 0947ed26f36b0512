import type { FTPResponse } from 'basic-ftp';
import type { SourcePath } from '../../../storage/source-path.ts';
import type { FtpConnection, Part, Received } from './connection.ts';
import { codeOf, errorOf, isFinalRefusal, isUnknownCommand } from './errors.ts';

/** Result of CWD: `real` the folder itself, `link` another folder through a link, `closed` rejected. */
export type Entered = 'real' | 'link' | 'closed';

/** The commands of one operation. After an abort, reading ones are abandoned, changing ones awaited. */
export class Commands {
  readonly connection: FtpConnection;
  readonly signal: AbortSignal | undefined;
  /** A command was sent that must not be repeated. */
  hasChanged = false;

  constructor(connection: FtpConnection, signal: AbortSignal | undefined) {
    this.connection = connection;
    this.signal = signal;
  }

  /** Sends commands that change something, never twice. @throws as errorOf, the signal's reason before */
  async change(path: SourcePath, ...texts: readonly [string, ...string[]]): Promise<void> {
    this.signal?.throwIfAborted();
    this.hasChanged = true;
    await this.#run(texts[0], path, () => this.connection.command(...texts));
  }

  /** Sends a command that only reads. @throws as errorOf, the signal's reason */
  ask(text: string): Promise<FTPResponse> {
    return this.#abortable(text, undefined, () => this.connection.command(text));
  }

  /** The response; undefined where the server rejects the command permanently. @throws UnsupportedError */
  async reply(text: string): Promise<FTPResponse | undefined> {
    return this.ask(text).catch((error: unknown) => {
      if (isUnknownCommand(error)) throw error;
      return ifFinal(error);
    });
  }

  /** The response; undefined where the server rejects or does not support the command. */
  async replyIfKnown(text: string): Promise<FTPResponse | undefined> {
    return this.ask(text).catch(ifFinal);
  }

  /**
   * Whether an error means that the server does not support a command. Servers respond in the same way to a
   * line that is too long for them, so a short one is tried too.
   */
  async isUnknown(verb: string, error: unknown): Promise<boolean> {
    if (!isUnknownCommand(error)) return false;
    try {
      await this.ask(`${verb} /.stowage`);
      return false;
    } catch (again) {
      if (codeOf(again) === undefined) throw again;
      return isUnknownCommand(again);
    }
  }

  /** Changes to a folder. When links were resolved, the server reports another path. */
  async enter(whole: string): Promise<Entered> {
    if ((await this.reply(`CWD ${whole}`)) === undefined) return 'closed';
    const { message } = (await this.replyIfKnown('PWD')) ?? { message: '' };
    // Not every server doubles the quotes in a name.
    const reals = whole.includes('"')
      ? [folderIn(message), /"(.*)"/u.exec(message)?.[1]]
      : [folderIn(message)];
    const isReal = reals.some(
      (real) => real?.replace(/(?<=.)\/$/u, '').normalize('NFC') === whole.normalize('NFC'),
    );
    return isReal || reals[0] === undefined ? 'real' : 'link';
  }

  async workingFolder(): Promise<string | undefined> {
    return folderIn((await this.replyIfKnown('PWD'))?.message);
  }

  list(text: string, folder: SourcePath): Promise<string> {
    return this.#abortable(text, folder, () => this.connection.list(text));
  }

  /** Downloads a file. An accepted download continues until its reader stops. */
  receive(path: SourcePath, whole: string, part: Part): Promise<Received> {
    return this.#abortable('RETR', path, () => this.connection.receive(whole, part));
  }

  /** Stores content; returns its length. @throws errors of the content, errorOf, the signal's reason */
  async store(path: SourcePath, whole: string, chunks: AsyncIterable<Uint8Array>): Promise<number> {
    let size = 0;
    let failure: readonly [unknown] | undefined;
    // When the content fails, the file just ends: the connection stays usable, and the caller removes the
    // file.
    const sent = async function* (): AsyncGenerator<Uint8Array, void, undefined> {
      try {
        for await (const chunk of chunks) {
          size += chunk.byteLength;
          yield chunk;
        }
      } catch (error) {
        failure = [error];
      }
    };
    this.signal?.throwIfAborted();
    this.hasChanged = true;
    await this.#abortable('STOR', path, () => this.connection.send(whole, sent()));
    if (failure !== undefined) throw failure[0];
    return size;
  }

  async #abortable<T>(text: string, path: SourcePath | undefined, work: () => Promise<T>): Promise<T> {
    // A late response would be taken for that of the next command, so the connection is closed.
    const leave = (): void => this.connection.close();
    this.signal?.throwIfAborted();
    this.signal?.addEventListener('abort', leave, { once: true });
    try {
      return await this.#run(text, path, work);
    } catch (error) {
      this.signal?.throwIfAborted();
      throw error;
    } finally {
      this.signal?.removeEventListener('abort', leave);
    }
  }

  async #run<T>(text: string, path: SourcePath | undefined, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw errorOf(`${text.split(' ', 1)[0] ?? ''} /${path?.toString() ?? ''}`, error);
    }
  }
}

/** For a rejected command: undefined where the server rejects it permanently. @throws any other error */
const ifFinal = (error: unknown): undefined => {
  if (!isFinalRefusal(error)) throw error;
};

const folderIn = (message = ''): string | undefined =>
  /^257 "((?:[^"]|"")*)"/u.exec(message)?.[1]?.replaceAll('""', '"');
