import { Agent } from 'node:http';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { sendForm } from './form.ts';
import { interleaved, median, timed, type Measurement, type Row } from './measurement.ts';
import { withScratch } from './scratch.ts';
import { drain, type Service, withService } from './service.ts';
import { nameOf, PICTURES, takePictures } from './thumbnails.ts';

const ROUNDS = 5;
/** What comes in is made as large as this at most, and a thumbnail of it as large as that. */
const [WIDTH, THUMB] = [1600, 250];
const QUALITY = 85;
const LISTED = 1000;

const names = Array.from({ length: PICTURES }, (_, index) => nameOf(index));

const emptied = async (folder: string): Promise<void> => {
  await rm(folder, { recursive: true, force: true });
  await mkdir(join(folder, '_thumbs'), { recursive: true });
};

/** As many jobs as there are cores; each makes the picture smaller and draws the thumbnail from the result. */
const bareSharp = async (photos: readonly Buffer[], folder: string): Promise<void> => {
  const rest = photos.entries();
  const work = async (): Promise<void> => {
    for (const [index, photo] of rest) {
      const name = names[index] ?? '';
      const inside = { fit: 'inside', withoutEnlargement: true } as const;
      const stored = await sharp(photo)
        .autoOrient()
        .resize({ width: WIDTH, ...inside })
        .jpeg({ quality: QUALITY })
        .toBuffer();
      await writeFile(join(folder, name), stored);
      const thumb = await sharp(stored)
        .resize({ width: THUMB, height: THUMB, ...inside })
        .jpeg({ quality: 90 })
        .toBuffer();
      await writeFile(join(folder, '_thumbs', name), thumb);
    }
  };
  await Promise.all(Array.from({ length: availableParallelism() }, work));
};

/** All photos at once, each in a form of its own. */
const upload = async ({ url }: Service, photos: readonly Buffer[], agent: Agent): Promise<void> => {
  const sent = photos.map((photo, index) =>
    sendForm(`${url}/fileUpload?path=photos`, names[index] ?? '', photo, { agent }),
  );
  await Promise.all(sent);
};

const uploads = (scratch: string, photos: readonly Buffer[]): Promise<readonly Row[]> => {
  const root = join(scratch, 'uploaded');
  const [ours, bare] = [join(root, 'photos'), join(scratch, 'bare')];
  const settings = {
    maxUploadFileSize: '64mb',
    uploadImages: { autoOrient: true, maxWidth: WIDTH, quality: QUALITY, metadata: 'strip-location' },
  };
  return emptied(ours).then(() =>
    withService(
      scratch,
      root,
      async (service) => {
        const agent = new Agent({ keepAlive: true });
        const idle = await service.memory();
        const times: [own: number[], other: number[]] = [[], []];
        for (let round = -1; round < ROUNDS; round += 1) {
          await emptied(ours);
          const own = await timed(() => upload(service, photos, agent));
          await emptied(bare);
          const other = await timed(() => bareSharp(photos, bare));
          // The first round only warms both up.
          if (round >= 0) for (const [index, time] of [own, other].entries()) times[index]?.push(time);
        }
        agent.destroy();
        return [
          {
            what: `upload of ${String(PICTURES)} JPEGs of 12 megapixels, made smaller`,
            unit: 'ms',
            ours: median(times[0]),
            reference: { name: 'sharp, a job a core', value: median(times[1]) },
            aim: { atMost: 1.2 },
          },
          {
            what: 'peak RSS of these uploads above idle',
            unit: 'MB',
            ours: (await service.peakMemory()) - idle,
            reference: { name: 'allowed', value: 400 },
            aim: { atMost: 1 },
          },
        ];
      },
      settings,
    ),
  );
};

/** A page of all of them, with what details say and without; both after the first of each. */
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

/** Photos that are made smaller when they come in, and what their sizes cost a listing. */
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
