import { chmod, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { StorageDeniedError } from 'stowage/storage';
import { spool } from '#internals';

describe('temporary files of many requests', () => {
  it('come and go side by side, although their folder goes with the last of each moment', async () => {
    const contents = await Promise.all(
      Array.from({ length: 8 }, async (_, worker) => {
        const seen: string[] = [];
        for (let turn = 0; turn < 60; turn += 1) {
          const content = `${String(worker)} ${String(turn)}`;
          const file = await spool(Readable.from([content], { objectMode: false }));
          if ((await text(file.open())) === content) seen.push(content);
          await file.remove();
        }
        return seen.length;
      }),
    );
    expect(contents).toEqual(Array.from({ length: 8 }, () => 60));
  });

  it.skipIf(process.getuid === undefined)('never lie where others may look', async () => {
    const before = process.env['TMPDIR'];
    const base = await mkdtemp(join(tmpdir(), 'stowage-private-'));
    const folder = join(base, `stowage-${String(process.getuid?.())}`);
    const spoolOne = async (): Promise<void> => {
      const file = await spool(Readable.from(['secret'], { objectMode: false }));
      await file.remove();
    };
    try {
      process.env['TMPDIR'] = base;
      await mkdir(folder);
      for (const mode of [0o755, 0o710, 0o702]) {
        await chmod(folder, mode);
        await expect(spoolOne()).rejects.toBeInstanceOf(StorageDeniedError);
      }
      await chmod(folder, 0o700);
      await spoolOne();
    } finally {
      if (before === undefined) delete process.env['TMPDIR'];
      else process.env['TMPDIR'] = before;
      await rm(base, { recursive: true });
    }
  });
});
