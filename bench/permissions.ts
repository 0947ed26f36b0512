import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import autocannon from 'autocannon';
import { median, type Measurement } from './measurement.ts';
import { withScratch } from './scratch.ts';
import { drain, processorTime, withService } from './service.ts';

const ROUNDS = 3;
const SECONDS = 2;
const CONNECTIONS = 50;

/** Responses over many connections: how many a second, and the processor time of one in microseconds. */
const load = async (url: string, pid: number): Promise<{ readonly rate: number; readonly cost: number }> => {
  const before = await processorTime(pid);
  const result = await autocannon({ url, duration: SECONDS, connections: CONNECTIONS });
  if (result.non2xx > 0 || result.errors > 0) throw new Error(`${url} failed under load`);
  const spent = (await processorTime(pid)) - before;
  return { rate: result['2xx'] / result.duration, cost: (spent * 1000) / result['2xx'] };
};

/** Responses per second over many connections. */
export const perSecond = async (url: string): Promise<number> => (await load(url, process.pid)).rate;

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
  work: (url: string, pid: number) => Promise<Result>,
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
        return withBareServer(body, async (bareUrl, barePid) => {
          await drain(bareUrl);
          const servers = [
            { url, pid: service.pid, loads: [] as Awaited<ReturnType<typeof load>>[] },
            { url: bareUrl, pid: barePid, loads: [] as Awaited<ReturnType<typeof load>>[] },
          ];
          for (let round = 0; round <= ROUNDS; round += 1) {
            for (const { url: to, pid, loads } of servers) {
              const result = await load(to, pid);
              // The first round only warms up.
              if (round > 0) loads.push(result);
            }
          }
          const [rate = Number.NaN, bareRate = Number.NaN] = servers.map(({ loads }) =>
            median(loads.map((one) => one.rate)),
          );
          const [cost = Number.NaN, bareCost = Number.NaN] = servers.map(({ loads }) =>
            median(loads.map((one) => one.cost)),
          );
          const name = 'bare node:http';
          return [
            { what: '`permissions` a second', unit: '/s', ours: rate, reference: { name, value: bareRate } },
            {
              what: '`permissions`, processor time',
              unit: '\u00b5s',
              ours: cost,
              reference: { name, value: bareCost },
              aim: { atMost: 3 },
            },
            { what: 'RSS after them', unit: 'MB', ours: await service.memory() },
          ];
        });
      });
    }),
};
