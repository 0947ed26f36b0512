import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { endProcess, freePort, untilAnswers } from '../tools/test-servers/server-processes.ts';
import { drain } from './service.ts';

/** Runs work with a bare Node server for a folder. */
export const withBareServer = async <Result>(
  folder: string,
  {
    waitsForDisk,
    makesPictures = false,
  }: { readonly waitsForDisk: boolean; readonly makesPictures?: boolean },
  work: (url: string, pid: number) => Promise<Result>,
): Promise<Result> => {
  const program = join(import.meta.dirname, 'bare-server.ts');
  const child = spawn(process.execPath, ['--import', 'tsx', program, folder], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, SYNC: waitsForDisk ? '1' : '0', PICTURES: makesPictures ? '1' : '0' },
  });
  try {
    const [port] = (await once(createInterface(child.stdout), 'line')) as [string];
    return await work(`http://127.0.0.1:${port}`, child.pid ?? 0);
  } finally {
    await endProcess(child);
  }
};

const nginx = '/usr/sbin/nginx';

/** Whether this machine can run nginx. */
export const hasNginx = existsSync(nginx);

const configuration = (scratch: string, folder: string, port: number): string => `
${process.getuid?.() === 0 ? 'user root;' : ''}
daemon off; worker_processes 1; pid ${scratch}/nginx.pid; error_log ${scratch}/nginx.log error;
events { worker_connections 64; }
http {
  access_log off; sendfile on; tcp_nopush on;
  ${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${scratch}/nginx-temp;`).join(' ')}
  server { listen 127.0.0.1:${String(port)}; location / { root ${folder}; } }
}`;

/** Runs work with nginx for a folder: one worker with sendfile. */
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
    await untilAnswers(child, () => drain(`${url}/${probe}`));
    return await work(url);
  } finally {
    await endProcess(child);
  }
};
