import type { Entry } from '../../storage/adapter.ts';
import type { OpenFolder } from './confinement.ts';
import { statNames } from './direct-scan.ts';
import { decomposed } from '../../adapter-support/decomposed.ts';
import { isVisible } from './names.ts';
import type { SpellingIndex } from './spelling-index.ts';

/**
 * What lies at these names of a folder, in their order; undefined for names that nothing lies at, or nothing that can be shown. Names that
 * are missing as they are written are asked for once more as they may be spelled on the disk.
 */
export const statSeveral = async (
  folder: OpenFolder,
  names: readonly string[],
  spellings: SpellingIndex,
  signal: AbortSignal | undefined,
): Promise<readonly (Entry | undefined)[]> => {
  const found = new Array<Entry | undefined>(names.length).fill(undefined);
  const valid = names.flatMap((name, index) => (isVisible(name) ? [{ name, index }] : []));

  const askAs = async (spelling: (name: string) => string | undefined): Promise<void> => {
    const asked = valid.flatMap(({ name, index }) => {
      const raw = found[index] === undefined ? spelling(name) : undefined;
      return raw === undefined ? [] : [{ name, raw, index }];
    });
    const entries = await statNames(folder, asked, signal);
    for (const [position, { index }] of asked.entries()) found[index] = entries[position];
  };

  await askAs((name) => name);
  await askAs(decomposed);
  const respelled = new Map<string, string | undefined>();
  for (const { name, index } of valid) {
    if (found[index] === undefined) respelled.set(name, await spellings.find(folder, name));
  }
  if (respelled.size > 0) await askAs((name) => respelled.get(name));
  return found;
};
