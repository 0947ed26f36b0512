import { randomBytes } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { compare, MEGABYTES } from './download.ts';
import { median, type Measurement, type Row } from './measurement.ts';
import { hasNginx, withNginx } from './other-servers.ts';
import { perSecond, withBareServer } from './permissions.ts';
import { withScratch } from './scratch.ts';
import { withService } from './service.ts';

const ROUNDS = 3;
const [LARGE, SMALL] = ['large.zip', 'small.txt'];
const SMALL_BYTES = 10 * 1024;

const smallFiles = async (url: string, bareUrl: string): Promise<readonly Row[]> => {
  const ours: number[] = [];
  const bare: number[] = [];
  for (let round = 0; round <= ROUNDS; round += 1) {
    const [own, other] = [await perSecond(url), await perSecond(bareUrl)];
    // The first round only warms both up.
    if (round > 0) {
      ours.push(own);
      bare.push(other);
    }
  }
  const reference = { name: 'node:http from memory', value: median(bare) };
  return [{ what: 'served files of 10 KB a second', unit: '/s', ours: median(ours), reference }];
};

/**
 * Files that the service serves itself: large ones beside nginx, small ones beside a server that has them in
 * memory.
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
        async ({ url }) => [
          ...(hasNginx
            ? await withNginx(scratch, root, LARGE, (nginx) =>
                compare(
                  `${url}/file/files/${LARGE}`,
                  { nginx: `${nginx}/${LARGE}` },
                  'served file of 20 MB, 8 clients',
                ),
              )
            : []),
          ...(await withBareServer(small, (bareUrl) => smallFiles(`${url}/file/files/${SMALL}`, bareUrl))),
        ],
        { sources },
      );
    }),
};
