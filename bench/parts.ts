import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { constants } from 'node:fs';
import { copyFile, mkdir, open, rm, stat, writeFile } from 'node:fs/promises';
import { Agent, request, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { interleaved, median, timed, type Measurement, type Row } from './measurement.ts';
import { withServer } from './permissions.ts';
import { withScratch } from './scratch.ts';
import { drain, processorTime, withService } from './service.ts';

const ROUNDS = 9;
const PARTS = 25;
const PART_BYTES = 8 * 2 ** 20;
const BYTES = PARTS * PART_BYTES;

/** A tus server, its process, and the location of an uploaded file. */
interface Target {
  readonly url: string;
  readonly pid: number;
  readonly fileOf: (location: string) => string;
  readonly parts: number[];
  readonly last: number[];
  readonly spent: number[];
}

const target = (url: string, pid: number, fileOf: Target['fileOf']): Target => ({
  url,
  pid,
  fileOf,
  parts: [],
  last: [],
  spent: [],
});

const send = async (
  url: string,
  method: string,
  headers: Readonly<Record<string, string>>,
  agent: Agent,
  part?: Buffer,
): Promise<IncomingMessage> => {
  const sent = request(url, { method, agent, headers: { 'tus-resumable': '1.0.0', ...headers } });
  sent.end(part);
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  answer.resume();
  await once(answer, 'end');
  if ((answer.statusCode ?? 500) >= 300) throw new Error(`${url} answered ${String(answer.statusCode)}`);
  return answer;
};

/** One upload in consecutive parts over one connection; the last part is measured separately. */
const upload = async ({ url, pid, fileOf, ...to }: Target, part: Buffer, agent: Agent): Promise<void> => {
  const before = await processorTime(pid);
  const begun = performance.now();
  const name = Buffer.from('film.zip').toString('base64');
  const created = { 'upload-length': String(BYTES), 'upload-metadata': `filename ${name}` };
  const { location = '' } = (await send(url, 'POST', created, agent)).headers;
  const address = new URL(location, url).href;
  const append = (index: number): Promise<number> =>
    timed(() =>
      send(
        address,
        'PATCH',
        {
          'content-type': 'application/offset+octet-stream',
          'content-length': String(part.length),
          'upload-offset': String(index * part.length),
        },
        agent,
        part,
      ),
    );
  let last = Number.NaN;
  for (let index = 0; index < PARTS; index += 1) last = await append(index);
  to.parts.push(performance.now() - begun);
  to.last.push(last);
  to.spent.push((await processorTime(pid)) - before);
  const file = fileOf(location);
  const { size } = await stat(file);
  if (size !== BYTES) throw new Error(`${file} has ${String(size)} bytes`);
  await rm(file);
};

/** The library's own server with its file store; with `flushes` a part is on disk before the response. */
const peer = (folder: string, flushes: boolean): string => `
  (async () => {
    const { Server } = await import('@tus/server');
    const { FileStore } = await import('@tus/file-store');
    const { open } = require('node:fs/promises');
    class Flushed extends FileStore {
      async write(readable, id, offset) {
        const end = await super.write(readable, id, offset);
        const handle = await open(this.resolve(id), 'r+');
        await handle.datasync();
        await handle.close();
        return end;
      }
    }
    const datastore = new ${flushes ? 'Flushed' : 'FileStore'}({ directory: ${JSON.stringify(folder)} });
    const tus = new Server({ path: '/tus', datastore });
    const server = require('node:http').createServer((request, response) => tus.handle(request, response));
    server.listen(0, '127.0.0.1', () => console.log(server.address().port));
  })();
`;

const rowsOf = (own: Target, others: Readonly<Record<string, Target>>): readonly Row[] => {
  const row = (what: string, of: (one: Target) => readonly number[], name: string, atMost?: number): Row => ({
    what,
    unit: 'ms',
    ours: median(of(own)),
    reference: { name, value: median(of(others[name] ?? own)) },
    ...(atMost === undefined ? {} : { aim: { atMost } }),
  });
  const what = `resumable upload of 200 MB in ${String(PARTS)} parts`;
  return Object.keys(others).flatMap((name) => [
    row(what, ({ parts }) => parts, name, 1),
    row(`${what}, processor time`, ({ spent }) => spent, name, 1),
    row(`${what}: the last part`, ({ last }) => last, name, 2),
  ]);
};

const uploads = async (scratch: string): Promise<readonly Row[]> => {
  const [root, plain, flushed] = ['ours', 'plain', 'flushed'].map((name) => join(scratch, name));
  if (root === undefined || plain === undefined || flushed === undefined) throw new Error('no folders');
  for (const folder of [root, plain, flushed]) await mkdir(folder);
  const part = randomBytes(PART_BYTES);
  const settings = {
    stateDirectory: join(scratch, 'state'),
    maxUploadFileSize: '1gb',
    extensions: ['zip'],
  };
  const leftIn = (folder: string) => (location: string) => join(folder, location.split('/').at(-1) ?? '');
  return withService(
    scratch,
    root,
    (service) =>
      withServer(peer(plain, false), (plainUrl, plainPid) =>
        withServer(peer(flushed, true), async (flushedUrl, flushedPid) => {
          const own = target(`${service.url}/tus`, service.pid, () => join(root, 'film.zip'));
          const others = {
            '@tus/server, @tus/file-store': target(`${plainUrl}tus`, plainPid, leftIn(plain)),
            'the same + fsync': target(`${flushedUrl}tus`, flushedPid, leftIn(flushed)),
          };
          const agent = new Agent({ keepAlive: true });
          try {
            const works = [own, ...Object.values(others)].map((one) => () => upload(one, part, agent));
            await interleaved(ROUNDS, works);
          } finally {
            agent.destroy();
          }
          return rowsOf(own, others);
        }),
      ),
    settings,
  );
};

/** Processor time of this process in milliseconds, including its thread pool. */
const ownTime = async (work: () => Promise<unknown>): Promise<number> => {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
};

const copies = async (scratch: string): Promise<readonly Row[]> => {
  const root = join(scratch, 'copied');
  await mkdir(root);
  const file = join(root, 'film.zip');
  await writeFile(file, randomBytes(BYTES));
  return withService(
    scratch,
    root,
    async ({ url, pid }) => {
      const [ours, system]: [number[], number[]] = [[], []];
      const copy = join(scratch, 'copy.zip');
      await mkdir(join(root, 'copies'));
      const works = [
        async () => {
          const before = await processorTime(pid);
          await drain(`${url}/fileCopy?from=film.zip&path=copies`);
          ours.push((await processorTime(pid)) - before);
          await rm(join(root, 'copies', 'film.zip'));
        },
        async () => {
          system.push(
            await ownTime(async () => {
              await copyFile(file, copy, constants.COPYFILE_FICLONE);
              const handle = await open(copy, 'r+');
              await handle.datasync();
              await handle.close();
            }),
          );
          await rm(copy);
        },
      ];
      await interleaved(ROUNDS, works);
      return [
        {
          what: 'fileCopy of 200 MB, processor time',
          unit: 'ms',
          ours: median(ours),
          reference: { name: 'copyFile + fsync', value: median(system) },
          aim: { atMost: 1.2 },
        },
      ];
    },
    { extensions: ['zip'] },
  );
};

/**
 * Large files that are uploaded in parts, compared with the library of the protocol's authors, and copies of
 * large files.
 */
export const parts: Measurement = {
  name: 'parts',
  run: () => withScratch(async (scratch) => [...(await uploads(scratch)), ...(await copies(scratch))]),
};
