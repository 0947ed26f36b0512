import { spawn, type ChildProcess } from 'node:child_process';
import { readProgramEnvironment } from '../../config/environment.ts';
import { BrokenImageError } from '../../errors/errors.ts';

/** One run of a program. */
export interface ProgramRun {
  /** Its whole path. */
  readonly path: string;
  readonly args: readonly string[];
  /** The only folder that it is told of: where it starts, its home, and where its temporary files go. */
  readonly folder: string;
  readonly seconds: number;
}

/** Most bytes that a program may give. */
const MAX_OUTPUT_BYTES = 16 * 1024 * 1024;
/** Most bytes of what it complains about that are kept for the log. */
const MAX_COMPLAINT_BYTES = 500;
/** Address space; libraries take up to a third of it. */
const MAX_MEMORY_KILOBYTES = 1024 * 1024;
/** The unit is 512 or 1024 bytes. */
const MAX_FILE_BLOCKS = 32 * 1024;

/**
 * The system bounds what the program takes, also when this process is killed meanwhile; where it has no such
 * bound, the program runs without. When memory runs out, the kernel ends the program before others.
 * The words of the program are arguments of the script, never part of it.
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
    // It leads a process group, so that what it starts itself ends with it.
    detached: isPosix,
    windowsHide: true,
  });
};

const killGroup = (child: ChildProcess): void => {
  try {
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
  } catch {
    child.kill('SIGKILL');
  }
};

/**
 * Runs a program within bounds and gives what it writes to its output. When the promise settles, the program
 * and all that it has started in its group have ended.
 * @throws BrokenImageError when it fails, gives nothing or too much, or takes too long; the signal's reason
 */
export const runProgram = (run: ProgramRun, signal: AbortSignal): Promise<Buffer> =>
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
