import { Agent } from 'node:http';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { makeSmaller, QUALITY, WIDTH } from './bare-picture.ts';
import { sendForm } from './form.ts';
import { interleaved, median, timed, type Measurement, type Row } from './measurement.ts';
import { withBareServer } from './other-servers.ts';
import { withScratch } from './scratch.ts';
import { drain, type Service, withService } from './service.ts';
import { nameOf, PICTURES, takePictures } from './thumbnails.ts';

const ROUNDS = 5;
const LISTED = 1000;

const names = Array.from({ length: PICTURES }, (_, index) => nameOf(index));

const emptied = async (folder: string): Promise<void> => {
  await rm(folder, { recursive: true, force: true });
  await mkdir(join(folder, '_thumbs'), { recursive: true });
};

/** As many concurrent jobs as there are cores, for photos in memory. */
const bareSharp = async (photos: readonly Buffer[], folder: string): Promise<void> => {
  const rest = photos.entries();
  const work = async (): Promise<void> => {
    for (const [index, photo] of rest) await makeSmaller(photo, folder, names[index] ?? '');
  };
  await Promise.all(Array.from({ length: availableParallelism() }, work));
};

/**
 * Uploads all photos concurrently, each in its own form and connection: a connection that was idle for
 * seconds may just be closed.
 */
const upload = async (url: string, photos: readonly Buffer[]): Promise<void> => {
  const agent = new Agent();
  await Promise.all(photos.map((photo, index) => sendForm(url, names[index] ?? '', photo, { agent })));
};

const uploads = (scratch: string, photos: readonly Buffer[]): Promise<readonly Row[]> => {
  const root = join(scratch, 'uploaded');
  const [ours, bare, served] = [join(root, 'photos'), join(scratch, 'bare'), join(scratch, 'served')];
  const settings = {
    maxUploadFileSize: '64mb',
    uploadImages: { autoOrient: true, maxWidth: WIDTH, quality: QUALITY, metadata: 'strip-location' },
  };
  const measure = async (service: Service, bareUrl: string): Promise<readonly Row[]> => {
    const idle = await service.memory();
    const works: readonly (readonly [folder: string, work: () => Promise<void>])[] = [
      [ours, () => upload(`${service.url}/fileUpload?path=photos`, photos)],
      [bare, () => bareSharp(photos, bare)],
      [served, () => upload(bareUrl, photos)],
    ];
    const times = works.map((): number[] => []);
    for (let round = -1; round < ROUNDS; round += 1) {
      for (const [index, [folder, work]] of works.entries()) {
        await emptied(folder);
        const time = await timed(work);
        // The first round only warms up.
        if (round >= 0) times[index]?.push(time);
      }
    }
    const [own = Number.NaN, library = Number.NaN, server = Number.NaN] = times.map(median);
    const what = `upload of ${String(PICTURES)} JPEGs of 12 megapixels, made smaller`;
    const row = { what, unit: 'ms', ours: own, aim: { atMost: 1.2 } };
    return [
      { ...row, reference: { name: 'sharp, a job a core, no HTTP', value: library } },
      { ...row, reference: { name: 'node:http + busboy + sharp', value: server } },
      {
        what: 'peak RSS of these uploads above idle',
        unit: 'MB',
        ours: (await service.peakMemory()) - idle,
        reference: { name: 'allowed', value: 400 },
        aim: { atMost: 1 },
      },
    ];
  };
  return emptied(ours).then(() =>
    withBareServer(served, { waitsForDisk: true, makesPictures: true }, (bareUrl) =>
      withService(scratch, root, (service) => measure(service, bareUrl), settings),
    ),
  );
};

/** A page of all photos, with and without details; both after a first request. */
const details = async (scratch: string, photo: Buffer): Promise<readonly Row[]> => {
  const root = join(scratch, 'listed');
  await mkdir(root);
  const small = await sharp(photo).resize({ width: 320 }).jpeg().toBuffer();
  for (let index = 0; index < LISTED; index += 1) await writeFile(join(root, `p${String(index)}.jpg`), small);
  return withService(
    scratch,
    root,
    async ({ url }) => {
      const page = `${url}/files?mods[limit]=${String(LISTED)}`;
      const [own = Number.NaN, plain = Number.NaN] = await interleaved(21, [
        () => drain(`${page}&mods[details]=true`),
        () => drain(page),
      ]);
      return [
        {
          what: `listing of ${String(LISTED)} pictures with details`,
          unit: 'ms',
          ours: own,
          reference: { name: 'without details', value: plain },
          aim: { atMost: 1.3 },
        },
      ];
    },
    { createThumb: false },
  );
};

/** Photos that are scaled on upload, and the cost of their sizes in a listing. */
export const pictures: Measurement = {
  name: 'pictures',
  run: () =>
    withScratch(async (scratch) => {
      const taken = join(scratch, 'taken');
      await takePictures(taken);
      const photos = await Promise.all(names.map((name) => readFile(join(taken, name))));
      const [first] = photos;
      if (first === undefined) throw new Error('no pictures were taken');
      return [...(await uploads(scratch, photos)), ...(await details(scratch, first))];
    }),
};
