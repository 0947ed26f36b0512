import type { Entry } from '../../storage/adapter.ts';
import { isSegment } from '../../storage/source-path.ts';
import type { ObjectPage } from './bucket.ts';
import { HIDDEN_FOLDER } from './keys.ts';

/** Names in another composition cannot be reached by a path, which is always composed. */
const isShown = (name: string): boolean =>
  isSegment(name) && name !== HIDDEN_FOLDER && name === name.normalize('NFC');

/** The entries of a folder in one page of its keys. The folder's own object is none of them. */
export const entriesOf = ({ objects, prefixes }: ObjectPage, folder: string): readonly Entry[] => {
  const entries: Entry[] = [];
  for (const { key, size, modifiedAt } of objects) {
    const name = key.slice(folder.length);
    if (isShown(name)) entries.push({ name, kind: 'file', size, modifiedAt });
  }
  for (const prefix of prefixes) {
    const name = prefix.slice(folder.length, -1);
    if (isShown(name)) entries.push({ name, kind: 'folder', size: undefined, modifiedAt: undefined });
  }
  return entries;
};
