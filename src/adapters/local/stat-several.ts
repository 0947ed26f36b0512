import type { Entry } from '../../storage/adapter.ts';
import type { OpenFolder } from './confinement.ts';
import { statNames } from './direct-scan.ts';
import { decomposed } from '../../storage/decomposed.ts';
import { hasMixedSpellings, visibleName, visibleNames } from './names.ts';
import { readNames } from './system.ts';

/**
 * What lies at these names of a folder, in their order; undefined for names that nothing lies at, or nothing that can be shown. Names that
 * are missing as they are written are asked for once more as they may lie decomposed on the disk.
 */
export const statSeveral = async (
  folder: OpenFolder,
  names: readonly string[],
  signal: AbortSignal | undefined,
): Promise<readonly (Entry | undefined)[]> => {
  const found = new Array<Entry | undefined>(names.length).fill(undefined);
  const valid = names.flatMap((name, index) => (visibleName(name) === name ? [{ name, index }] : []));

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
  if (valid.some(({ name, index }) => found[index] === undefined && hasMixedSpellings(name))) {
    const seen = visibleNames(await readNames(folder.self));
    const spellings = new Map(seen.map(({ name, raw }) => [name, raw]));
    await askAs((name) => spellings.get(name));
  }
  return found;
};
