import { parseArgs } from 'node:util';

/** What the command line asks for. */
export type Command =
  | { readonly name: 'help'; /** No command was given. */ readonly isMissing: boolean }
  | { readonly name: 'version' }
  | { readonly name: 'check-config'; readonly config: string | undefined }
  | {
      readonly name: 'explain';
      readonly config: string | undefined;
      readonly role: string;
      readonly action: string;
      readonly path: string;
    }
  | {
      readonly name: 'serve';
      /** Served as it is, without a configuration. */
      readonly folder: string | undefined;
      readonly config: string | undefined;
      readonly host: string | undefined;
      readonly port: string | undefined;
      readonly healthPort: string | undefined;
    };

/** The command line cannot be understood. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

export const help = `stowage: a file browser and uploader connector for web editors

Usage:
  stowage serve FOLDER [--host HOST] [--port PORT]
  stowage serve [--config FILE] [--host HOST] [--port PORT] [--health-port PORT]
  stowage check-config [--config FILE]
  stowage explain ROLE ACTION PATH [--config FILE]
  stowage --help
  stowage --version

Commands:
  serve          Starts the service and runs until SIGTERM or SIGINT. Running requests may finish first,
                 for 30 seconds at most; a second signal ends the process immediately.
                 With FOLDER it needs no configuration: everybody who reaches it may read and write there,
                 and editors in pages of this machine (localhost) may use it.
  check-config   Checks the configuration, prints every problem, and starts nothing.
  explain        Says whether the access rules allow a role an action on a file, or on a folder when PATH ends
                 with a slash, and which rule decides: stowage explain editor fileRemove archive/a.jpg

Options:
  --config FILE  The configuration: a JSON file, or a module (.mjs, .js, .ts where Node.js runs TypeScript)
                 whose default export is the configuration or { config, hooks, logger }. Without it: the JSON
                 text in CONFIG, else the file named by CONFIG_FILE, else the defaults with one source from
                 SOURCE_NAME, SOURCE_ROOT, SOURCE_BASEURL.
  --host HOST    Address to listen on; else HOST, else 127.0.0.1 (this machine only). 0.0.0.0 or :: for all.
  --port PORT    Port to listen on; else PORT, else 8081. 0 takes any free port.
  --health-port PORT
                 Answers /live, /ready and /metrics on this port of the same address.

Exit status: 0 fine, 1 the service cannot start or failed, 2 the command line is wrong.
`;

const OPTIONS = {
  config: { type: 'string' },
  host: { type: 'string' },
  port: { type: 'string' },
  'health-port': { type: 'string' },
  help: { type: 'boolean', short: 'h' },
  version: { type: 'boolean', short: 'v' },
} as const;

const parse = (
  words: readonly string[],
): ReturnType<typeof parseArgs<{ options: typeof OPTIONS; allowPositionals: true }>> => {
  try {
    return parseArgs({ args: [...words], options: OPTIONS, allowPositionals: true });
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    // What follows the first sentence is a hint for arguments that begin with a dash; there are none here.
    throw new UsageError(message.split('. ', 1)[0]);
  }
};

type Options = ReturnType<typeof parse>['values'];

const requireFilled = ({ config, host }: Options): void => {
  if (config === '') throw new UsageError('--config needs the name of a file.');
  // To listen on nothing in particular would be to listen on everything.
  if (host === '') throw new UsageError('--host needs an address.');
};

const parseNamed = (name: string, words: readonly string[], options: Options): Command => {
  const { config, host, port, 'health-port': healthPort } = options;
  const [role, action, path] = words;
  const unexpected = words.slice({ explain: 3, serve: 1 }[name] ?? 0);
  if (unexpected.length > 0) throw new UsageError(`Unexpected argument: ${unexpected.join(' ')}`);
  if (name === 'serve') {
    const [folder] = words;
    if (folder === '') throw new UsageError('serve needs the name of a folder, not an empty text.');
    if (folder !== undefined && config !== undefined)
      throw new UsageError('serve takes a folder or --config, not both.');
    return { name, folder, config, host, port, healthPort };
  }
  if (host !== undefined || port !== undefined) {
    throw new UsageError(`${name} takes neither --host nor --port.`);
  }
  if (healthPort !== undefined) throw new UsageError(`${name} does not take --health-port.`);
  if (name === 'check-config') return { name, config };
  if (role === undefined || action === undefined || path === undefined) {
    throw new UsageError('explain needs a role, an action and a path.');
  }
  return { name: 'explain', config, role, action, path };
};

/**
 * Reads the words after the program's name.
 * @throws UsageError
 */
export const parseCommand = (words: readonly string[]): Command => {
  const { values, positionals } = parse(words);
  if (values.help === true) return { name: 'help', isMissing: false };
  if (values.version === true) return { name: 'version' };
  const [name, ...more] = positionals;
  if (name === undefined) return { name: 'help', isMissing: true };
  if (!['serve', 'check-config', 'explain'].includes(name)) throw new UsageError(`Unknown command: ${name}`);
  requireFilled(values);
  return parseNamed(name, more, values);
};
