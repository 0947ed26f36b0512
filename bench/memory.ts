import { randomBytes } from 'node:crypto';
import { mkdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { sendForm } from './form.ts';
import type { Measurement, Row } from './measurement.ts';
import { withScratch } from './scratch.ts';
import { drain, withService, type Service } from './service.ts';

const GIGABYTE = 2 ** 30;
const ALLOWED = 80;
const NAME = 'large.zip';

/** Peak memory of the process during the work, above its idle memory. `allowed` is in MB. */
export const rise = async (
  service: Service,
  what: string,
  work: () => Promise<void>,
  allowed = ALLOWED,
): Promise<Row> => {
  await delay(1000);
  const idle = await service.memory();
  await work();
  const ours = (await service.peakMemory()) - idle;
  return {
    what: `${what}: peak above idle RSS`,
    unit: 'MB',
    ours,
    reference: { name: 'allowed', value: allowed },
    aim: { atMost: 1 },
  };
};

/** An upload and a download of 1 GB, each in a new process. */
export const memory: Measurement = {
  name: 'memory',
  run: () =>
    withScratch(async (scratch) => {
      const folder = join(scratch, 'files');
      await mkdir(folder);
      const settings = { maxUploadFileSize: '2gb', extensions: ['zip'] };
      const megabyte = randomBytes(2 ** 20);
      const uploaded = await withService(
        scratch,
        folder,
        (service) =>
          rise(service, 'upload of 1 GB', async () => {
            await sendForm(`${service.url}/fileUpload`, NAME, megabyte, {
              times: GIGABYTE / megabyte.length,
            });
            const { size } = await stat(join(folder, NAME));
            if (size !== GIGABYTE) throw new Error(`${String(size)} bytes arrived`);
          }),
        settings,
      );
      const downloaded = await withService(scratch, folder, (service) =>
        rise(service, 'download of 1 GB', async () => {
          const bytes = await drain(`${service.url}/fileDownload?name=${NAME}`);
          if (bytes !== GIGABYTE) throw new Error(`${String(bytes)} bytes arrived`);
        }),
      );
      return [uploaded, downloaded];
    }),
};
