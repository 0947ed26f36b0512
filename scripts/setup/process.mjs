import { spawn, spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** The folder of the project. */
export const root = fileURLToPath(new URL('../../', import.meta.url));

const SIGNALS = ['SIGINT', 'SIGTERM'];

/**
 * Runs a program in the project's folder, with our own input and output. Signals are handed on, so that it can end in order.
 * Resolves to its exit status; a program that a signal ended has 128 and more.
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
    child.on('error', reject);
    child.on('exit', (code, signal) => {
      for (const one of SIGNALS) process.off(one, pass);
      resolve(code ?? (signal === null ? 1 : 130));
    });
  });

/** The npm that started us, else the one on the path. */
export const npm = (args) => {
  const script = process.env.npm_execpath;
  return script === undefined || !/npm-cli\.[cm]?js$/u.test(script)
    ? run('npm', args)
    : run(process.execPath, [script, ...args]);
};

/** What a program printed, or undefined when it could not run or failed. */
export const outputOf = (command, args) => {
  const { status, stdout } = spawnSync(command, args, { cwd: root, encoding: 'utf8' });
  return status === 0 ? stdout : undefined;
};

/** Ends with a message when a step failed. */
export const orFail = (status, message) => {
  if (status === 0) return;
  process.stderr.write(`${message}\n`);
  process.exit(status);
};
