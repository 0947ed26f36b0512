import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { compare, MEGABYTES } from './download.ts';
import { interleaved, median, type Measurement, type Row } from './measurement.ts';
import { hasNginx, withNginx } from './other-servers.ts';
import { perSecond, withBareServer, withServer } from './permissions.ts';
import { withScratch } from './scratch.ts';
import { keepAlive, response, type Service, withService } from './service.ts';

const ROUNDS = 3;
const [LARGE, SMALL] = ['large.zip', 'small.txt'];
const SMALL_BYTES = 10 * 1024;
const SLOW_READERS = 500;
const ASKED = 500;

/** Runs work with Express for a folder, in its own process. */
const withExpress = <Result>(root: string, work: (url: string) => Promise<Result>): Promise<Result> =>
  withServer(
    `
    const express = require('express');
    const app = express();
    app.use(express.static(${JSON.stringify(root)}));
    const server = app.listen(0, '127.0.0.1', () => console.log(server.address().port));
  `,
    work,
  );

/** Requests one small file repeatedly, from ours and other servers in turn. */
const smallFiles = async (own: string, others: Readonly<Record<string, string>>): Promise<readonly Row[]> => {
  const runs = [own, ...Object.values(others)].map((url) => ({ url, values: [] as number[] }));
  for (let round = 0; round <= ROUNDS; round += 1) {
    for (const { url, values } of runs) {
      const value = await perSecond(url);
      // The first round only warms up.
      if (round > 0) values.push(value);
    }
  }
  const [ours = Number.NaN, ...references] = runs.map(({ values }) => median(values));
  return Object.keys(others).map((name, index) => ({
    what: 'served files of 10 KB a second',
    unit: '/s',
    ours,
    reference: { name, value: references[index] ?? Number.NaN },
  }));
};

/** Requests that get 304, compared with requests that get the file, in turn. */
const unchanged = async (url: string): Promise<readonly Row[]> => {
  const etag = (await fetch(url)).headers.get('etag') ?? '';
  const agent = keepAlive();
  const ask = async (headers: Record<string, string>, wanted: number): Promise<void> => {
    for (let count = 0; count < ASKED; count += 1) {
      const answer = await response(url, agent, headers);
      answer.resume();
      await once(answer, 'end');
      if (answer.statusCode !== wanted) throw new Error(`${url} answered ${String(answer.statusCode)}`);
    }
  };
  try {
    const [kept = Number.NaN, sent = Number.NaN] = await interleaved(ROUNDS, [
      () => ask({ 'if-none-match': etag }, 304),
      () => ask({}, 200),
    ]);
    return [
      {
        what: `${String(ASKED)} answers 304 for a file of 10 KB`,
        unit: 'ms',
        ours: kept,
        reference: { name: 'as many with the file', value: sent },
        aim: { atMost: 1 },
      },
    ];
  } finally {
    agent.destroy();
  }
};

/** Memory of the service while many clients have requested a large file without reading on. */
const besideSlowReaders = async (service: Service, path: string): Promise<readonly Row[]> => {
  const { hostname, port } = new URL(service.url);
  const readers: Socket[] = [];
  try {
    for (let count = 0; count < SLOW_READERS; count += 1) {
      const reader = connect(Number(port), hostname);
      readers.push(reader);
      await once(reader, 'connect');
      reader.write(`GET ${path} HTTP/1.1\r\nHost: ${hostname}\r\n\r\n`);
      await once(reader, 'readable');
    }
    await delay(1000);
    return [
      {
        what: `RSS beside ${String(SLOW_READERS)} slow readers of 20 MB`,
        unit: 'MB',
        ours: await service.memory(),
      },
    ];
  } finally {
    for (const reader of readers) reader.destroy();
  }
};

/**
 * Files that the service serves itself: large ones compared with nginx, small ones with Express and a server
 * that has them in memory.
 */
export const serving: Measurement = {
  name: 'serving',
  run: () =>
    withScratch(async (scratch) => {
      const root = join(scratch, 'files');
      await mkdir(root);
      await writeFile(join(root, LARGE), randomBytes(MEGABYTES * 2 ** 20));
      const small = 'x'.repeat(SMALL_BYTES);
      await writeFile(join(root, SMALL), small);
      const sources = { files: { title: 'Files', root, serve: 'public' } };
      return withService(
        scratch,
        root,
        async (service) => [
          ...(hasNginx
            ? await withNginx(scratch, root, LARGE, (nginx) =>
                compare(
                  `${service.url}/file/files/${LARGE}`,
                  { nginx: `${nginx}/${LARGE}` },
                  'served file of 20 MB, 8 clients',
                ),
              )
            : []),
          ...(await withBareServer(small, (bare) =>
            withExpress(root, (express) =>
              smallFiles(`${service.url}/file/files/${SMALL}`, {
                'express.static': `${express}${SMALL}`,
                'node:http from memory': bare,
              }),
            ),
          )),
          ...(await unchanged(`${service.url}/file/files/${SMALL}`)),
          ...(await besideSlowReaders(service, `/file/files/${LARGE}`)),
        ],
        { sources },
      );
    }),
};
