import { randomBytes } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { Agent } from 'node:http';
import { join } from 'node:path';
import { median, timed, type Measurement, type Row } from './measurement.ts';
import { hasNginx, withBareServer, withNginx } from './other-servers.ts';
import { withScratch } from './scratch.ts';
import { drain, withService } from './service.ts';

const ROUNDS = 7;
const CLIENTS = 8;
const FILES_PER_CLIENT = 4;
export const MEGABYTES = 20;
const NAME = 'download.zip';

/** Megabytes per second of all clients together. */
const perSecond = async (url: string, agent: Agent): Promise<number> => {
  const client = async (): Promise<void> => {
    for (let count = 0; count < FILES_PER_CLIENT; count += 1) {
      const bytes = await drain(url, agent);
      if (bytes !== MEGABYTES * 2 ** 20) throw new Error(`${url} gave ${String(bytes)} bytes`);
    }
  };
  const time = await timed(() => Promise.all(Array.from({ length: CLIENTS }, client)));
  return (CLIENTS * FILES_PER_CLIENT * MEGABYTES) / (time / 1000);
};

/** Downloads one file with several clients, from ours and other servers in turn. */
export const compare = async (
  own: string,
  others: Readonly<Record<string, string>>,
  what = 'download of 20 MB, 8 clients',
): Promise<readonly Row[]> => {
  const agent = new Agent({ keepAlive: true, maxSockets: CLIENTS });
  const runs = [own, ...Object.values(others)].map((url) => ({ url, values: [] as number[] }));
  for (let round = 0; round <= ROUNDS; round += 1) {
    for (const { url, values } of runs) {
      const value = await perSecond(url, agent);
      // The first round only warms up.
      if (round > 0) values.push(value);
    }
  }
  agent.destroy();
  const [ours = Number.NaN, ...references] = runs.map(({ values }) => median(values));
  return Object.keys(others).map((name, index) => ({
    what,
    unit: 'MB/s',
    ours,
    reference: { name, value: references[index] ?? Number.NaN },
  }));
};

/** Downloads of 20 MB by 8 concurrent clients, compared with a bare Node server and, if installed, nginx. */
export const download: Measurement = {
  name: 'download',
  run: () =>
    withScratch(async (scratch) => {
      const folder = join(scratch, 'files');
      await mkdir(folder);
      await writeFile(join(folder, NAME), randomBytes(MEGABYTES * 2 ** 20));
      return withService(scratch, folder, (service) => {
        const own = `${service.url}/fileDownload?name=${NAME}`;
        return withBareServer(folder, { waitsForDisk: false }, (bareUrl) => {
          const bare = { 'bare node:http': `${bareUrl}/${NAME}` };
          if (!hasNginx) return compare(own, bare);
          return withNginx(scratch, folder, NAME, (url) =>
            compare(own, { ...bare, nginx: `${url}/${NAME}` }),
          );
        });
      });
    }),
};
