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

/** Number of responses over many connections, and the seconds that they took. */
const load = async (url: string): Promise<{ readonly responses: number; readonly seconds: number }> => {
  const result = await autocannon({ url, duration: SECONDS, connections: CONNECTIONS });
  if (result.non2xx > 0 || result.errors > 0) throw new Error(`${url} failed under load`);
  return { responses: result['2xx'], seconds: result.duration };
};

/** Responses per second over many connections. */
export const perSecond = async (url: string): Promise<number> => {
  const { responses, seconds } = await load(url);
  return responses / seconds;
};

/** Processor time of one response in microseconds, over many connections. */
const microseconds = async (url: string, pid: number): Promise<number> => {
  const before = await processorTime(pid);
  const { responses } = await load(url);
  return ((await processorTime(pid)) - before) * (1000 / responses);
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
            { url, pid: service.pid, rates: [] as number[], costs: [] as number[] },
            { url: bareUrl, pid: barePid, rates: [] as number[], costs: [] as number[] },
          ];
          for (const server of servers) await load(server.url);
          for (let round = 0; round < ROUNDS; round += 1) {
            for (const { url: to, pid, rates, costs } of servers) {
              rates.push(await perSecond(to));
              costs.push(await microseconds(to, pid));
            }
          }
          const [rate = Number.NaN, bareRate = Number.NaN] = servers.map(({ rates }) => median(rates));
          const [cost = Number.NaN, bareCost = Number.NaN] = servers.map(({ costs }) => median(costs));
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
