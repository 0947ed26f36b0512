import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { interleaved, timed, type Measurement, type Row } from './measurement.ts';
import { withServer } from './permissions.ts';
import { withScratch } from './scratch.ts';
import { drain, keepAlive, withService, type Service } from './service.ts';

const SIZES = [100, 1000, 10_000, 100_000];
/** Maximum ratio of a listing's time to that of a bare server, by number of files. */
const AIMS: Readonly<Record<number, number>> = { 100: 3, 1000: 1.8, 10_000: 1.4 };
/** The number of files with an aim in the table. */
const AIMED_SIZE = 10_000;
const ROUNDS = 9;
const DAY = 86_400;

/** Creates small text files with times and names in random order. */
const fill = (folder: string, count: number): void => {
  mkdirSync(folder);
  const now = Math.floor(Date.now() / 1000);
  for (let index = 0; index < count; index += 1) {
    const mixed = (index * 2_654_435_761) % 4_294_967_296;
    const path = join(folder, `document-${mixed.toString(36)}-${String(index)}.txt`);
    writeFileSync(path, 'x'.repeat(index % 100));
    utimesSync(path, now, now - (mixed % (365 * DAY)));
  }
};

const find = async (folder: string): Promise<void> => {
  const child = spawn('find', [folder, '-mindepth', '1', '-maxdepth', '1', '-printf', '%f\t%s\t%T@\n'], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const [code] = (await once(child, 'exit')) as [number | null];
  if (code !== 0) throw new Error(`find ended with ${String(code)}`);
};

/**
 * Names, sizes and times of a folder as JSON, with only synchronous readdir and lstat; below `/page/` of the
 * first 50 files by name.
 */
const bareListing = (root: string): string => `
  const fs = require('node:fs');
  const server = require('node:http').createServer((request, response) => {
    const folder = ${JSON.stringify(root)} + request.url.replace('/page/', '/');
    const filesOf = () => fs.readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isFile());
    const page = () => filesOf().map(({ name }) => name).sort().slice(0, 50);
    const names = request.url.startsWith('/page/') ? page() : fs.readdirSync(folder);
    const files = names.map((name) => {
      const { size, mtimeMs } = fs.lstatSync(folder + '/' + name);
      return { file: name, name, size, changed: mtimeMs };
    });
    const body = JSON.stringify({ success: true, data: { files } });
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) });
    response.end(body);
  });
  server.listen(0, '127.0.0.1', () => console.log(server.address().port));
`;

const rowsOf = async (
  service: Service,
  bare: string,
  root: string,
  count: number,
): Promise<readonly Row[]> => {
  const agent = keepAlive();
  const whole = `${service.url}/files?path=${String(count)}`;
  const page = `${whole}&mods[limit]=50&mods[sortBy]=name-asc`;
  try {
    const times = await interleaved(ROUNDS, [
      () => drain(whole, agent),
      () => drain(page, agent),
      () => drain(`${bare}${String(count)}`, agent),
      () => drain(`${bare}page/${String(count)}`, agent),
      () => find(join(root, String(count))),
    ]);
    const [wholeTime = Number.NaN, pageTime = Number.NaN] = times;
    const [, , bareTime = Number.NaN, barePage = Number.NaN, findTime = Number.NaN] = times;
    const atMost = AIMS[count];
    const reference = { name: 'find -printf', value: findTime };
    const files = count.toLocaleString('en');
    return [
      {
        what: `listing of ${files} files`,
        unit: 'ms',
        ours: wholeTime,
        reference: { name: 'bare node, readdir + lstat', value: bareTime },
        ...(atMost === undefined ? {} : { aim: { atMost } }),
      },
      {
        what: `listing of ${files} files`,
        unit: 'ms',
        ours: wholeTime,
        reference,
        ...(count === AIMED_SIZE ? { aim: { atMost: 3 } } : {}),
      },
      {
        what: `50 of ${files} files by name`,
        unit: 'ms',
        ours: pageTime,
        reference: { name: 'bare node, readdir + sort + lstat of 50', value: barePage },
        ...(count === AIMED_SIZE ? { aim: { atMost: 2.5 } } : {}),
      },
    ];
  } finally {
    agent.destroy();
  }
};

/** The longest response time of `/ping` during large listings. */
const longestWait = async (service: Service): Promise<number> => {
  const agent = keepAlive();
  let isListing = true;
  const listings = (async () => {
    try {
      for (let round = 0; round < 3; round += 1) await drain(`${service.url}/files?path=100000`);
    } finally {
      isListing = false;
    }
  })();
  let longest = 0;
  while (isListing) {
    longest = Math.max(longest, await timed(() => drain(`${service.url}/ping`, agent)));
  }
  agent.destroy();
  await listings;
  return longest;
};

/**
 * Listings over HTTP compared with `find -printf` of the same folder, and their effect on other requests and
 * on memory.
 */
export const listing: Measurement = {
  name: 'listing',
  run: () =>
    withScratch(async (scratch) => {
      const root = join(scratch, 'files');
      mkdirSync(root);
      for (const count of SIZES) fill(join(root, String(count)), count);
      return withService(scratch, root, async (service) => {
        const rows: Row[] = [];
        await withServer(bareListing(root), async (bare) => {
          for (const count of SIZES) rows.push(...(await rowsOf(service, bare, root, count)));
        });
        rows.push({
          what: 'longest /ping beside listings of 100,000',
          unit: 'ms',
          ours: await longestWait(service),
        });
        rows.push({ what: 'peak RSS of these listings', unit: 'MB', ours: await service.peakMemory() });
        return rows;
      });
    }),
};
