import type { FTPResponse } from 'basic-ftp';
import type { SourcePath } from '../../storage/source-path.ts';
import type { FtpConnection, Received, Wanted } from './connection.ts';
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
  ask(text: string, path?: SourcePath): Promise<FTPResponse> {
    return this.#look(text, path, () => this.connection.command(text));
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
    const isReal = reals.some((real) => real?.normalize('NFC') === whole.normalize('NFC'));
    return isReal || reals[0] === undefined ? 'real' : 'link';
  }

  /** Where the server says that it is. */
  async workingFolder(): Promise<string | undefined> {
    return folderIn((await this.answerIfKnown('PWD'))?.message);
  }

  /** Has the server send something, until the signal aborts. */
  async receive(text: string, path: SourcePath, wanted: Wanted): Promise<Received> {
    const received = await this.#look(text, path, () => this.connection.receive(text, wanted));
    const leave = (): void => void received.body.destroy(this.signal?.reason as Error);
    this.signal?.addEventListener('abort', leave, { once: true });
    void received.ended.finally(() => this.signal?.removeEventListener('abort', leave));
    return received;
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

/** The folder that an answer to PWD names. */
const folderIn = (message = ''): string | undefined =>
  /^257 "((?:[^"]|"")*)"/u.exec(message)?.[1]?.replaceAll('""', '"');
