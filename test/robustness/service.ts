import type { ChildProcess } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import path from 'node:path';
import { endProcess, freePort, startServer } from '../../tools/test-servers/server-processes.ts';

/**
 * The built service in a process of its own, as it runs in production, so that it can be killed and weighed.
 */
export interface Service {
  readonly port: number;
  readonly child: ChildProcess;
  /** Resident memory in MB; undefined where the system does not tell. */
  memory(): Promise<number | undefined>;
  kill(): Promise<void>;
}

const main = path.join(import.meta.dirname, '../../packages/stowage/dist/cli.js');

/**
 * Starts `stowage serve` over one folder, with settings when given (its own `sources` go before the folder); the configuration is written to
 * `configFile`.
 */
export const startService = async (
  configFile: string,
  root: string,
  settings: Readonly<Record<string, unknown>> = {},
): Promise<Service> => {
  const sources = { files: { title: 'Files', root, baseurl: 'http://127.0.0.1/files/' } };
  await writeFile(configFile, JSON.stringify({ sources, ...settings }));
  const port = await freePort();
  const words = ['serve', '--config', configFile, '--host', '127.0.0.1', '--port', String(port)];
  const child = await startServer([process.execPath, main, ...words], () =>
    fetch(`http://127.0.0.1:${String(port)}/ping`),
  );
  return {
    port,
    child,
    memory: async () => {
      const status = await readFile(`/proc/${String(child.pid)}/status`, 'utf8').catch(() => '');
      const kilobytes = /^VmRSS:\s+(\d+) kB/mu.exec(status)?.[1];
      return kilobytes === undefined ? undefined : Number(kilobytes) / 1024;
    },
    kill: () => endProcess(child, 'SIGKILL'),
  };
};

const BOUNDARY = 'boundary-of-the-test';

/** A form with one file. */
export const formOf = (filename: string, content: Buffer): Buffer =>
  Buffer.concat([
    Buffer.from(
      `--${BOUNDARY}\r\ncontent-disposition: form-data; name="files[0]"; filename="${filename}"\r\n` +
        'content-type: application/octet-stream\r\n\r\n',
    ),
    content,
    Buffer.from(`\r\n--${BOUNDARY}--\r\n`),
  ]);

export interface Sending {
  /** Bytes of the body that are sent; then the connection is cut. Default: all. */
  readonly cutAfter?: number;
  readonly contentType?: string;
  /** What the request claims to carry. Default: what it carries. */
  readonly contentLength?: number;
}

/** Posts a body to fileUpload. Undefined when the connection ended without an answer. */
export const post = (port: number, body: Buffer, sending: Sending = {}): Promise<number | undefined> =>
  new Promise((resolve) => {
    const { cutAfter, contentLength = body.length } = sending;
    const sent = request(
      {
        host: '127.0.0.1',
        port,
        path: '/fileUpload',
        method: 'POST',
        agent: false,
        headers: {
          'content-type': sending.contentType ?? `multipart/form-data; boundary=${BOUNDARY}`,
          'content-length': contentLength,
        },
      },
      (answer) => {
        answer.resume();
        answer.on('end', () => resolve(answer.statusCode));
        answer.on('error', () => resolve(undefined));
      },
    );
    sent.on('error', () => resolve(undefined));
    sent.on('close', () => resolve(undefined));
    if (cutAfter === undefined) sent.end(body);
    else sent.write(body.subarray(0, cutAfter), () => sent.destroy());
  });
