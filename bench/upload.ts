import { randomBytes } from 'node:crypto';
import { mkdir, readdir, rm, stat } from 'node:fs/promises';
import { Agent } from 'node:http';
import { join } from 'node:path';
import { sendForm } from './form.ts';
import { median, timed, type Measurement } from './measurement.ts';
import { withBareServer } from './other-servers.ts';
import { withScratch } from './scratch.ts';
import { withService } from './service.ts';

const ROUNDS = 7;
const CLIENTS = 8;
const FILES_PER_CLIENT = 2;
const MEGABYTES = 20;

/** Empties a folder, after checking that every file is complete. */
const empty = async (folder: string): Promise<void> => {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.zip'));
  for (const name of names) {
    const { size } = await stat(join(folder, name));
    if (size !== MEGABYTES * 2 ** 20) throw new Error(`${name} has ${String(size)} bytes`);
    await rm(join(folder, name));
  }
  if (names.length !== CLIENTS * FILES_PER_CLIENT) throw new Error(`${String(names.length)} files arrived`);
};

/** Megabytes per second that all clients together upload. */
const perSecond = async (url: string, folder: string, bytes: Buffer, agent: Agent): Promise<number> => {
  const client = async (_: unknown, index: number): Promise<void> => {
    for (let count = 0; count < FILES_PER_CLIENT; count += 1) {
      await sendForm(url, `upload-${String(index)}-${String(count)}.zip`, bytes, { agent });
    }
  };
  const time = await timed(() => Promise.all(Array.from({ length: CLIENTS }, client)));
  await empty(folder);
  return (CLIENTS * FILES_PER_CLIENT * MEGABYTES) / (time / 1000);
};

/**
 * Uploads of 20 MB by 8 concurrent clients, compared with a bare server that only writes, and one that also
 * waits for the disk.
 */
export const upload: Measurement = {
  name: 'upload',
  run: () =>
    withScratch(async (scratch) => {
      const folders = ['ours', 'bare', 'synced'].map((name) => join(scratch, name));
      const [ours = '', bare = '', synced = ''] = folders;
      for (const folder of folders) await mkdir(folder);
      const bytes = randomBytes(MEGABYTES * 2 ** 20);
      const agent = new Agent({ keepAlive: true, maxSockets: CLIENTS });
      const settings = { maxUploadFileSize: '32mb', extensions: ['zip'] };
      const work = (service: string, bareUrl: string, syncedUrl: string) =>
        [
          () => perSecond(`${service}/fileUpload`, ours, bytes, agent),
          () => perSecond(bareUrl, bare, bytes, agent),
          () => perSecond(syncedUrl, synced, bytes, agent),
        ] as const;
      return withService(
        scratch,
        ours,
        (service) =>
          withBareServer(bare, { waitsForDisk: false }, (bareUrl) =>
            withBareServer(synced, { waitsForDisk: true }, async (syncedUrl) => {
              const results = work(service.url, bareUrl, syncedUrl).map((run) => ({
                run,
                values: [] as number[],
              }));
              for (const { run } of results) await run();
              for (let round = 0; round < ROUNDS; round += 1) {
                for (const { run, values } of results) values.push(await run());
              }
              agent.destroy();
              const [own = Number.NaN, other = Number.NaN, waiting = Number.NaN] = results.map(({ values }) =>
                median(values),
              );
              const what = 'upload of 20 MB, 8 clients';
              return [
                {
                  what,
                  unit: 'MB/s',
                  ours: own,
                  reference: { name: 'node:http + busboy', value: other },
                  aim: { atLeast: 0.8 },
                },
                {
                  what,
                  unit: 'MB/s',
                  ours: own,
                  reference: { name: 'the same + fsync', value: waiting },
                },
                { what: 'peak RSS of these uploads', unit: 'MB', ours: await service.peakMemory() },
              ];
            }),
          ),
        settings,
      );
    }),
};
