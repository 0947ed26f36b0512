import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import autocannon from 'autocannon';
import { median, type Measurement } from './measurement.ts';
import { withScratch } from './scratch.ts';
import { drain, withService } from './service.ts';

const ROUNDS = 3;
const REQUESTS = 20_000;
const CONNECTIONS = 50;

/** Responses per second over many connections. */
export const perSecond = async (url: string): Promise<number> => {
  const result = await autocannon({ url, amount: REQUESTS, connections: CONNECTIONS });
  if (result.non2xx > 0 || result.errors > 0) throw new Error(`${url} failed under load`);
  return result['2xx'] / ((result.finish.getTime() - result.start.getTime()) / 1000);
};

/** Runs work with a server in its own process; `program` prints its port. */
export const withServer = async <Result>(
  program: string,
  work: (url: string, pid: number) => Promise<Result>,
): Promise<Result> => {
  const child = spawn(process.execPath, ['-e', program], {
    cwd: import.meta.dirname,
    env: { ...process.env, NODE_ENV: 'production' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(child, 'exit');
  try {
    const [port] = (await once(createInterface(child.stdout), 'line')) as [string];
    return await work(`http://127.0.0.1:${port}/`, child.pid ?? 0);
  } finally {
    child.kill();
    await ended;
  }
};

/** Runs work with a bare node:http server in its own process that returns the same bytes. */
export const withBareServer = <Result>(
  body: string,
  work: (url: string) => Promise<Result>,
): Promise<Result> =>
  withServer(
    `
    const body = ${JSON.stringify(body)};
    const headers = { 'content-type': 'application/json; charset=utf-8', 'content-length': Buffer.byteLength(body) };
    const server = require('node:http').createServer((request, response) => response.writeHead(200, headers).end(body));
    server.listen(0, '127.0.0.1', () => console.log(server.address().port));
  `,
    work,
  );

/** Small JSON responses: `permissions` compared with a server that returns the same bytes. */
export const permissions: Measurement = {
  name: 'permissions',
  run: () =>
    withScratch(async (scratch) => {
      const root = join(scratch, 'files');
      await mkdir(root);
      return withService(scratch, root, async (service) => {
        const url = `${service.url}/permissions?path=sub`;
        const body = await (await fetch(url)).text();
        return withBareServer(body, async (bareUrl) => {
          const ours: number[] = [];
          const bare: number[] = [];
          await drain(bareUrl);
          for (let round = 0; round <= ROUNDS; round += 1) {
            const [own, other] = [await perSecond(url), await perSecond(bareUrl)];
            // The first round only warms up.
            if (round > 0) {
              ours.push(own);
              bare.push(other);
            }
          }
          return [
            {
              what: '`permissions` a second',
              unit: '/s',
              ours: median(ours),
              reference: { name: 'bare node:http', value: median(bare) },
            },
            { what: 'RSS after them', unit: 'MB', ours: await service.memory() },
          ];
        });
      });
    }),
};
