import { readFile } from 'node:fs/promises';
import { readVariable } from '../config/environment.ts';
import { ConfigError } from '../errors/errors.ts';

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EACCES: 'access is denied',
  EISDIR: 'it is a directory',
};

const reasonOf = (error: unknown): string => {
  const { code, message } = error as NodeJS.ErrnoException;
  return REASONS[code ?? ''] ?? message;
};

const readText = async (file: string): Promise<string> => {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw new ConfigError([`${file}: cannot be read: ${reasonOf(error)}`]);
  }
};

/** ` (line 3, column 7)` where a JSON error names a position, else nothing. */
const positionOf = (text: string, message: string): string => {
  const position = /at position (\d+)/u.exec(message)?.[1];
  if (position === undefined) return '';
  const lines = text.slice(0, Number(position)).split('\n');
  return ` (line ${String(lines.length)}, column ${String((lines.at(-1)?.length ?? 0) + 1)})`;
};

const parseJson = (name: string, text: string): unknown => {
  // Some editors put a byte order mark before a file that they call UTF-8.
  const json = text.replace(/^\uFEFF/u, '');
  try {
    return JSON.parse(json);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    // Node quotes a part of the text, and a configuration may hold passwords.
    const cause = message.replace(/,? *(?:\.\.\.)?"[^]*"(?:\.\.\.)? is not valid JSON$/u, '');
    throw new ConfigError([`${name}: is not valid JSON${positionOf(json, message)}: ${cause}`]);
  }
};

/**
 * The configuration as written: the file, else the JSON text in `CONFIG`, else the file named by
 * `CONFIG_FILE`, else undefined.
 * @throws ConfigError when it cannot be read or is not JSON.
 */
export const readConfig = async (file: string | undefined): Promise<unknown> => {
  if (file !== undefined) return parseJson(file, await readText(file));
  const text = readVariable('CONFIG');
  if (text !== undefined) return parseJson('CONFIG', text);
  const named = readVariable('CONFIG_FILE');
  return named === undefined ? undefined : parseJson(named, await readText(named));
};
