import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdtemp, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { packedArchives } from '../package/archives.ts';
import { freePort } from '../../tools/test-servers/server-processes.ts';

const run = promisify(execFile);
const root = resolve(import.meta.dirname, '../..');
const examples = join(root, 'examples');

/** The environment of a person's terminal: programs behave differently when they find themselves in a test. */
export const terminal = (): NodeJS.ProcessEnv => {
  const { NODE_ENV: _mode, VITEST: _runner, ...environment } = process.env;
  return environment;
};

/** The packages that a page of the documents tells to install. */
export const packagesOf = async (page: string): Promise<readonly string[]> => {
  const text = await readFile(join(root, page), 'utf8');
  const lines = [...text.matchAll(/^npm install (?<names>.+)$/gmu)].map(({ groups }) => groups?.['names']);
  return lines.flatMap((names = '') => names.split(' ')).filter((name) => !name.startsWith('-'));
};

/** A program of the documents that is running. */
export interface RunningProgram {
  readonly url: string;
  readonly folder: string;
  /** What it has printed. */
  output(): string;
  stop(): Promise<void>;
}

/** Waits until somebody answers under the URL; any answer counts. */
const answers = async (url: string, child: ChildProcess, output: () => string): Promise<void> => {
  for (let attempt = 0; attempt < 1200; attempt += 1) {
    if (child.exitCode !== null) throw new Error(`The program has ended:\n${output()}`);
    try {
      await (await fetch(url)).arrayBuffer();
      return;
    } catch {
      await new Promise((wait) => setTimeout(wait, 50));
    }
  }
  throw new Error(`Nobody answers at ${url}:\n${output()}`);
};

/** A project in an empty folder that has the packed package and others installed by npm. */
export class PackedProject {
  readonly folder: string;
  readonly #programs: RunningProgram[] = [];

  private constructor(folder: string) {
    this.folder = folder;
  }

  /** What `npm init -y && npm install ...` leaves. */
  static async create(packages: readonly string[]): Promise<PackedProject> {
    const folder = await mkdtemp(join(tmpdir(), 'stowage-start-'));
    const project = new PackedProject(folder);
    const { paths, stop } = await packedArchives();
    const names = [...new Set(packages)].map((name) => paths[name] ?? name);
    await run('npm', ['init', '-y'], { cwd: folder });
    const args = ['install', '--prefer-offline', '--no-audit', '--no-fund', ...names];
    await run('npm', args, { cwd: folder, env: terminal() });
    await stop();
    return project;
  }

  /** Puts the files of an example into a folder of their own, which finds the packages of the project. */
  async add(example: string, name = basename(example)): Promise<string> {
    const folder = join(this.folder, name);
    await cp(join(examples, example), folder, { recursive: true });
    await symlink(join(this.folder, 'node_modules'), join(folder, 'node_modules'));
    return folder;
  }

  /** Starts a program as the documents say, on a free port or the one that its words name, and waits until it answers. */
  async start(
    folder: string,
    words: readonly string[],
    environment: Readonly<Record<string, string>> = {},
    knownPort?: string,
  ): Promise<RunningProgram> {
    const port = knownPort ?? String(await freePort());
    const [command = '', ...args] = words;
    const child = spawn(command, args, {
      cwd: folder,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...terminal(), ...environment, PORT: port },
      // npx starts others: they end together.
      detached: true,
    });
    let printed = '';
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => (printed += text));
    const url = `http://localhost:${port}`;
    const program = {
      url,
      folder,
      output: () => printed,
      stop: async () => {
        if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
        const ended = once(child, 'exit');
        process.kill(-child.pid, 'SIGKILL');
        await ended;
      },
    };
    this.#programs.push(program);
    await answers(url, child, () => printed);
    return program;
  }

  async remove(): Promise<void> {
    await Promise.all(this.#programs.map((program) => program.stop()));
    await rm(this.folder, { recursive: true, force: true });
  }
}
