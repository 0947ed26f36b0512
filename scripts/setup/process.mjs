import { spawn, spawnSync } from 'node:child_process';
import { constants, setPriority } from 'node:os';
import { fileURLToPath } from 'node:url';

/** The folder of the project. */
export const root = fileURLToPath(new URL('../../', import.meta.url));

const SIGNALS = ['SIGINT', 'SIGTERM'];

/**
 * Calls back once when the parent process has ended. `npm start` sends SIGTERM to the shell between npm and
 * this process, which does not forward it; only the changed parent shows it.
 */
const whenOrphaned = (callback) => {
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    callback();
  }, 500).unref();
  return () => clearInterval(timer);
};

/**
 * Runs a program in the project's folder, with the same standard streams. Signals are forwarded, and it is
 * terminated when the parent process has ended. Resolves to its exit status; for a program that was ended by
 * a signal 128 and more.
 */
export const run = (command, args, environment = {}) =>
  new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      cwd: root,
      stdio: 'inherit',
      env: { ...process.env, ...environment },
    });
    const pass = (signal) => child.kill(signal);
    for (const signal of SIGNALS) process.on(signal, pass);
    const stopWatching = whenOrphaned(() => child.kill('SIGTERM'));
    child.on('error', reject);
    child.on('exit', (code, signal) => {
      stopWatching();
      for (const one of SIGNALS) process.off(one, pass);
      resolve(code ?? (signal === null ? 1 : 130));
    });
  });

/** The command of the npm that started this process, else of the one in the path. */
const npmCommand = (args) => {
  const script = process.env.npm_execpath;
  return script === undefined || !/npm-cli\.[cm]?js$/u.test(script)
    ? ['npm', args]
    : [process.execPath, [script, ...args]];
};

/** Runs npm like `run`. */
export const npm = (args) => run(...npmCommand(args));

/**
 * Runs a program like `run`. Resolves to its exit status and its output, which can then be printed in one
 * piece.
 */
export const runAside = async (command, args, environment = {}, priority = undefined) => {
  const env = { ...process.env, ...environment };
  const child = spawn(command, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'], env });
  if (child.pid !== undefined && priority !== undefined) setPriority(child.pid, priority);
  const stopWatching = whenOrphaned(() => child.kill('SIGTERM'));
  const pass = (signal) => child.kill(signal);
  for (const signal of SIGNALS) process.on(signal, pass);
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text) => (output += text));
  const status = await new Promise((resolve) => {
    child.on('error', () => resolve(1));
    child.on('close', (code) => resolve(code ?? 1));
  });
  stopWatching();
  for (const signal of SIGNALS) process.off(signal, pass);
  return { status, output };
};

/** Runs npm like `runAside`, with low priority. */
export const npmAside = (args) => runAside(...npmCommand(args), {}, constants.priority.PRIORITY_LOW);

/** Output of a program, or undefined when it could not run or failed. */
export const outputOf = (command, args) => {
  const { status, stdout } = spawnSync(command, args, { cwd: root, encoding: 'utf8' });
  return status === 0 ? stdout : undefined;
};

/** Exits with a message when a step failed. */
export const orFail = (status, message) => {
  if (status === 0) return;
  process.stderr.write(`${message}\n`);
  process.exit(status);
};
