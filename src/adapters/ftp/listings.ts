import { errorOf, isPlainRefusal, isUnknownCommand } from './errors.ts';
import type { ListedEntry } from '../../remote-store/paths/session.ts';
import type { SourcePath } from '../../storage/source-path.ts';
import type { Commands } from './commands.ts';
import type { Received } from './connection.ts';
import type { Dialect } from './dialect.ts';
import { entriesIn, entryOfFacts, entryOfText, linesOf, showsLink } from './listing.ts';

/** Bytes of a listing that are kept for its reader: some 100,000 entries, with which the connection is free. */
const LISTED_AHEAD = 16 * 1024 * 1024;

/** The listings of one session, in the way that its server knows. They are of the folder that was entered last. */
export class Listings {
  readonly #commands: Commands;
  readonly #dialect: Dialect;

  constructor(commands: Commands, dialect: Dialect) {
    this.#commands = commands;
    this.#dialect = dialect;
  }

  /** Has the server list the folder. */
  async open(folder: SourcePath): Promise<Received> {
    if (this.#dialect.hasFacts) {
      try {
        return await this.#commands.receive('MLSD', folder, { ahead: LISTED_AHEAD });
      } catch (error) {
        if (!isUnknownCommand(error)) throw error;
        this.#dialect.hasFacts = false;
      }
    }
    return this.#commands.receive(await this.#command(folder), folder, { ahead: LISTED_AHEAD });
  }

  /** Whether `-a` is understood shows in the folder itself, which is listed then too. */
  async #command(folder: SourcePath): Promise<'LIST' | 'LIST -a'> {
    if (this.#dialect.list !== undefined) return this.#dialect.list;
    let showsItself = false;
    for await (const line of this.lines(folder)) showsItself ||= / \.$/u.test(line);
    return (this.#dialect.list ??= showsItself ? 'LIST -a' : 'LIST');
  }

  /** The lines of LIST with hidden names; none where the server refuses that. */
  async *lines(folder: SourcePath): AsyncGenerator<string, void, undefined> {
    try {
      const { body } = await this.#commands.receive('LIST -a', folder, { ahead: LISTED_AHEAD });
      for await (const lines of linesOf(body as AsyncIterable<Buffer>)) yield* lines;
    } catch (error) {
      if (!isPlainRefusal(error) && !isUnknownCommand(error)) throw errorOf('LIST', error);
    }
  }

  /** What a listing that was opened shows. */
  async *entries(
    body: Received['body'],
    folder: SourcePath,
  ): AsyncGenerator<readonly ListedEntry[], void, undefined> {
    const parse = this.#dialect.hasFacts
      ? entryOfFacts
      : (line: string) => entryOfText(line, this.#commands.connection.client.parseList);
    try {
      yield* entriesIn(body as AsyncIterable<Buffer>, parse);
    } catch (error) {
      this.#commands.signal?.throwIfAborted();
      throw errorOf(`list /${folder.toString()}`, error);
    }
  }

  /** The names of links in a folder, where LIST tells of them and MLSD may not. */
  async links(folder: SourcePath, whole: string): Promise<ReadonlySet<string>> {
    const links = new Set<string>();
    if (!this.#dialect.hasFacts || (await this.#commands.enter(whole)) !== 'real') return links;
    for await (const line of this.lines(folder))
      if (showsLink(line))
        links.add(entryOfText(line, this.#commands.connection.client.parseList)?.written ?? '');
    return links;
  }
}
