import { createInterface } from 'node:readline/promises';
import { homedir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { packagesOfAdapter } from '../../adapters/table.ts';
import type { BuiltInName } from '../../storage/registry.ts';

/** Choices in the order of the numbers that users type. */
export interface Choice<Value extends string> {
  readonly value: Value;
  readonly text: string;
}

/** Asks questions in a terminal; an empty answer selects the first choice or the given default. */
export interface Questions {
  /** @param setting the end of its key, by which `forget` finds the answer */
  text(setting: string, question: string, preset: string): Promise<string>;
  choose<Value extends string>(
    question: string,
    choices: readonly [Choice<Value>, ...Choice<Value>[]],
  ): Promise<Value>;
  /** Has the questions of these problems asked again; false where none was asked. */
  forget(problems: readonly string[]): boolean;
  close(): void;
}

/** The input ended before all questions were answered. */
export class NoAnswerError extends Error {
  override readonly name = 'NoAnswerError';
}

/** Answers every question with its default. */
export const createSilence = (): Questions => ({
  text: (_setting, _question, preset) => Promise.resolve(preset),
  choose: (_question, [first]) => Promise.resolve(first.value),
  forget: () => false,
  close: () => undefined,
});

/**
 * Asks on standard error, so that the output can still be piped, and reads standard input. A question that was
 * answered is not asked again until its answer is forgotten.
 */
export const createQuestions = (): Questions => {
  const lines = createInterface({ input: process.stdin, output: process.stderr, terminal: false });
  const input = lines[Symbol.asyncIterator]();
  const ask = async (question: string): Promise<string> => {
    process.stderr.write(question);
    const line = await input.next();
    if (line.done === true) throw new NoAnswerError();
    return line.value.trim();
  };
  const answers = new Map<string, string>();
  const remember = <Answer extends string>(key: string, answer: Answer): Answer => {
    answers.set(key, answer);
    return answer;
  };
  return {
    text: async (setting, question, preset) =>
      answers.get(setting) ?? remember(setting, (await ask(`${question} [${preset}]: `)) || preset),
    choose: async (question, choices) => {
      const known = choices.find(({ value }) => value === answers.get(question));
      if (known !== undefined) return known.value;
      const list = choices.map(({ text }, index) => `  ${String(index + 1)}  ${text}\n`).join('');
      for (;;) {
        const answer = (await ask(`${question}\n${list}Number [1]: `)) || '1';
        const chosen = choices[Number(answer) - 1];
        if (chosen !== undefined) return remember(question, chosen.value);
        process.stderr.write(`There is no ${answer}.\n`);
      }
    },
    forget: (problems) => {
      for (const problem of problems) process.stderr.write(`${problem}\n`);
      const settings = problems.map((problem) => /([^.]+?)(?:\.\d+)?: /u.exec(problem)?.[1] ?? '');
      return settings.map((setting) => answers.delete(setting)).includes(true);
    },
    close: () => lines.close(),
  };
};

export type Written = Readonly<Record<string, unknown>>;

/** A part of the configuration from the answers, and steps that remain for the user. */
export interface Answer {
  readonly written: Written;
  readonly steps: readonly string[];
}

interface NamedAnswer {
  readonly name: string;
  readonly answer: Answer;
}

const sourceIn = (
  storageAdapter: BuiltInName,
  name: string,
  options: Written,
  ...variables: readonly string[]
): NamedAnswer => ({
  name: name === '' ? 'files' : name,
  answer: {
    written: {
      title: name === '' ? 'Files' : name,
      storageAdapter,
      [storageAdapter]: options,
      serve: 'public',
    },
    steps: variables.length === 0 ? [] : [`export ${variables.map((one) => `${one}=...`).join(' ')}`],
  },
});

const askFolder = async (ask: Questions): Promise<NamedAnswer> => {
  const root = await ask.text('root', 'Folder', './files');
  const name = basename(resolve(root)) || 'files';
  return { name, answer: { written: { title: name, root, serve: 'public' }, steps: [] } };
};

const askBucket = async (ask: Questions): Promise<NamedAnswer> => {
  const bucket = await ask.text('bucket', 'Bucket', 'files');
  const region = await ask.text('region', 'Region', 'us-east-1');
  const endpoint = await ask.text('endpoint', 'URL of the service; empty for AWS', '');
  const address = endpoint === '' ? {} : { endpoint, forcePathStyle: true };
  const keys = ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY'];
  return sourceIn('s3', bucket, { bucket, region, ...address }, ...keys);
};

const askWebdav = async (ask: Questions): Promise<NamedAnswer> => {
  const url = await ask.text('url', 'URL of the folder', 'https://dav.example.com/files/');
  const username = await ask.text('username', 'User', 'stowage');
  return sourceIn('webdav', '', { url, username, password: { env: 'DAV_PASSWORD' } }, 'DAV_PASSWORD');
};

const askHost = async (ask: Questions, kind: 'sftp' | 'ftp') => {
  const host = await ask.text('host', 'Host', `${kind}.example.com`);
  const username = await ask.text('username', 'User', 'stowage');
  const directory = await ask.text('directory', 'Folder there; empty for the one after the login', '');
  const variable = `${kind.toUpperCase()}_PASSWORD`;
  return (more: Written): NamedAnswer => {
    const folder = directory === '' ? {} : { directory };
    return sourceIn(kind, '', { host, username, password: { env: variable }, ...more, ...folder }, variable);
  };
};

const askSftp = async (ask: Questions): Promise<NamedAnswer> => {
  const source = await askHost(ask, 'sftp');
  const hosts = join(homedir(), '.ssh/known_hosts');
  return source({ knownHostsFile: await ask.text('knownHostsFile', 'File with the key of the host', hosts) });
};

const askFtp = async (ask: Questions): Promise<NamedAnswer> => {
  const source = await askHost(ask, 'ftp');
  const tls = await ask.choose('How is the connection?', [
    { value: 'tls', text: 'with TLS (FTPS, explicit)' },
    { value: 'plain', text: 'plain: the password and the files can be read on the way' },
  ]);
  return source({ tls: tls === 'tls' });
};

const askAzure = async (ask: Questions): Promise<NamedAnswer> => {
  const container = await ask.text('container', 'Container', 'files');
  const accountUrl = await ask.text(
    'accountUrl',
    'URL of the account',
    'https://ACCOUNT.blob.core.windows.net',
  );
  const login = await ask.choose('Who asks for the files?', [
    { value: 'key', text: 'the account, with its key' },
    { value: 'machine', text: 'the login of this machine (managed identity, environment)' },
  ]);
  const azure = { container, accountUrl };
  if (login === 'machine') return sourceIn('azure', container, azure);
  const accountKey = { env: 'AZURE_STORAGE_KEY' };
  return sourceIn('azure', container, { ...azure, accountKey }, accountKey.env);
};

const askGcs = async (ask: Questions): Promise<NamedAnswer> => {
  const bucket = await ask.text('bucket', 'Bucket', 'files');
  const question = 'File with the key of a service account; empty for the login of this machine';
  const file = await ask.text('credentialsFile', question, '');
  return sourceIn('gcs', bucket, file === '' ? { bucket } : { bucket, credentialsFile: file });
};

const questionsOf = {
  local: askFolder,
  s3: askBucket,
  webdav: askWebdav,
  azure: askAzure,
  gcs: askGcs,
  sftp: askSftp,
  ftp: askFtp,
} satisfies Record<Exclude<BuiltInName, 'memory'>, (ask: Questions) => Promise<NamedAnswer>>;

export const askStore = async (ask: Questions): Promise<NamedAnswer> => {
  const kind = await ask.choose('Where are the files?', [
    { value: 'local', text: 'in a folder of this machine' },
    { value: 's3', text: 'in a bucket (S3)' },
    { value: 'webdav', text: 'on a WebDAV server' },
    { value: 'azure', text: 'in a container of Azure' },
    { value: 'gcs', text: 'in a bucket of Google Cloud Storage' },
    { value: 'sftp', text: 'on an SFTP server' },
    { value: 'ftp', text: 'on an FTP server' },
  ]);
  const { name, answer } = await questionsOf[kind](ask);
  const packages = packagesOfAdapter(kind, answer.written[kind], false).map((one) => one.name);
  const install = packages.length === 0 ? [] : [`npm install ${packages.join(' ')}`];
  return { name, answer: { ...answer, steps: [...install, ...answer.steps] } };
};
