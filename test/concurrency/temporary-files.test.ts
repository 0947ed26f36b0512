import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { spool } from '../../dist/adapter-support/spool.js';

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
});
