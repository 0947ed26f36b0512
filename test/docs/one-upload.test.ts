import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { expect, it } from 'vitest';

const docs = resolve(import.meta.dirname, '../../docs');

it('the page that follows one upload names files that are there, and what is in them', async () => {
  const page = await readFile(join(docs, 'one-upload.md'), 'utf8');
  const steps = [...page.matchAll(/^\d+\. \[([^\]]+)\]\(([^)]+)\): ((?:`\w+`(?:, )?)+)\./gmu)];
  const numbered = [...page.matchAll(/^\d+\. /gmu)];
  expect(steps.length).toBe(numbered.length);
  expect(steps.length).toBeGreaterThan(20);
  const missing: string[] = [];
  for (const [, title = '', link = '', names = ''] of steps) {
    expect(link).toBe(`../packages/stowage/src/${title}`);
    const code = await readFile(join(docs, link), 'utf8');
    for (const [, name = ''] of names.matchAll(/`(\w+)`/gu))
      if (!new RegExp(`\\b(?:const|function|class) ${name}\\b`, 'u').test(code))
        missing.push(`${link}: ${name}`);
  }
  expect(missing).toEqual([]);
});
