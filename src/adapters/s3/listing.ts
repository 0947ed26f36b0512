import type { Entry } from '../../storage/adapter.ts';
import type { ListedNames } from '../../storage/listed-names.ts';
import { isSegment } from '../../storage/source-path.ts';
import type { ObjectPage } from './bucket.ts';
import { HIDDEN_FOLDER } from './keys.ts';

/** The entries of a folder in one page of its keys, as far as they can be told yet. The folder's own object is none of them. */
export const entriesOf = (
  { objects, prefixes }: ObjectPage,
  folder: string,
  names: ListedNames<Entry>,
): readonly Entry[] => {
  const entries: Entry[] = [];
  const add = (written: string, facts: Omit<Entry, 'name'>): void => {
    const name = written.normalize('NFC');
    if (!isSegment(name) || name === HIDDEN_FOLDER) return;
    const entry = { name, ...facts };
    if (names.pass(name, written, entry)) entries.push(entry);
  };
  for (const { key, size, modifiedAt } of objects) {
    add(key.slice(folder.length), { kind: 'file', size, modifiedAt });
  }
  for (const prefix of prefixes) {
    add(prefix.slice(folder.length, -1), { kind: 'folder', size: undefined, modifiedAt: undefined });
  }
  return entries;
};
