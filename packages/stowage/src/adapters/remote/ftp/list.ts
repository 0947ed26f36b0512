import { setImmediate } from 'node:timers/promises';
import type { FileInfo } from 'basic-ftp';
import { type Found, type ListedEntry, ROOT } from '../paths/session.ts';
import type { SourcePath } from '../../../storage/source-path.ts';
import type { Commands } from './requests.ts';
import { errorOf, isPlainRefusal, isUnknownCommand } from './errors.ts';

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
    const lines = linesOf(await this.#list(folder));
    return entriesIn(lines, this.#dialect.hasFacts ? entryOfFacts : this.#entryOfText, folder);
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
}

/** Characters of one line: a name has 255 bytes, facts have less. */
const LONGEST = 8192;

const PAGE = 1000;

/** A length in bytes; undefined for anything but digits. */
export const sizeIn = (text: string | undefined): number | undefined =>
  text !== undefined && /^\d{1,15}$/u.test(text) ? Number(text) : undefined;

/** A time of RFC 3659, `20260131235959.123`, in milliseconds since 1970. */
export const timeIn = (text: string | undefined): number | undefined => {
  const [, year, month, day, hour, minute, second, fraction = ''] =
    /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(?:\.(\d+))?$/u.exec(text ?? '') ?? [];
  if (year === undefined) return undefined;
  const date = Date.UTC(
    Number(year),
    Number(month) - 1,
    Number(day),
    Number(hour),
    Number(minute),
    Number(second),
  );
  return date + Number(fraction.padEnd(3, '0').slice(0, 3));
};

/** What the facts of RFC 3659, `type=file;size=5;`, say; undefined for the folder itself and the one above. */
export const foundFrom = (facts: string): Found | undefined => {
  const values = new Map<string, string>();
  for (const fact of facts.split(';')) {
    const at = fact.indexOf('=');
    if (at > 0) values.set(fact.slice(0, at).trim().toLowerCase(), fact.slice(at + 1));
  }
  const type = values.get('type')?.toLowerCase();
  if (type === 'cdir' || type === 'pdir') return undefined;
  const modifiedAt = timeIn(values.get('modify'));
  if (type === 'dir') return { ...ROOT, modifiedAt };
  if (type !== 'file') return { ...ROOT, kind: 'other' };
  return { ...ROOT, kind: 'file', size: sizeIn(values.get('size')), modifiedAt };
};

/** An entry in a line of MLSD. */
const entryOfFacts = (line: string): ListedEntry | undefined => {
  const at = line.indexOf(' ');
  const found = at < 0 ? undefined : foundFrom(line.slice(0, at));
  return found === undefined ? undefined : { written: line.slice(at + 1), found };
};

/** `lrwxrwxrwx`, by which `ls` and many servers after it begin a line. */
const MODE = /^([-dlbcps])[-rwxsStTlL]{9}/u;

/** Whether a line as of `ls` shows a link; of that name, where one is given. */
export const showsLink = (line: string, name?: string): boolean =>
  MODE.exec(line.trimStart())?.[1] === 'l' && (name === undefined || isLineOf(line, name));

const isLineOf = (line: string, name: string): boolean =>
  line.endsWith(` ${name}`) || line.includes(` ${name} -> `);

/** What an answer to STAT shows at a path or name: a link, anything else, only other entries, or none at all. */
export const shownByStat = (
  answer: string,
  names: readonly string[],
): 'link' | 'no link' | 'others' | 'nothing' => {
  const shown = answer.split('\n').filter((line) => MODE.test(line.trimStart()));
  const own = shown.filter((line) => names.some((name) => isLineOf(line, name)));
  if (own.length > 0) return own.some((line) => showsLink(line)) ? 'link' : 'no link';
  return shown.length > 0 ? 'others' : 'nothing';
};

/** How `ls` begins a listing, in the language of its server. */
const TOTAL = /^\p{L}+:? \d+$/u;

/**
 * An entry in a line of LIST, as `ls` or DOS have it. Such lines tell no time that is sure: they leave out
 * year, seconds and time zone.
 * @param parse the library's; throws for what it does not know
 */
const entryOfText = (line: string, parse: (text: string) => readonly FileInfo[]): ListedEntry | undefined => {
  if (TOTAL.test(line)) return undefined;
  const [info] = parse(line);
  if (info === undefined || info.name === '.' || info.name === '..') return undefined;
  const [, mode = '-'] = MODE.exec(line) ?? [];
  if (info.isDirectory && mode !== 'l') return { written: info.name, found: ROOT };
  const isFile = info.isFile && mode === '-';
  return {
    written: info.name,
    found: { ...ROOT, kind: isFile ? 'file' : 'other', size: isFile ? info.size : undefined },
  };
};

/** The lines of a listing. */
const linesOf = (text: string): readonly string[] => text.split(/\r?\n/u).filter(Boolean);

/**
 * The entries of a listing, some at a time so that others get their turn. A line that is not understood stands
 * for something that is left out. @throws as errorOf, where no line at all is understood
 */
async function* entriesIn(
  lines: readonly string[],
  parse: (line: string) => ListedEntry | undefined,
  folder: SourcePath,
): AsyncGenerator<readonly ListedEntry[], void, undefined> {
  let isUnderstood = false;
  let problem: unknown;
  const entryIn = (line: string): readonly ListedEntry[] => {
    try {
      if (line.length > LONGEST) throw new Error('a line of a listing is too long');
      const entry = parse(line);
      isUnderstood ||= line.trim() !== '';
      return entry === undefined ? [] : [entry];
    } catch (error) {
      problem ??= error;
      return [{ written: line, found: { ...ROOT, kind: 'other' } }];
    }
  };
  for (let start = 0; start < lines.length; start += PAGE) {
    const page = lines.slice(start, start + PAGE).flatMap(entryIn);
    if (page.length > 0) yield page;
    await setImmediate();
  }
  if (problem !== undefined && !isUnderstood) throw errorOf(`list /${folder.toString()}`, problem);
}
