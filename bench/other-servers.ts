import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { drain } from './service.ts';

const stop = async (child: ChildProcess): Promise<void> => {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  await ended;
};

/** Lends the bare Node server over a folder to the work. */
export const withBareServer = async <Result>(
  folder: string,
  {
    waitsForDisk,
    makesPictures = false,
  }: { readonly waitsForDisk: boolean; readonly makesPictures?: boolean },
  work: (url: string) => Promise<Result>,
): Promise<Result> => {
  const program = join(import.meta.dirname, 'bare-server.ts');
  const child = spawn(process.execPath, ['--import', 'tsx', program, folder], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, SYNC: waitsForDisk ? '1' : '0', PICTURES: makesPictures ? '1' : '0' },
  });
  try {
    const [port] = (await once(createInterface(child.stdout), 'line')) as [string];
    return await work(`http://127.0.0.1:${port}`);
  } finally {
    await stop(child);
  }
};

const nginx = '/usr/sbin/nginx';

/** Whether this machine can run nginx. */
export const hasNginx = existsSync(nginx);

const freePort = async (): Promise<number> => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
};

const configuration = (scratch: string, folder: string, port: number): string => `
${process.getuid?.() === 0 ? 'user root;' : ''}
daemon off; worker_processes 1; pid ${scratch}/nginx.pid; error_log ${scratch}/nginx.log error;
events { worker_connections 64; }
http {
  access_log off; sendfile on; tcp_nopush on;
  ${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${scratch}/nginx-temp;`).join(' ')}
  server { listen 127.0.0.1:${String(port)}; location / { root ${folder}; } }
}`;

/** Lends nginx over a folder to the work: one worker that hands files from the kernel to the socket. */
export const withNginx = async <Result>(
  scratch: string,
  folder: string,
  probe: string,
  work: (url: string) => Promise<Result>,
): Promise<Result> => {
  const port = await freePort();
  const url = `http://127.0.0.1:${String(port)}`;
  const file = join(scratch, 'nginx.conf');
  await mkdir(join(scratch, 'nginx-temp'), { recursive: true });
  await writeFile(file, configuration(scratch, folder, port));
  const child = spawn(nginx, ['-p', scratch, '-c', file], { stdio: ['ignore', 'ignore', 'inherit'] });
  try {
    for (let attempt = 0; ; attempt += 1) {
      if (
        await drain(`${url}/${probe}`).then(
          () => true,
          () => false,
        )
      )
        break;
      if (attempt === 200 || child.exitCode !== null) throw new Error('nginx did not start.');
      await delay(20);
    }
    return await work(url);
  } finally {
    await stop(child);
  }
};
