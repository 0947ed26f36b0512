import { parseArgs } from 'node:util';
import { UnsafePathError } from '../errors/errors.ts';
import { SourcePath } from '../storage/source-path.ts';

/** The command line is invalid. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** Parses a path inside a source. @throws UsageError when it leads outside */
export const parsePath = (what: 'path' | 'folder', text: string): SourcePath => {
  try {
    return SourcePath.parse(text);
  } catch (error) {
    if (error instanceof UnsafePathError)
      throw new UsageError(`The ${what} ${JSON.stringify(text)} leaves its source.`);
    throw error;
  }
};

const OPTIONS = {
  config: { type: 'string' },
  host: { type: 'string' },
  port: { type: 'string' },
  'health-port': { type: 'string' },
  'page-origin': { type: 'string' },
  url: { type: 'string' },
  'form-size': { type: 'string' },
  json: { type: 'boolean' },
  yes: { type: 'boolean', short: 'y' },
  help: { type: 'boolean', short: 'h' },
  version: { type: 'boolean', short: 'v' },
} as const;

const parse = (words: readonly string[]) => {
  try {
    return parseArgs({ args: [...words], options: OPTIONS, allowPositionals: true });
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    // The text after the first sentence is a hint about arguments that begin with a dash; the commands here
    // have none.
    throw new UsageError(message.split('. ', 1)[0]);
  }
};

export type Options = ReturnType<typeof parse>['values'];

/** The words and options that each command takes; `needs`: what its first words are, which it requires. */
const COMMANDS = {
  init: { words: 0, options: ['yes'] },
  serve: { words: 1, options: ['config', 'host', 'port', 'health-port'] },
  'check-config': { words: 0, options: ['config'] },
  doctor: { words: 0, options: ['config', 'page-origin', 'url', 'form-size', 'json'] },
  explain: { words: 3, needs: ['a role, an action and a path', 3], options: ['config'] },
  thumbs: { words: 2, needs: ['the name of a source', 1], options: ['config'] },
  describe: { words: 2, needs: ['the name of a source', 1], options: ['config'] },
} as const;

type CommandName = keyof typeof COMMANDS;

export interface Command {
  readonly name: CommandName | 'help' | 'version';
  /** The words after the name; as many as the command needs, at least. */
  readonly words: readonly string[];
  readonly options: Options;
}

const isCommand = (name: string): name is CommandName => Object.hasOwn(COMMANDS, name);

/** @throws UsageError for words and options that the command does not take */
const requireTaken = (name: CommandName, words: readonly string[], options: Options): void => {
  const known: { words: number; needs?: readonly [string, number]; options: readonly string[] } =
    COMMANDS[name];
  const unexpected = words.slice(known.words);
  if (unexpected.length > 0) throw new UsageError(`Unexpected argument: ${unexpected.join(' ')}`);
  const option = Object.keys(options).find((one) => !known.options.includes(one));
  if (option !== undefined) throw new UsageError(`${name} does not take --${option}.`);
  const [needed, least] = known.needs ?? ['', 0];
  if (words.length < least) throw new UsageError(`${name} needs ${needed}.`);
};

/** @throws UsageError for empty values, and for a folder beside a configuration */
const requireFilled = ([folder]: readonly string[], { config, host }: Options): void => {
  if (config === '') throw new UsageError('--config needs the name of a file.');
  // An empty host would listen on all addresses.
  if (host === '') throw new UsageError('--host needs an address.');
  if (folder === '') throw new UsageError('serve needs the name of a folder, not an empty text.');
  if (folder !== undefined && config !== undefined)
    throw new UsageError('serve takes a folder or --config, not both.');
};

/**
 * Parses the arguments after the program's name; without a command it is `help`.
 * @throws UsageError
 */
export const parseCommand = (args: readonly string[]): Command => {
  const { values: options, positionals } = parse(args);
  const [name, ...words] = positionals;
  if (options.help === true) return { name: 'help', words, options };
  if (options.version === true) return { name: 'version', words, options };
  if (name === undefined) return { name: 'help', words, options };
  requireFilled(name === 'serve' ? words : [], options);
  if (!isCommand(name)) throw new UsageError(`Unknown command: ${name}`);
  requireTaken(name, words, options);
  return { name, words, options };
};

export const help = `stowage: a file browser and uploader connector for web editors

Usage:
  stowage init [--yes]
  stowage serve FOLDER [--host HOST] [--port PORT]
  stowage serve [--config FILE] [--host HOST] [--port PORT] [--health-port PORT]
  stowage check-config [--config FILE]
  stowage doctor [--config FILE] [--page-origin ORIGIN] [--url URL] [--form-size SIZE] [--json]
  stowage explain ROLE ACTION PATH [--config FILE]
  stowage thumbs SOURCE [FOLDER] [--config FILE]
  stowage describe SOURCE [FOLDER] [--config FILE]
  stowage --help
  stowage --version

Commands:
  init           Asks a few questions and writes stowage.json. With --yes it asks nothing. A file that is there
                 stays as it is.
  serve          Starts the service and runs until SIGTERM or SIGINT. Running requests may finish first,
                 for 30 seconds at most; a signal more than a second later ends the process immediately.
                 With FOLDER it needs no configuration: every client that reaches it may read and write there,
                 and editors in pages of this machine (localhost) may use it.
  check-config   Checks the configuration, prints every problem, and starts nothing.
  doctor         Tries what the service will do: writes, lists, reads and removes a small file in every source,
                 reads it where browsers will, and checks packages, rights, clocks, room and risky settings.
                 Each problem comes with a line that fixes it. Leaves nothing behind.
  explain        Says whether the access rules allow a role an action on a file, or on a folder when PATH ends
                 with a slash, and which rule decides: stowage explain editor fileRemove archive/a.jpg
  thumbs         Makes the missing thumbnails of a source, or of a folder in it and all below. Can be stopped
                 and run again.
  describe       Has the hook describePicture describe the pictures of a source, or of a folder in it and all
                 below, that have no alternative text. Can be stopped and run again. The hook comes with a
                 configuration that is a module.

Options:
  --config FILE  The configuration: a JSON file, or a module (.mjs, .js, .ts where Node.js runs TypeScript)
                 whose default export is the configuration or { config, hooks, logger }. Without it: the JSON
                 text in CONFIG, else the file named by CONFIG_FILE, else the defaults with one source from
                 SOURCE_NAME, SOURCE_ROOT, SOURCE_BASEURL.
  --host HOST    Address to listen on; else HOST, else 127.0.0.1 (this machine only). 0.0.0.0 or :: for all.
  --port PORT    Port to listen on; else PORT, else 8081. 0 takes any free port.
  --health-port PORT
                 Answers /live, /ready and /metrics on this port of the same address.
  --page-origin ORIGIN
                 Where the page with the editor comes from, such as https://www.example.com.
  --url URL      Where the service runs, as browsers see it: asks it through the proxies before it.
  --form-size SIZE
                 How large a form must get through these proxies, such as 100mb.
  --json         Prints what the doctor found as JSON.

Exit status: 0 fine, 1 the service cannot start, failed, or something is broken, 2 the command line is wrong,
130 stopped by Ctrl+C.
`;
