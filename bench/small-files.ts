import { randomBytes } from 'node:crypto';
import { mkdir, readdir, rm } from 'node:fs/promises';
import { Agent } from 'node:http';
import { join } from 'node:path';
import { sendFiles } from './form.ts';
import { interleaved, median, type Measurement } from './measurement.ts';
import { withBareServer } from './other-servers.ts';
import { withScratch } from './scratch.ts';
import { processorTime, withService } from './service.ts';

const ROUNDS = 7;
const FILES = 100;

const empty = async (folder: string): Promise<void> => {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.zip'));
  if (names.length !== FILES) throw new Error(`${String(names.length)} files arrived`);
  for (const name of names) await rm(join(folder, name));
};

/**
 * Files of 10 KB, a hundred in one form and one after the other, compared with a bare server that waits for
 * the disk.
 */
export const smallFiles: Measurement = {
  name: 'small-files',
  run: () =>
    withScratch(async (scratch) => {
      const [ours, bare] = [join(scratch, 'ours'), join(scratch, 'bare')];
      for (const folder of [ours, bare]) await mkdir(folder);
      const bytes = randomBytes(10 * 1024);
      const names = Array.from({ length: FILES }, (_, index) => `small-${String(index)}-file.zip`);
      const agent = new Agent({ keepAlive: true });
      return withService(
        scratch,
        ours,
        (service) =>
          withBareServer(bare, { waitsForDisk: true }, async (bareUrl, pid) => {
            const both = [
              { url: `${service.url}/fileUpload`, folder: ours, pid: service.pid, spent: [] as number[] },
              { url: bareUrl, folder: bare, pid, spent: [] as number[] },
            ];
            const whole = async ({ url, folder }: (typeof both)[number]): Promise<void> => {
              await sendFiles(url, names, bytes, agent);
              await empty(folder);
            };
            const single = async ({ url, folder, pid, spent }: (typeof both)[number]): Promise<void> => {
              const before = await processorTime(pid);
              for (const name of names) await sendFiles(url, [name], bytes, agent);
              spent.push(((await processorTime(pid)) - before) / FILES);
              await empty(folder);
            };
            const works = (work: typeof whole) => both.map((one) => () => work(one));
            const [form = Number.NaN, bareForm = Number.NaN] = await interleaved(ROUNDS, works(whole));
            await interleaved(ROUNDS, works(single));
            agent.destroy();
            const [cpu = Number.NaN, bareCpu = Number.NaN] = both.map(({ spent }) => median(spent));
            const name = 'node:http + busboy + fsync';
            const aim = { atMost: 1.8 };
            return [
              {
                what: `form of ${String(FILES)} files of 10 KB`,
                unit: 'ms',
                ours: form,
                reference: { name, value: bareForm },
                aim,
              },
              {
                what: 'upload of a file of 10 KB, processor time',
                unit: 'ms',
                ours: cpu,
                reference: { name, value: bareCpu },
                aim,
              },
            ];
          }),
        { extensions: ['zip'] },
      );
    }),
};
