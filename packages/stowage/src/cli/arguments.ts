import { parseArgs } from 'node:util';

/** What the command line asks for. */
export type Command =
  | { readonly name: 'help'; /** No command was given. */ readonly isMissing: boolean }
  | { readonly name: 'version' }
  | { readonly name: 'check-config'; readonly config: string | undefined }
  | {
      readonly name: 'doctor';
      readonly config: string | undefined;
      readonly pageOrigin: string | undefined;
      readonly url: string | undefined;
      readonly formSize: string | undefined;
      readonly isJson: boolean;
    }
  | { readonly name: 'init'; /** Asks nothing. */ readonly isSilent: boolean }
  | {
      readonly name: 'thumbs';
      readonly config: string | undefined;
      readonly source: string;
      /** Inside the source. */
      readonly folder: string;
    }
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

const parse = (
  words: readonly string[],
): ReturnType<typeof parseArgs<{ options: typeof OPTIONS; allowPositionals: true }>> => {
  try {
    return parseArgs({ args: [...words], options: OPTIONS, allowPositionals: true });
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    // The text after the first sentence is a hint for arguments that begin with a dash; there are none here.
    throw new UsageError(message.split('. ', 1)[0]);
  }
};

type Options = ReturnType<typeof parse>['values'];

const requireFilled = ({ config, host }: Options): void => {
  if (config === '') throw new UsageError('--config needs the name of a file.');
  // To listen on nothing in particular would be to listen on everything.
  if (host === '') throw new UsageError('--host needs an address.');
};

/** How many words each command takes, and which options. */
const COMMANDS: Readonly<Record<string, { readonly words: number; readonly options: readonly string[] }>> = {
  init: { words: 0, options: ['yes'] },
  serve: { words: 1, options: ['config', 'host', 'port', 'health-port'] },
  'check-config': { words: 0, options: ['config'] },
  doctor: { words: 0, options: ['config', 'page-origin', 'url', 'form-size', 'json'] },
  explain: { words: 3, options: ['config'] },
  thumbs: { words: 2, options: ['config'] },
};

const requireKnown = (name: string, words: readonly string[], options: Options): void => {
  const known = COMMANDS[name];
  if (known === undefined) throw new UsageError(`Unknown command: ${name}`);
  const unexpected = words.slice(known.words);
  if (unexpected.length > 0) throw new UsageError(`Unexpected argument: ${unexpected.join(' ')}`);
  const option = Object.keys(options).find((one) => !known.options.includes(one));
  if (option !== undefined) throw new UsageError(`${name} does not take --${option}.`);
};

const parseServe = ([folder]: readonly string[], options: Options): Command => {
  const { config, host, port, 'health-port': healthPort } = options;
  if (folder === '') throw new UsageError('serve needs the name of a folder, not an empty text.');
  if (folder !== undefined && config !== undefined)
    throw new UsageError('serve takes a folder or --config, not both.');
  return { name: 'serve', folder, config, host, port, healthPort };
};

const parseNamed = (name: string, words: readonly string[], options: Options): Command => {
  requireKnown(name, words, options);
  const { config } = options;
  if (name === 'serve') return parseServe(words, options);
  if (name === 'check-config') return { name, config };
  if (name === 'init') return { name, isSilent: options.yes ?? false };
  if (name === 'doctor') {
    const { 'page-origin': pageOrigin, url, 'form-size': formSize, json = false } = options;
    return { name, config, pageOrigin, url, formSize, isJson: json };
  }
  const [first, second, third] = words;
  if (name === 'thumbs') {
    if (first === undefined) throw new UsageError('thumbs needs the name of a source.');
    return { name, config, source: first, folder: second ?? '' };
  }
  if (first === undefined || second === undefined || third === undefined) {
    throw new UsageError('explain needs a role, an action and a path.');
  }
  return { name: 'explain', config, role: first, action: second, path: third };
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
  requireFilled(values);
  return parseNamed(name, more, values);
};
