import { createHash, randomBytes, randomInt } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { runsEverything } from '../before-release.ts';
import { formOf, post, startService, type Service } from './service.ts';

const ROUNDS = runsEverything ? 5 : 2;
const UPLOADS = 20;
// Without thumbnails the folder holds nothing but what was uploaded.
const settings = {
  createThumb: false,
  extensions: ['zip'],
  saveSameFileNameStrategy: 'replace',
  maxUploadFileSize: '16mb',
};

/** Content that tells by itself whether it is whole: a digest and then what it is the digest of. */
const selfChecking = (bytes: number): Buffer => {
  const content = randomBytes(bytes);
  return Buffer.concat([createHash('sha256').update(content).digest(), content]);
};

const isWhole = (content: Buffer): boolean =>
  content.length > 32 &&
  createHash('sha256').update(content.subarray(32)).digest().equals(content.subarray(0, 32));

describe('Killing the service', () => {
  let scratch = '';
  let root = '';
  let service: Service | undefined;

  beforeEach(async () => {
    scratch = await mkdtemp(path.join(tmpdir(), 'stowage-kill-'));
    root = path.join(scratch, 'files');
    await mkdir(root);
  });
  afterEach(async () => {
    await service?.kill();
    await rm(scratch, { recursive: true, force: true });
  });

  const start = async (): Promise<Service> => {
    service = await startService(path.join(scratch, 'config.json'), root, settings);
    return service;
  };

  /**
   * Sends some uploads at once, half of them over files that exist, and kills when a random number of them
   * has been answered.
   */
  const killAmong = async (round: number, uploads: number): Promise<(number | undefined)[]> => {
    const running = await start();
    const fatal = randomInt(0, uploads - 4);
    let answered = 0;
    const answers = Array.from({ length: uploads }, async (_, index) => {
      const name =
        index % 2 === 0 ? `kept-${String(index)}.zip` : `new-${String(round)}-${String(index)}.zip`;
      const status = await post(running.port, formOf(name, selfChecking(randomInt(200_000, 3_000_000))));
      if (status !== undefined) answered += 1;
      return status;
    });
    while (answered < fatal) await delay(1);
    const end = performance.now() + randomInt(0, 40);
    // Some are still on their way.
    while (performance.now() < end && answered < uploads - 4) await delay(1);
    await running.kill();
    return Promise.all(answers);
  };

  test('leaves whole files only, and the next start leaves nothing else', { timeout: 120_000 }, async () => {
    const known = new Set<string>();
    for (let index = 0; index < UPLOADS; index += 2) {
      const name = `kept-${String(index)}.zip`;
      known.add(name);
      await writeFile(path.join(root, name), selfChecking(100_000));
    }
    let cut = 0;
    for (let round = 0; round < ROUNDS; round += 1) {
      const answers = await killAmong(round, UPLOADS);
      cut += answers.filter((status) => status === undefined).length;
      const visible = (await readdir(root)).filter((name) => name.endsWith('.zip'));
      expect(visible).toEqual(expect.arrayContaining([...known]));
      for (const name of visible) {
        expect([name, isWhole(await readFile(path.join(root, name)))]).toEqual([name, true]);
      }
      for (const [index, status] of answers.entries()) {
        if (status === 200 && index % 2 === 1)
          expect(visible).toContain(`new-${String(round)}-${String(index)}.zip`);
      }
    }
    expect(cut).toBeGreaterThan(0);

    const again = await start();
    const listed = await fetch(`http://127.0.0.1:${String(again.port)}/files`);
    expect(listed.status).toBe(200);
    await listed.text();
    const leftovers = async (): Promise<string[]> =>
      (await readdir(root, { recursive: true, withFileTypes: true }))
        .filter((entry) => entry.isFile() && !/^(kept|new)-[\d-]+\.zip$/u.test(entry.name))
        .map(({ name }) => name);
    await expect.poll(leftovers, { timeout: 10_000 }).toEqual([]);
  });
});
