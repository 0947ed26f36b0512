import type { Glimpse, Stat } from '../../../storage/adapter.ts';
import { isSegment, type SourcePath } from '../../../storage/source-path.ts';
import type { ListedObject, ObjectPage } from './objects.ts';

/** What is known of a folder. */
export const folderStat = (path: SourcePath): Stat => ({
  name: path.name,
  kind: 'folder',
  size: undefined,
  modifiedAt: undefined,
  etag: undefined,
});

/**
 * What the first page of a folder shows of names, whose keys begin with `prefix` and come in the order of their bytes.
 * What has two spellings or kinds, or another spelling than its path, is left to `stat`.
 */
export const glimpseOf = (
  { objects, prefixes, isLast }: ObjectPage,
  folder: SourcePath,
  prefix: string,
  fileStat: (path: SourcePath, object: ListedObject) => Stat,
): Glimpse => {
  const known = new Map<string, (() => Stat) | 'unknown'>();
  const add = (written: string, look: (path: SourcePath) => Stat): void => {
    const name = written.normalize('NFC');
    const isClear = name === written && !known.has(name) && isSegment(name);
    known.set(name, isClear ? () => look(folder.below(name)) : 'unknown');
  };
  for (const object of objects)
    if (object.key !== prefix) add(object.key.slice(prefix.length), (path) => fileStat(path, object));
  for (const one of prefixes) add(one.slice(prefix.length, -1), folderStat);
  const last = [objects.at(-1)?.key ?? '', prefixes.at(-1) ?? ''].sort().at(-1) ?? '';
  const isBefore = (name: string): boolean => /^[\u0020-\u007e]+$/u.test(name) && `${prefix}${name}/` < last;
  return (name) => {
    const found = known.get(name);
    if (typeof found === 'function') return found();
    return found ?? (isLast || isBefore(name) ? undefined : 'unknown');
  };
};
