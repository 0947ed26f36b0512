import { randomInt } from 'node:crypto';
import { mkdir, mkdtemp, readFile, readdir, rename, rm, rmdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { createClient, type Client } from 'stowage/client';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { runsEverything } from '../before-release.ts';
import { startService, type Service } from './service.ts';

const ROUNDS = runsEverything ? 4 : 1;
const ITEMS = 30;

describe('Killing the service while it removes and restores', () => {
  let scratch = '';
  let root = '';
  let service: Service | undefined;

  beforeEach(async () => {
    scratch = await mkdtemp(path.join(tmpdir(), 'stowage-trash-kill-'));
    root = path.join(scratch, 'files');
    await mkdir(root);
  });
  afterEach(async () => {
    await service?.kill();
    await rm(scratch, { recursive: true, force: true });
  });

  const start = async (): Promise<Client> => {
    const settings = { trash: {}, createThumb: false };
    service = await startService(path.join(scratch, 'config.json'), root, settings);
    return createClient({ url: `http://127.0.0.1:${String(service.port)}` });
  };

  const names = Array.from({ length: ITEMS }, (_, index) =>
    index % 2 === 0 ? `file-${String(index)}.txt` : `folder-${String(index)}`,
  );
  const isFile = (name: string): boolean => name.startsWith('file');

  const putAll = async (): Promise<void> => {
    for (const name of names) {
      if (isFile(name)) await writeFile(path.join(root, name), name);
      else {
        await mkdir(path.join(root, name, 'deep'), { recursive: true });
        await writeFile(path.join(root, name, 'a.txt'), name);
        await writeFile(path.join(root, name, 'deep', 'b.txt'), name);
      }
    }
  };

  /** The item is there, whole, once. An empty folder besides may be what a killed move had begun with; it is cleared away. */
  const requireWhole = async (name: string): Promise<void> => {
    const parts = isFile(name) ? [''] : ['a.txt', 'deep/b.txt'];
    const found = (await readdir(root)).filter((one) => one === name || one.startsWith(`${name} (`));
    const whole: string[] = [];
    for (const one of found) {
      if (!isFile(name) && (await readdir(path.join(root, one))).length === 0)
        await rmdir(path.join(root, one));
      else whole.push(one);
    }
    expect(whole).toHaveLength(1);
    const item = path.join(root, whole[0] ?? '');
    for (const part of parts) expect(await readFile(path.join(item, part), 'utf8')).toBe(name);
    await rename(item, path.join(root, name));
  };

  /** Begins something with every item at once, and kills when a random number of them has ended. */
  const killAmong = async (work: (name: string) => Promise<unknown>): Promise<void> => {
    const fatal = randomInt(0, ITEMS - 2);
    let ended = 0;
    const all = names.map(async (name) => {
      await work(name).catch(() => undefined);
      ended += 1;
    });
    while (ended < fatal) await delay(1);
    await service?.kill();
    await Promise.all(all);
  };

  test('leaves each item whole in one of the two locations', { timeout: 120_000 }, async () => {
    await putAll();
    for (let round = 0; round < ROUNDS; round += 1) {
      const first = await start();
      await killAmong((name) => (isFile(name) ? first.fileRemove({ name }) : first.folderRemove({ name })));

      const second = await start();
      const { items } = await second.trashList();
      const visible = (await readdir(root)).filter((name) => !name.startsWith('.'));
      // A folder that was about to go may have left an empty one in the trash already.
      const everything = new Set([...visible, ...items.map(({ name }) => name)]);
      expect([...everything].sort()).toEqual([...names].sort());
      await killAmong(async (name) => {
        const item = items.find((one) => one.name === name);
        if (item !== undefined) await second.trashRestore({ id: item.id });
      });

      const third = await start();
      for (const { id } of (await third.trashList()).items) await third.trashRestore({ id });
      for (const name of names) await requireWhole(name);
      const shown = (await readdir(root)).filter((name) => !name.startsWith('.'));
      expect(shown.sort()).toEqual([...names].sort());
      await service?.kill();
    }
  });
});
