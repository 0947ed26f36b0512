import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const MAIN = fileURLToPath(new URL('../../packages/stowage/dist/cli.js', import.meta.url));

/** How a process ended, and what it said. */
export interface Ending {
  readonly status: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A running `stowage`. */
export interface Process {
  readonly child: ChildProcessWithoutNullStreams;
  readonly ended: Promise<Ending>;
  /** Settles when a line on standard error matches. */
  said(pattern: RegExp): Promise<RegExpExecArray>;
}

/** Starts the program with these words. Of our environment it sees the path only; `before` are commands for `sh`. */
export const start = (
  words: readonly string[],
  environment: Record<string, string> = {},
  cwd = tmpdir(),
  before = '',
): Process => {
  const child = spawn('/bin/sh', ['-c', `${before}\nexec "$0" "$@"`, process.execPath, MAIN, ...words], {
    cwd,
    env: { PATH: process.env['PATH'] ?? '', ...environment },
  });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const ended = new Promise<Ending>((resolve) => {
    child.on('close', (status, signal) => {
      resolve({ status, signal, stdout, stderr });
    });
  });
  const said = (pattern: RegExp): Promise<RegExpExecArray> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        const match = pattern.exec(stderr);
        if (match !== null) resolve(match);
      };
      child.stderr.on('data', look);
      void ended.then(() => {
        look();
        reject(new Error(`The process ended without saying ${String(pattern)}: ${stderr}`));
      });
      look();
    });
  return { child, ended, said };
};

/** Runs the program to its end. */
export const runToEnd = (
  words: readonly string[],
  environment: Record<string, string> = {},
): Promise<Ending> => start(words, environment).ended;

/** A folder for one test file. */
export interface Folder {
  readonly path: string;
  /** Writes a configuration and returns the name of its file. */
  config(value: unknown): Promise<string>;
  remove(): Promise<void>;
}

export const createFolder = async (): Promise<Folder> => {
  const path = await mkdtemp(join(tmpdir(), 'stowage-cli-'));
  return {
    path,
    config: async (value) => {
      const file = join(path, `config-${crypto.randomUUID()}.json`);
      await writeFile(file, typeof value === 'string' ? value : JSON.stringify(value));
      return file;
    },
    remove: () => rm(path, { recursive: true, force: true }),
  };
};

/** The port of a service that listens. */
export const portOf = async (service: Process): Promise<number> =>
  Number((await service.said(/Listening on http:\/\/[^"]*:(\d+)\//u))[1]);
