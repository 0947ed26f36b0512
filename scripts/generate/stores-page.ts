import { readFile } from 'node:fs/promises';
import { declaredCapabilities } from '../../packages/stowage/src/adapters/capabilities.ts';
import { capabilityNames, capabilityTexts } from '../../packages/stowage/src/storage/capabilities.ts';
import { code, table } from './markdown.ts';

const BLOCK = /(<!-- promises -->\n).*?(\n<!-- end -->)/su;

const wordOf = (declared: boolean | 'asked'): string =>
  declared === 'asked' ? 'as its server' : declared ? 'yes' : 'no';

/** The page of stores, with the table of declared capabilities. */
export const storesPage = async (root: URL): Promise<string> => {
  const text = await readFile(new URL('docs/stores.md', root), 'utf8');
  const made = table(
    ['', 'Key', ...Object.keys(declaredCapabilities).map(code)],
    capabilityNames.map((name) => [
      capabilityTexts[name],
      code(name),
      ...Object.values(declaredCapabilities).map((declared) => wordOf(declared[name])),
    ]),
  );
  return text.replace(BLOCK, (_all, head: string, end: string) => `${head}${made}${end}`);
};
