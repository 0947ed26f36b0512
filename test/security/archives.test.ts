import { readdir, readlink, rename, rm, symlink } from 'node:fs/promises';
import { get, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { once } from 'node:events';
import { unzipSync } from 'fflate';
import { describe, expect, it } from 'vitest';
import { startService, type Service } from '../protocol/service.ts';

const SIZE = 100_000;
const COUNT = 400;
const nameOf = (index: number): string => `${String(index).padStart(3, '0')}.pdf`;

/** Files with a content of their own, all of one size. */
const filesOf = (folder: string, content: string): Readonly<Record<string, Buffer>> =>
  Object.fromEntries(
    Array.from({ length: COUNT }, (_, index) => [`${folder}/${nameOf(index)}`, Buffer.alloc(SIZE, content)]),
  );

/** An archive of the folder `f` that has begun, and is not read on. */
const begin = async ({ url }: Service): Promise<IncomingMessage> => {
  const [answer] = (await once(get(`${url}/fileDownload?names[0]=f`), 'response')) as [IncomingMessage];
  expect(answer.statusCode).toBe(200);
  await once(answer, 'readable');
  return answer;
};

/** What arrives of it, and whether it has an end. */
const rest = async (answer: IncomingMessage): Promise<{ bytes: Buffer; isWhole: boolean }> => {
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of answer as AsyncIterable<Buffer>) chunks.push(chunk);
    return { bytes: Buffer.concat(chunks), isWhole: true };
  } catch {
    return { bytes: Buffer.concat(chunks), isWhole: false };
  }
};

/** @see https://cwe.mitre.org/data/definitions/367.html */
describe('an archive whose files are replaced by links while it is sent', () => {
  it.each([
    [
      'files',
      async (root: string, outside: string) => {
        for (let index = COUNT / 2; index < COUNT; index += 1) {
          await rm(join(root, 'f/deep', nameOf(index)));
          await symlink(join(outside, nameOf(index)), join(root, 'f/deep', nameOf(index)));
        }
      },
    ],
    [
      'their folder',
      async (root: string, outside: string) => {
        await rename(join(root, 'f/deep'), join(root, 'away'));
        await symlink(outside, join(root, 'f/deep'));
      },
    ],
  ])('holds nothing that lies elsewhere, and has no end: %s', async (_, replace) => {
    const service = await startService();
    const { root } = service.source('files');
    await service.source('files').put(filesOf('f/deep', 'ours'));
    await service.outside.put(filesOf('elsewhere', 'SECRET'));
    const answer = await begin(service);
    await replace(root, join(service.outside.root, 'elsewhere'));
    const { bytes, isWhole } = await rest(answer);
    expect(bytes.includes('ours')).toBe(true);
    expect(bytes.includes('SECRET')).toBe(false);
    expect(isWhole).toBe(false);
  });
});

describe('names in an archive', () => {
  it('lead nowhere else, also where backslashes are separators', async () => {
    const service = await startService();
    await service.source('files').put({
      'f/..\\..\\evil.pdf': 'x',
      'f/C:\\evil.pdf': 'x',
      'f/a\u202Efdp.exe': 'x',
      'f/b.pdf': 'b',
    });
    const answer = await service.get('fileDownload', { 'names[0]': 'f' });
    const names = Object.keys(unzipSync(new Uint8Array(await answer.arrayBuffer())));
    expect(names.sort()).toEqual(['f/', 'f/b.pdf']);
  });
});

describe.skipIf(process.platform !== 'linux')('an archive that nobody reads on (needs /proc)', () => {
  it.each([SIZE, 5_000_000])(
    'leaves no file open when its client leaves: files of %i bytes',
    async (size) => {
      const service = await startService();
      const { root } = service.source('files');
      const count = 40_000_000 / size;
      for (let index = 0; index < count; index += 1)
        await service.source('files').put({ [`f/${nameOf(index)}`]: Buffer.alloc(size) });
      const openBelow = async (): Promise<readonly string[]> => {
        const links = (await readdir('/proc/self/fd')).map((fd) =>
          readlink(`/proc/self/fd/${fd}`).catch(() => ''),
        );
        return (await Promise.all(links)).filter((path) => path.startsWith(`${root}/f`));
      };
      for (let round = 0; round < 3; round += 1) {
        const answer = await begin(service);
        // One large file is open at a time; small ones are read whole.
        if (size > SIZE) await expect.poll(openBelow).toHaveLength(1);
        answer.destroy();
        await expect.poll(openBelow).toEqual([]);
      }
    },
  );
});
