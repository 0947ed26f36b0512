import type { ListedEntry } from '../paths/session.ts';
import type { SourcePath } from '../../../storage/source-path.ts';
import type { Commands } from './commands.ts';
import { errorOf, isPlainRefusal, isUnknownCommand } from './errors.ts';
import { entriesIn, entryOfFacts, entryOfText, linesOf, showsLink } from './listing.ts';

/** What is known of a server, found out by use. */
export interface Dialect {
  /** MLSD and MLST of RFC 3659; else LIST. */
  hasFacts: boolean;
  /** STAT shows a file as `ls` does. */
  hasStat: boolean;
  /** How LIST shows hidden names too; undefined: not known yet. */
  list: 'LIST' | 'LIST -a' | undefined;
}

/** The listings of one session, in the way that its server knows. They are of the folder that was entered last. */
export class Listings {
  readonly #commands: Commands;
  readonly #dialect: Dialect;

  constructor(commands: Commands, dialect: Dialect) {
    this.#commands = commands;
    this.#dialect = dialect;
  }

  /** Has the server list the folder; the entries are those of that moment. */
  async entries(folder: SourcePath): Promise<AsyncGenerator<readonly ListedEntry[], void, undefined>> {
    const text = await this.#list(folder);
    const parse = this.#dialect.hasFacts ? entryOfFacts : this.#entryOfText;
    return this.#entriesIn(text, parse, folder);
  }

  /** The lines of LIST with hidden names; none where the server refuses that. */
  async lines(folder: SourcePath): Promise<readonly string[]> {
    try {
      return linesOf(await this.#commands.list('LIST -a', folder));
    } catch (error) {
      if (!isPlainRefusal(error) && !isUnknownCommand(error)) throw error;
      return [];
    }
  }

  /** The names of links in a folder, where LIST tells of them and MLSD may not. */
  async links(folder: SourcePath, whole: string): Promise<ReadonlySet<string>> {
    if (!this.#dialect.hasFacts || (await this.#commands.enter(whole)) !== 'real') return new Set();
    const links = (await this.lines(folder)).filter((line) => showsLink(line));
    return new Set(links.map((line) => this.#entryOfText(line)?.written ?? ''));
  }

  readonly #entryOfText = (line: string): ListedEntry | undefined =>
    entryOfText(line, this.#commands.connection.parseLine);

  async #list(folder: SourcePath): Promise<string> {
    if (this.#dialect.hasFacts) {
      try {
        return await this.#commands.list('MLSD', folder);
      } catch (error) {
        if (!isUnknownCommand(error)) throw error;
        this.#dialect.hasFacts = false;
      }
    }
    // Whether `-a` is understood shows in the folder itself, which is listed then too.
    if (this.#dialect.list === undefined) {
      const showsItself = (await this.lines(folder)).some((line) => / \.$/u.test(line));
      this.#dialect.list ??= showsItself ? 'LIST -a' : 'LIST';
    }
    return this.#commands.list(this.#dialect.list, folder);
  }

  async *#entriesIn(
    text: string,
    parse: (line: string) => ListedEntry | undefined,
    folder: SourcePath,
  ): AsyncGenerator<readonly ListedEntry[], void, undefined> {
    try {
      yield* entriesIn(text, parse);
    } catch (error) {
      throw errorOf(`list /${folder.toString()}`, error);
    }
  }
}
