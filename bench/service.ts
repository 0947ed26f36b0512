import { spawn, type ChildProcess } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { Agent, get, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { endProcess, freePort, untilAnswers } from '../tools/test-servers/server-processes.ts';

const KEPT_COMPLAINTS = 10_000;
const RECEIVED_BYTES = 64 * 1024;

/** The built service in its own process, as users run it. */
export interface Service {
  /** `http://127.0.0.1:PORT` */
  readonly url: string;
  readonly pid: number;
  /** Milliseconds from the start of the process to its first response. */
  readonly startedIn: number;
  /** Resident memory of the process in MB. */
  memory(): Promise<number>;
  /** Highest resident memory of the process so far in MB. */
  peakMemory(): Promise<number>;
  stop(): Promise<void>;
}

/** The response to a GET; the caller reads its body. */
export const response = (
  url: string,
  agent?: Agent,
  headers: Readonly<Record<string, string>> = {},
): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    get(url, { headers, ...(agent === undefined ? {} : { agent }) }, resolve).on('error', reject);
  });

/**
 * Requests a URL and counts the bytes of the response without storing them. Rejects unless the status is 200.
 */
export const drain = async (url: string, agent?: Agent): Promise<number> => {
  const answer = await response(url, agent);
  let bytes = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) bytes += chunk.length;
  if (answer.statusCode !== 200) throw new Error(`${url} answered ${String(answer.statusCode)}`);
  return bytes;
};

/**
 * Requests a URL over a bare socket, with one buffer, and counts the received bytes: the reader costs as
 * little as `cat`. Rejects unless the response is complete and has status 200.
 */
export const receive = (url: string): Promise<number> =>
  new Promise((resolve, reject) => {
    const { hostname, port, pathname, search } = new URL(url);
    let bytes = 0;
    let start = '';
    let end = '';
    const callback = (count: number, buffer: Uint8Array): boolean => {
      const text = Buffer.from(buffer.buffer, 0, count);
      if (bytes === 0) start = text.toString('latin1', 0, 12);
      end = (end + text.toString('latin1', Math.max(0, count - 5))).slice(-5);
      bytes += count;
      return true;
    };
    const onread = { buffer: Buffer.allocUnsafeSlow(RECEIVED_BYTES), callback };
    connect({ host: hostname, port: Number(port), onread })
      .on('error', reject)
      .on('close', () => {
        if (start === 'HTTP/1.1 200' && end === '0\r\n\r\n') resolve(bytes);
        else reject(new Error(`${url} broke off, or answered ${start}`));
      })
      .write(`GET ${pathname}${search} HTTP/1.1\r\nHost: ${hostname}\r\nConnection: close\r\n\r\n`);
  });

/** An agent with one persistent connection, like a browser. */
export const keepAlive = (): Agent => new Agent({ keepAlive: true });

const memoryOf = async (child: ChildProcess, field: 'VmRSS' | 'VmHWM'): Promise<number> => {
  const status = await readFile(`/proc/${String(child.pid)}/status`, 'utf8');
  const kilobytes = new RegExp(`^${field}:\\s+(\\d+) kB`, 'mu').exec(status)?.[1];
  return Number(kilobytes) / 1024;
};

/** Processor time of a process in milliseconds, in steps of 10. */
export const processorTime = async (pid: number): Promise<number> => {
  const stat = await readFile(`/proc/${String(pid)}/stat`, 'utf8');
  const [user = 0, system = 0] = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 13)
    .map(Number);
  return (user + system) * 10;
};

/**
 * Starts `stowage serve` with one local source named `files`; `settings` are added, and may define other
 * sources. The configuration file is written to `scratch`.
 */
export const startService = async (
  scratch: string,
  root: string,
  settings: Readonly<Record<string, unknown>> = {},
): Promise<Service> => {
  const port = await freePort();
  const url = `http://127.0.0.1:${String(port)}`;
  const config = join(scratch, `config-${String(port)}.json`);
  const sources = { files: { title: 'Files', root, baseurl: 'http://127.0.0.1/files/' } };
  await writeFile(config, JSON.stringify({ sources, ...settings }));
  const main = join(import.meta.dirname, '../packages/stowage/dist/cli.js');
  const start = performance.now();
  const child = spawn(
    process.execPath,
    [main, 'serve', '--config', config, '--host', '127.0.0.1', '--port', String(port)],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  );
  let complaints = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaints = (complaints + text).slice(-KEPT_COMPLAINTS);
  });
  try {
    await untilAnswers(child, () => drain(`${url}/ping`), 2);
  } catch (error) {
    await endProcess(child);
    console.error(complaints);
    throw error;
  }
  return {
    url,
    pid: child.pid ?? 0,
    startedIn: performance.now() - start,
    memory: () => memoryOf(child, 'VmRSS'),
    peakMemory: () => memoryOf(child, 'VmHWM'),
    stop: () => endProcess(child),
  };
};

/** Runs work with a service, and stops it afterwards. */
export const withService = async <Result>(
  scratch: string,
  root: string,
  work: (service: Service) => Promise<Result>,
  settings: Readonly<Record<string, unknown>> = {},
): Promise<Result> => {
  const service = await startService(scratch, root, settings);
  try {
    return await work(service);
  } finally {
    await service.stop();
  }
};
