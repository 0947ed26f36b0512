import { setImmediate } from 'node:timers/promises';
import type { FileInfo } from 'basic-ftp';
import { lengthOf } from '../core/http.ts';
import { type Found, type ListedEntry, ROOT } from '../paths/session.ts';
import type { SourcePath } from '../../../storage/source-path.ts';
import type { DataDialect } from './login.ts';
import type { Commands } from './requests.ts';
import { errorOf, isPlainRefusal, isUnknownCommand } from './errors.ts';

/** Capabilities of a server, detected in use. */
export interface Dialect extends DataDialect {
  /** MLSD and MLST of RFC 3659; else LIST. */
  hasFacts: boolean;
  /** STAT shows a file in the format of `ls`. */
  hasStat: boolean;
  /** The form of LIST that includes hidden names; undefined until detected. */
  list: 'LIST' | 'LIST -a' | undefined;
}

/** The listings of one session, of the current folder, with the commands that its server supports. */
export const createListings = (commands: Commands, dialect: Dialect) => {
  const entryOfLine = (line: string): ListedEntry | undefined =>
    entryOfText(line, commands.connection.parseLine);
  /** The lines of LIST with hidden names; none where the server rejects that. */
  const lines = async (folder: SourcePath): Promise<readonly string[]> => {
    try {
      return linesOf(await commands.list('LIST -a', folder));
    } catch (error) {
      if (!isPlainRefusal(error) && !isUnknownCommand(error)) throw error;
      return [];
    }
  };
  const list = async (folder: SourcePath): Promise<string> => {
    if (dialect.hasFacts) {
      try {
        return await commands.list('MLSD', folder);
      } catch (error) {
        if (!isUnknownCommand(error)) throw error;
        dialect.hasFacts = false;
      }
    }
    // Support of `-a` shows in the folder itself, which is then listed too.
    if (dialect.list === undefined) {
      const showsItself = (await lines(folder)).some((line) => / \.$/u.test(line));
      dialect.list ??= showsItself ? 'LIST -a' : 'LIST';
    }
    return commands.list(dialect.list, folder);
  };
  return {
    lines,
    /** Lists the folder; the entries are a snapshot. */
    entries: async (folder: SourcePath): Promise<AsyncGenerator<readonly ListedEntry[], void, undefined>> => {
      const found = linesOf(await list(folder));
      return entriesIn(found, dialect.hasFacts ? entryOfFacts : entryOfLine, folder);
    },
    /** The names of links in a folder, where LIST shows them and MLSD may not. */
    links: async (folder: SourcePath, whole: string): Promise<ReadonlySet<string>> => {
      if (!dialect.hasFacts || (await commands.enter(whole)) !== 'real') return new Set();
      const links = (await lines(folder)).filter((line) => showsLink(line));
      return new Set(links.map((line) => entryOfLine(line)?.written ?? ''));
    },
  };
};

/** Maximum characters of one line: a name has 255 bytes, facts are shorter. */
const LONGEST = 8192;

const PAGE = 1000;

/** A time of RFC 3659, `20260131235959.123`, in milliseconds since 1970. */
export const timeIn = (text: string | undefined): number | undefined => {
  const found = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(?:\.(\d+))?$/u.exec(text ?? '');
  if (found === null) return undefined;
  const [year = 0, month = 0, day, hour, minute, second] = found.slice(1, 7).map(Number);
  const milliseconds = Number((found[7] ?? '').padEnd(3, '0').slice(0, 3));
  return Date.UTC(year, month - 1, day, hour, minute, second, milliseconds);
};

/** Parses facts of RFC 3659, `type=file;size=5;`; undefined for the folder itself and its parent. */
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
  return { ...ROOT, kind: 'file', size: lengthOf(values.get('size')), modifiedAt };
};

/** Parses a line of MLSD. */
const entryOfFacts = (line: string): ListedEntry | undefined => {
  const at = line.indexOf(' ');
  const found = at < 0 ? undefined : foundFrom(line.slice(0, at));
  return found === undefined ? undefined : { written: line.slice(at + 1), found };
};

/** `lrwxrwxrwx`, the start of a line of `ls` and of many servers. */
const MODE = /^([-dlbcps])[-rwxsStTlL]{9}/u;

/** Whether a line in the format of `ls` is a link, with that name if one is given. */
export const showsLink = (line: string, name?: string): boolean =>
  MODE.exec(line.trimStart())?.[1] === 'l' && (name === undefined || isLineOf(line, name));

const isLineOf = (line: string, name: string): boolean =>
  line.endsWith(` ${name}`) || line.includes(` ${name} -> `);

/** The result of a STAT response for a path or name: a link, another entry, only other names, or nothing. */
export const shownByStat = (
  reply: string,
  names: readonly string[],
): 'link' | 'no link' | 'others' | 'nothing' => {
  const shown = reply.split('\n').filter((line) => MODE.test(line.trimStart()));
  const own = shown.filter((line) => names.some((name) => isLineOf(line, name)));
  if (own.length > 0) return own.some((line) => showsLink(line)) ? 'link' : 'no link';
  return shown.length > 0 ? 'others' : 'nothing';
};

/** The first line of `ls`, in the language of the server. */
const TOTAL = /^\p{L}+:? \d+$/u;

/**
 * Parses a line of LIST, in the format of `ls` or DOS. The times in such lines are not used: they lack year,
 * seconds or time zone.
 * @param parse the library's parser; throws for unknown formats
 */
const entryOfText = (line: string, parse: (text: string) => readonly FileInfo[]): ListedEntry | undefined => {
  if (TOTAL.test(line)) return undefined;
  const [info] = parse(line);
  if (info === undefined) return undefined;
  const [, mode = '-'] = MODE.exec(line) ?? [];
  if (info.isDirectory && mode !== 'l') return { written: info.name, found: ROOT };
  const isFile = info.isFile && mode === '-';
  return {
    written: info.name,
    found: { ...ROOT, kind: isFile ? 'file' : 'other', size: isFile ? info.size : undefined },
  };
};

const linesOf = (text: string): readonly string[] => text.split(/\r?\n/u).filter(Boolean);

/**
 * The entries of a listing, in pages so that other work can run in between. An unparsable line counts as an
 * entry that is left out. @throws as errorOf, when no line at all can be parsed
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
      // Not every server says `cdir` and `pdir`.
      return entry === undefined || /^\.\.?$/u.test(entry.written) ? [] : [entry];
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
