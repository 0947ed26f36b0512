import { type ChildProcess, spawn } from 'node:child_process';
import { createReadStream, createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createTaskQueue } from '../../basics/concurrency/queues.ts';
import { limitTo } from '../../basics/content/parse-budget.ts';
import {
  makeTemporaryFolder,
  removeTemporaryFolder,
  sweepTemporaryFolders,
} from '../../basics/files/temporary-folder.ts';
import type { Logger } from '../../basics/log/logger.ts';
import { readProgramEnvironment } from '../../config/environment.ts';
import { BrokenImageError } from '../../errors/errors.ts';
import type { ByteRange, ReadableStore } from '../../storage/readable.ts';
import type { SourcePath } from '../../storage/source-path.ts';
import { beginningOf } from '../picture-file.ts';
import { commands, type DrawingProgram, findProgram, killGroup, type PreviewCommand } from './programs.ts';

interface ProgramRun {
  /** Absolute path. */
  readonly path: string;
  readonly args: readonly string[];
  /** Working directory, home and temporary directory of the program; it gets no other. */
  readonly folder: string;
  readonly seconds: number;
}

const MAX_OUTPUT_BYTES = 16 * 1024 * 1024;
/** Maximum number of bytes of its error output in the log. */
const MAX_COMPLAINT_BYTES = 500;
/** Limit of the address space; libraries take up to a third of it. */
const MAX_MEMORY_KILOBYTES = 1024 * 1024;
/** The unit is 512 or 1024 bytes. */
const MAX_FILE_BLOCKS = 32 * 1024;

/**
 * The operating system limits the program, even after this process is killed; limits that the system does not
 * support are skipped. When memory runs out, the kernel kills the program first. The program's command line
 * is passed as arguments of the script, never as part of it.
 */
const BOUNDED = [
  `ulimit -c 0; ulimit -v ${String(MAX_MEMORY_KILOBYTES)}; ulimit -f ${String(MAX_FILE_BLOCKS)}`,
  'ulimit -t "$1"; shift; echo 1000 >/proc/self/oom_score_adj; exec "$@"',
].join('; ');

const start = ({ path, args, folder, seconds }: ProgramRun): ChildProcess => {
  const own = { HOME: folder, TMPDIR: folder, TEMP: folder, TMP: folder };
  const isPosix = process.platform !== 'win32';
  const [command, words] = isPosix
    ? ['/bin/sh', ['-c', BOUNDED, 'sh', String(seconds), path, ...args]]
    : [path, args];
  return spawn(command, words, {
    cwd: folder,
    env: { ...readProgramEnvironment(), ...own },
    stdio: ['ignore', 'pipe', 'pipe'],
    // It leads a process group, so that its child processes end with it.
    detached: isPosix,
    windowsHide: true,
  });
};

/**
 * Runs a program with limits and returns its output. When the promise settles, the program and all processes
 * of its group have ended.
 * @throws BrokenImageError when it fails, has no or too much output, or takes too long; the signal's reason
 */
const runProgram = (run: ProgramRun, signal: AbortSignal): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const child = start(run);
    const output: Buffer[] = [];
    let length = 0;
    let complaint = '';
    let failure: Error | undefined;
    const stop = (reason: Error): void => {
      failure ??= reason;
      killGroup(child);
      // A process that has left the group may hold them open.
      child.stdout?.destroy();
      child.stderr?.destroy();
    };
    const broken = (detail: string): Error => new BrokenImageError({ detail });
    const onAbort = (): void => stop(signal.reason as Error);
    const timer = setTimeout(
      () => stop(broken(`took longer than ${String(run.seconds)} seconds`)),
      run.seconds * 1000,
    );
    signal.addEventListener('abort', onAbort, { once: true });
    child.stdout?.on('data', (chunk: Buffer) => {
      length += chunk.length;
      output.push(chunk);
      if (length > MAX_OUTPUT_BYTES) stop(broken('gave too much'));
    });
    child.stderr?.on('data', (chunk: Buffer) => {
      complaint = (complaint + chunk.toString()).slice(-MAX_COMPLAINT_BYTES);
    });
    child.once('error', (cause) => (failure ??= new BrokenImageError({ cause })));
    child.once('exit', () => killGroup(child));
    child.once('close', (code) => {
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
      if (failure === undefined && (code !== 0 || length === 0)) failure = broken(complaint.trim());
      if (failure === undefined) resolve(Buffer.concat(output, length));
      else reject(failure);
    });
  });

interface StoredFile {
  readonly storage: ReadableStore;
  readonly path: SourcePath;
  /** Bytes; undefined where the store does not report it. */
  readonly size: number | undefined;
}

const tooLarge = (): Error => new BrokenImageError('The file is too large.');

const copyPart = async (
  { storage, path }: StoredFile,
  file: string,
  { range, limit }: { readonly range?: ByteRange; readonly limit: number },
  signal: AbortSignal,
): Promise<void> => {
  const { stream } = await storage.read(path, { range, signal });
  const sink = createWriteStream(file, { flags: range?.start ? 'r+' : 'wx', start: range?.start ?? 0 });
  await pipeline(stream, limitTo(limit, tooLarge), sink, { signal });
};

const BEGINNING_BYTES = 1024;

const beginningOfFile = (file: string): Promise<Buffer> =>
  beginningOf(createReadStream(file, { end: BEGINNING_BYTES - 1 }), BEGINNING_BYTES);

/**
 * Copies a stored file, or its first and last bytes with a gap between them, and returns its beginning.
 * Copies at most the bytes of `head` and `tail`; the gap is sparse and takes no disk space.
 * @throws BrokenImageError when it is longer and has no tail, the signal's reason, errors of the store
 */
const fetchBeginning = async (
  stored: StoredFile,
  file: string,
  { head, tail }: PreviewCommand,
  signal: AbortSignal,
): Promise<Buffer> => {
  const size = stored.size ?? 0;
  if (size <= head + tail) {
    await copyPart(stored, file, { limit: head + tail }, signal);
    return beginningOfFile(file);
  }
  // Elsewhere a gap is written to disk.
  if (tail === 0 || process.platform === 'win32') throw tooLarge();
  await copyPart(stored, file, { range: { start: 0, end: head - 1 }, limit: head }, signal);
  await copyPart(stored, file, { range: { start: size - tail, end: size - 1 }, limit: tail }, signal);
  return beginningOfFile(file);
};

const PREFIX = 'stowage-preview-';
const RUNNING = 2;
const WAITING = { maxWaiting: 1000, maxWaitMs: 60_000 };

/**
 * Creates the previews of one connector: pictures of files that are not images, drawn by programs in separate
 * processes. Searches for no programs and starts none.
 */
export const createPreviews = (log: Logger) => {
  const queue = createTaskQueue({ capacity: RUNNING, ...WAITING });
  const missing = new Set<string>();
  let sweeping: Promise<void> | undefined;

  const requireProgram = async (command: string): Promise<string> => {
    const path = await findProgram(command);
    if (path !== undefined) return path;
    if (!missing.has(command)) log.warn('A program for thumbnails cannot be run.', { program: command });
    missing.add(command);
    throw new BrokenImageError({ detail: 'its program cannot be run' });
  };

  return {
    /** Runs drawing work with limited concurrency. @throws BusyError, the signal's reason */
    hold: <Result>(work: () => Promise<Result>, signal: AbortSignal): Promise<Result> =>
      queue.run(work, 1, signal),
    /**
     * Draws a file, with `side` pixels on the longer side. The result is a picture that its program has made
     * of untrusted content, and equally untrusted. Leaves no files and no processes behind.
     * @throws BrokenImageError when it cannot be drawn, the signal's reason, errors of the store
     */
    draw: async (
      { kind, command, seconds }: DrawingProgram,
      stored: StoredFile,
      side: number,
      signal: AbortSignal,
    ): Promise<Buffer> => {
      const path = await requireProgram(command);
      await (sweeping ??= sweepTemporaryFolders(PREFIX));
      const folder = await makeTemporaryFolder(PREFIX);
      try {
        const file = join(folder, 'file');
        const beginning = await fetchBeginning(stored, file, commands[kind], signal);
        const args = commands[kind].args(file, beginning, side);
        if (args === undefined) throw new BrokenImageError();
        return await runProgram({ path, args, folder, seconds }, signal);
      } finally {
        await removeTemporaryFolder(folder);
      }
    },
  };
};

export type Previews = ReturnType<typeof createPreviews>;
