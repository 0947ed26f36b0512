import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { interleaved, type Measurement, type Row } from './measurement.ts';
import { rise } from './memory.ts';
import { withScratch } from './scratch.ts';
import { receive, withService } from './service.ts';

const ROUNDS = 7;
const ALLOWED = 60;

const FOLDERS = [
  { name: 'small', files: 1000, bytes: 10 * 1024, what: '1,000 files of 10 KB' },
  { name: 'middle', files: 1000, bytes: 100 * 1024, what: '1,000 files of 100 KB' },
  { name: 'large', files: 100, bytes: 2 * 2 ** 20, what: '100 files of 2 MB' },
] as const;

/** The same archive by the program `zip`, without compression, through a pipe. */
const byProgram = (root: string, name: string): void => {
  const { status } = spawnSync('sh', ['-c', `zip -q -0 -r - ${name} | cat > /dev/null`], { cwd: root });
  if (status !== 0) throw new Error(`zip ended with ${String(status)}`);
};

/**
 * Folders as archives, compared with `zip -0 -r - | cat`, which Debian has. Both read files from the page
 * cache, and both have a minimal reader; the program is started for each archive, which takes some
 * milliseconds, and the service gets a new connection.
 */
export const zip: Measurement = {
  name: 'zip',
  run: () =>
    withScratch(async (scratch) => {
      const root = join(scratch, 'files');
      for (const { name, files, bytes } of FOLDERS) {
        await mkdir(join(root, name), { recursive: true });
        const content = randomBytes(bytes);
        for (let index = 0; index < files; index += 1) {
          content.writeUInt32LE(index, 0);
          await writeFile(join(root, name, `file-${String(index).padStart(5, '0')}.pdf`), content);
        }
      }
      return withService(scratch, root, async (service) => {
        const rows: Row[] = [];
        const memory = await rise(
          service,
          'archives',
          async () => {
            for (const { name, what } of FOLDERS) {
              const ask = (): Promise<number> => receive(`${service.url}/fileDownload?names[0]=${name}`);
              const [own = 0, program = 0] = await interleaved(ROUNDS, [
                ask,
                async () => byProgram(root, name),
              ]);
              const speed = (time: number): number => 1000 / time;
              rows.push({
                what: `archive of ${what}`,
                unit: 'a second',
                ours: speed(own),
                reference: { name: 'zip -0 | cat', value: speed(program) },
                aim: { atLeast: 0.8 },
              });
            }
          },
          ALLOWED,
        );
        return [...rows, memory];
      });
    }),
};
