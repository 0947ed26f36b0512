import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/** A service in its own process. */
export interface Instance {
  readonly url: string;
  /** Its output on standard error. */
  log(): string;
  /** Kills it without any cleanup. */
  kill(): Promise<void>;
  stop(): Promise<void>;
}

const MAIN = fileURLToPath(new URL('../../packages/stowage/dist/cli.js', import.meta.url));

/** Differences from the built service in the environment of the tests. */
export interface InstanceOptions {
  readonly main?: string;
  readonly environment?: NodeJS.ProcessEnv;
}

/** Starts the service with this configuration on a free port. */
export const startInstance = async (
  config: object,
  { main = MAIN, environment = {} }: InstanceOptions = {},
): Promise<Instance> => {
  const child = spawn(process.execPath, [main, 'serve', '--host', '127.0.0.1', '--port', '0'], {
    env: { ...process.env, ...environment, CONFIG: JSON.stringify(config) },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const ended = once(child, 'exit');
  let log = '';
  const url = await new Promise<string>((resolve, reject) => {
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      log += text;
      const found = /Listening on (http:\/\/[^/"]+)/u.exec(log)?.[1];
      if (found !== undefined) resolve(found);
    });
    ended.then(() => reject(new Error(`The service did not start: ${log}`)), reject);
  });
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    child.kill(signal);
    await ended;
  };
  return { url, log: () => log, kill: () => end('SIGKILL'), stop: () => end('SIGTERM') };
};
