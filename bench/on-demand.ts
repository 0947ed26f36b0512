import { cp, mkdir, rm } from 'node:fs/promises';
import type { Agent } from 'node:http';
import { join } from 'node:path';
import { interleaved, median, timed, type Measurement, type Row } from './measurement.ts';
import { withServer } from './permissions.ts';
import { withScratch } from './scratch.ts';
import { drain, keepAlive, processorTime, type Service, withService } from './service.ts';
import { nameOf, PICTURES, QUALITY, SIDE, takePictures } from './thumbnails.ts';

const ROUNDS = 5;
const CLIENTS = 6;
const ASKED = 2000;

/** The image optimiser of Nuxt in its own process. It has no cache: every request makes its picture. */
const ipx = (folder: string): string => `
  (async () => {
    const { createIPX, createIPXNodeServer, ipxFSStorage } = await import('ipx');
    const handler = createIPXNodeServer(createIPX({ storage: ipxFSStorage({ dir: ${JSON.stringify(folder)} }) }));
    const server = require('node:http').createServer(handler);
    server.listen(0, '127.0.0.1', () => console.log(server.address().port));
  })();
`;

/** A server with the URLs of its pictures. */
interface Asked {
  readonly pid: number;
  readonly urls: readonly string[];
  readonly times: number[];
  readonly spent: number[];
}

/** Requests all URLs, some concurrently. */
const ask = async (urls: readonly string[], agent: Agent): Promise<void> => {
  const rest = urls.values();
  const client = async (): Promise<void> => {
    for (const url of rest) await drain(url, agent);
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
};

/** Processor time in milliseconds per request. */
const spentOf = async (pid: number, count: number, work: () => Promise<void>): Promise<number> => {
  const before = await processorTime(pid);
  await work();
  return ((await processorTime(pid)) - before) / count;
};

const making = async (root: string, service: Service, agent: Agent): Promise<readonly Row[]> => {
  const thumbs = join(root, 'photos', '_thumbs');
  const names = Array.from({ length: PICTURES }, (_, index) => nameOf(index));
  const form = `f_jpeg,q_${String(QUALITY)},fit_inside,w_${String(SIDE)},h_${String(SIDE)}`;
  return withServer(ipx(root), async (ipxUrl, ipxPid) => {
    const both = [
      { pid: service.pid, urls: names.map((name) => `${service.url}/file/files/photos/_thumbs/${name}`) },
      { pid: ipxPid, urls: names.map((name) => `${ipxUrl}${form}/photos/${name}`) },
    ].map((one): Asked => ({ ...one, times: [], spent: [] }));
    for (let round = -1; round < ROUNDS; round += 1) {
      for (const { pid, urls, times, spent } of both) {
        await rm(thumbs, { recursive: true, force: true });
        let time = Number.NaN;
        const cost = await spentOf(pid, PICTURES, async () => {
          time = await timed(() => ask(urls, agent));
        });
        if (round < 0) continue;
        times.push(time / PICTURES);
        spent.push(cost);
      }
    }
    const [ours, theirs] = both;
    if (ours === undefined || theirs === undefined) throw new Error('nothing was measured');
    const what = `thumbnail on demand of a JPEG of 12 megapixels, ${String(CLIENTS)} clients`;
    const row = (of: (one: Asked) => readonly number[]) => ({
      unit: 'ms',
      ours: median(of(ours)),
      reference: { name: 'ipx, which keeps none', value: median(of(theirs)) },
      aim: { atMost: 1 },
    });
    return [
      { what, ...row(({ times }) => times) },
      { what: `${what}, processor time`, ...row(({ spent }) => spent) },
    ];
  });
};

const existing = async (root: string, { url, pid }: Service, agent: Agent): Promise<readonly Row[]> => {
  const name = nameOf(0);
  await drain(`${url}/file/files/photos/_thumbs/${name}`);
  await cp(join(root, 'photos', '_thumbs', name), join(root, 'photos', 'same.jpg'));
  const [thumbs, files]: [number[], number[]] = [[], []];
  const measure = (path: string, into: number[]) => async () => {
    const urls = Array<string>(ASKED).fill(`${url}/file/files/${path}`);
    into.push(await spentOf(pid, ASKED, () => ask(urls, agent)));
  };
  await interleaved(ROUNDS, [measure(`photos/_thumbs/${name}`, thumbs), measure('photos/same.jpg', files)]);
  return [
    {
      what: 'thumbnail that exists, processor time',
      unit: 'ms',
      ours: median(thumbs),
      reference: { name: 'a served file of that size, beside its picture', value: median(files) },
      aim: { atMost: 2 },
    },
  ];
};

/** Thumbnails that a page requests one by one. */
export const onDemand: Measurement = {
  name: 'on-demand',
  run: () =>
    withScratch(async (scratch) => {
      const root = join(scratch, 'files');
      await mkdir(root);
      await takePictures(join(root, 'photos'));
      const sources = { files: { title: 'Files', root, serve: 'public' } };
      const agent = keepAlive();
      const work = async (service: Service): Promise<readonly Row[]> => [
        ...(await making(root, service, agent)),
        ...(await existing(root, service, agent)),
      ];
      return withService(scratch, root, work, { sources }).finally(() => agent.destroy());
    }),
};
