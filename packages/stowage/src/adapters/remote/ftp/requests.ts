import type { FTPResponse } from 'basic-ftp';
import type { SourcePath } from '../../../storage/source-path.ts';
import type { FtpConnection, Part, Received } from './connection.ts';
import { codeOf, errorOf, isFinalRefusal, isUnknownCommand } from './errors.ts';

/** Where a CWD has led: `link` to somewhere else, `closed` nowhere. */
export type Entered = 'real' | 'link' | 'closed';

/**
 * The commands of one operation, by the errors of this package. What only looks is given up when the signal
 * aborts; what changes something is waited for.
 */
export class Commands {
  readonly connection: FtpConnection;
  readonly signal: AbortSignal | undefined;
  /** Something was asked for that must not be asked for twice. */
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

  /** Sends what only looks. @throws as errorOf, the signal's reason */
  ask(text: string): Promise<FTPResponse> {
    return this.#look(text, undefined, () => this.connection.command(text));
  }

  /**
   * The answer; undefined where the server refuses it, not only for the moment: nothing is known then.
   * @throws UnsupportedError for an unknown command
   */
  async answer(text: string): Promise<FTPResponse | undefined> {
    try {
      return await this.ask(text);
    } catch (error) {
      if (!isFinalRefusal(error) || isUnknownCommand(error)) throw error;
      return undefined;
    }
  }

  /** The answer; undefined where the server refuses it or does not know the command. */
  async answerIfKnown(text: string): Promise<FTPResponse | undefined> {
    try {
      return await this.answer(text);
    } catch (error) {
      if (!isUnknownCommand(error)) throw error;
      return undefined;
    }
  }

  /**
   * Whether an error says that the server does not know a command. Servers refuse a line that is too long for
   * them in the same words, so a short one is tried too.
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

  /** Goes to a folder. A server that resolves links calls it by another name then. */
  async enter(whole: string): Promise<Entered> {
    if ((await this.answer(`CWD ${whole}`)) === undefined) return 'closed';
    const { message } = (await this.answerIfKnown('PWD')) ?? { message: '' };
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
    return folderIn((await this.answerIfKnown('PWD'))?.message);
  }

  /** What the server sends of the folder that was entered last. */
  list(text: string, folder: SourcePath): Promise<string> {
    return this.#look(text, folder, () => this.connection.list(text));
  }

  /** Has the server send a file. What it has accepted goes on until its reader leaves. */
  receive(path: SourcePath, whole: string, part: Part): Promise<Received> {
    return this.#look('RETR', path, () => this.connection.receive(whole, part));
  }

  /** Stores content; returns its length. @throws what the content throws, errorOf, the signal's reason */
  async store(path: SourcePath, whole: string, chunks: AsyncIterable<Uint8Array>): Promise<number> {
    let size = 0;
    let failure: readonly [unknown] | undefined;
    // The file ends where content fails, so that the connection goes on; the caller removes it.
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
    await this.#look('STOR', path, () => this.connection.send(whole, sent()));
    if (failure !== undefined) throw failure[0];
    return size;
  }

  async #look<T>(text: string, path: SourcePath | undefined, work: () => Promise<T>): Promise<T> {
    // The answer would be taken for that of the next command: the connection goes.
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

const folderIn = (message = ''): string | undefined =>
  /^257 "((?:[^"]|"")*)"/u.exec(message)?.[1]?.replaceAll('""', '"');
