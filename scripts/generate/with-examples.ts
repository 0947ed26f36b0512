import { readFile } from 'node:fs/promises';

const BLOCK = /(<!-- sample: (examples\/[\w./[\]-]+) -->\s+```\w+\n).*?(```)/gsu;

/**
 * Inserts examples into a page: the block after `<!-- sample: examples/koa.ts -->` is that file. Thus samples
 * are checked and run like all other code.
 */
export const withExamples = async (root: URL, page: string): Promise<string> => {
  const text = await readFile(new URL(page, root), 'utf8');
  const blocks = [...text.matchAll(BLOCK)];
  if (blocks.length < text.split('<!-- sample: examples/').length - 1)
    throw new Error(`${page}: a sample has no block of code after it, such as \`\`\`js.`);
  const files = new Map<string, string>();
  for (const [, , file = ''] of blocks) files.set(file, await readFile(new URL(file, root), 'utf8'));
  return text.replaceAll(
    BLOCK,
    (_all, head: string, file: string, end: string) => `${head}${files.get(file) ?? ''}${end}`,
  );
};
