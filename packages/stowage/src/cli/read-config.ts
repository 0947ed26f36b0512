import { readFile } from 'node:fs/promises';
import { extname, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { ServiceDefinition } from '../app.ts';
import { readVariable } from '../config/environment.ts';
import { isPlainObject } from '../config/values.ts';
import { cannotBeRead, mustBe, unknownKey } from '../config/problems.ts';
import type { ConfigInput } from '../config/types.ts';
import { ConfigError } from '../errors/errors.ts';

const readText = async (file: string): Promise<string> => {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(await readFile(file));
  } catch (error) {
    throw new ConfigError([`${file}: ${cannotBeRead(error)}`]);
  }
};

/** ` (line 3, column 7)` if a JSON error contains a position, else empty. */
const positionOf = (text: string, message: string): string => {
  const position = /at position (\d+)/u.exec(message)?.[1];
  if (position === undefined) return '';
  const lines = text.slice(0, Number(position)).split('\n');
  return ` (line ${String(lines.length)}, column ${String((lines.at(-1)?.length ?? 0) + 1)})`;
};

/** Rejects a key that its object has already: JSON.parse would drop the earlier value, such as access rules. */
const refuseRepeatedKeys = (json: string): void => {
  const open: Set<string>[] = [];
  const tokens = json.matchAll(/"([^"\\]*(?:\\.[^"\\]*)*)"(\s*:)?|[{}]/gu);
  for (const { 0: token, 1: key = '', 2: colon, index } of tokens) {
    if (token === '{') open.push(new Set());
    if (token === '}') open.pop();
    if (colon === undefined) continue;
    if (open.at(-1)?.has(key) === true)
      throw new SyntaxError(`an object has the same key twice, again at position ${String(index)}`);
    open.at(-1)?.add(key);
  }
};

const parseJson = (name: string, text: string): unknown => {
  // Some editors write a byte order mark into UTF-8 files.
  const json = text.replace(/^\uFEFF/u, '');
  try {
    const value: unknown = JSON.parse(json);
    refuseRepeatedKeys(json);
    return value;
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    // Node quotes a part of the text, and a configuration may contain passwords.
    const cause = message.replace(/,? *(?:\.\.\.)?"[^]*"(?:\.\.\.)? is not valid JSON$/u, '');
    throw new ConfigError([`${name}: is not valid JSON${positionOf(json, message)}: ${cause}`]);
  }
};

/** Modules that Node.js runs. All other files are JSON. */
const MODULES = /^\.[cm]?[jt]s$/u;

/** ` (line 3)` if the stack of an error contains a line of the module, else empty. */
const lineOf = (error: unknown, url: string): string => {
  const stack = error instanceof Error ? (error.stack ?? '') : '';
  const line = /^\d+/u.exec(stack.split(`${url}:`, 2)[1] ?? '')?.[0];
  return line === undefined ? '' : ` (line ${line})`;
};

/** Only Node itself knows the position of a syntax error. */
const hintFor = (file: string, { message }: SyntaxError): string =>
  !extname(file).startsWith('.m') && /outside a module|Unexpected token 'export'/u.test(message)
    ? `; write it as .m${extname(file).slice(-2)}`
    : `; \`node --check ${file}\` shows where`;

/** Rejects when nothing is left that could end a wait: Node.js would exit without a word. */
const orStalled = <Value>(work: Promise<Value>): Promise<Value> =>
  new Promise((resolve, reject) => {
    const fail = (): void => reject(new Error('its await waits for something that never happens'));
    process.once('beforeExit', fail);
    void work.then(resolve, reject).finally(() => process.off('beforeExit', fail));
  });

const importModule = async (file: string): Promise<unknown> => {
  // Node's error for a missing file would name the importing module.
  await readText(file);
  const { href } = pathToFileURL(resolve(file));
  try {
    const load = async (): Promise<unknown> => {
      const { default: written } = (await import(href)) as { readonly default?: unknown };
      // A module that TypeScript has compiled to CommonJS.
      return isPlainObject(written) && written['__esModule'] === true ? written['default'] : written;
    };
    return await orStalled(load());
  } catch (error) {
    if ((error as NodeJS.ErrnoException | undefined)?.code === 'ERR_UNKNOWN_FILE_EXTENSION') {
      const text = `cannot be read: this Node.js (${process.version}) does not run ${extname(file)} files`;
      throw new ConfigError([`${file}: ${text}; write it as .mjs`]);
    }
    const hint = error instanceof SyntaxError ? hintFor(file, error) : '';
    throw new ConfigError([`${file}: failed${lineOf(error, href)}: ${String(error)}${hint}`]);
  }
};

const DEFINITION_KEYS = ['config', 'hooks', 'logger'];
const LOG_LEVELS = ['debug', 'info', 'warn', 'error'];

const loggerProblems = (logger: unknown): readonly string[] => {
  if (logger === undefined) return [];
  const isObject = typeof logger === 'object' && logger !== null;
  const missing = LOG_LEVELS.filter((level) => !isObject || typeof Reflect.get(logger, level) !== 'function');
  return missing.map((level) => `logger.${level}: must be a function`);
};

const asDefinition = (file: string, exported: unknown): ServiceDefinition => {
  if (exported === undefined) throw new ConfigError([`${file}: has no default export`]);
  if (!isPlainObject(exported))
    throw new ConfigError([`${file}: its default export ${mustBe('an object', exported)}`]);
  // The connector validates every key and value of the configuration and the hooks.
  if (!DEFINITION_KEYS.some((key) => Object.hasOwn(exported, key))) return { config: exported };
  const unknown = Object.keys(exported).filter((key) => !DEFINITION_KEYS.includes(key));
  const problems = [
    ...unknown.map((key) => `${file}: beside config, hooks and logger, ${key} ${unknownKey(key, [])}`),
    ...loggerProblems(exported['logger']),
  ];
  if (problems.length > 0) throw new ConfigError(problems);
  return exported;
};

const readFrom = async (file: string): Promise<ServiceDefinition> =>
  MODULES.test(extname(file))
    ? asDefinition(file, await importModule(file))
    : { config: parseJson(file, await readText(file)) as ConfigInput };

/** The configuration file: that of the command line, else that of `CONFIG_FILE` unless `CONFIG` is set. */
export const configurationFile = (file: string | undefined): string | undefined =>
  file ?? (readVariable('CONFIG') === undefined ? readVariable('CONFIG_FILE') : undefined);

/**
 * The definition of the service, not validated: from the file, else from the JSON text in `CONFIG`, else from
 * the file of `CONFIG_FILE`, else empty.
 * @throws ConfigError when it cannot be read, is not JSON, or is a module that fails.
 */
export const readDefinition = async (file: string | undefined): Promise<ServiceDefinition> => {
  const found = configurationFile(file);
  if (found !== undefined) return readFrom(found);
  const text = readVariable('CONFIG');
  return text === undefined ? {} : { config: parseJson('CONFIG', text) as ConfigInput };
};
