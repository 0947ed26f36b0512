import * as fs from 'node:fs';
import type { Entry, ListOptions } from '../../storage/adapter.ts';
import { keyOf } from '../../storage/entry.ts';
import { type EntryColumns, type KeyedEntry, toColumns } from './entry-columns.ts';
import { type ListedName, NameFilter } from './names.ts';
import { type FolderToScan, listedNames, openScanned, type ScannedFolder } from './scanned-folder.ts';
import { readEntry, isUnreadable, statOf } from './system.ts';

const PAGE = 2000;

export interface ListRequest extends FolderToScan {
  readonly detail: NonNullable<ListOptions['detail']>;
}

interface ListPage extends EntryColumns {
  /** In the last page: number of entries of the whole folder that are left out. */
  readonly omitted: number;
}

/** The entry at a path; undefined when it is missing, a link or a special file. */
const entryWith = (path: string, name: string, detail: ListRequest['detail']): Entry | undefined => {
  if (detail !== 'versions') return readEntry(path, name);
  const exact = fs.lstatSync(path, { bigint: true, throwIfNoEntry: false });
  return exact && statOf(name, exact);
};

/** The entries of the names, and the number of links, special and unreadable files among them. */
const describe = (folder: ScannedFolder, names: readonly ListedName[], detail: ListRequest['detail']) => {
  const described = folder.readMany((path) => {
    const rows: KeyedEntry[] = [];
    let strange = 0;
    let unreadable: Error | undefined;
    for (const { raw, name, kind } of names) {
      const isSure = detail === 'names' && kind !== undefined;
      let entry: Pick<Entry, 'name' | 'kind'> | undefined;
      try {
        entry = isSure ? { name, kind } : entryWith(`${path}/${raw}`, name, detail);
      } catch (error) {
        if (!isUnreadable(error)) throw error;
        unreadable = error as Error;
        strange += 1;
        continue;
      }
      if (entry !== undefined) rows.push({ key: keyOf(entry), entry });
      // An entry that was removed in the meantime does not count as left out.
      else if (kind === undefined) strange += 1;
    }
    // A single one is left out; where all are unreadable, the folder is.
    if (unreadable !== undefined && names.length > 1 && rows.length === 0) throw unreadable;
    return { rows, strange };
  });
  folder.verify();
  return described;
};

/**
 * Lists a folder in the scanning thread: reads names and their metadata page by page on request, so that
 * memory does not grow with the folder. @throws errors of the system
 */
export function* listFolder({ detail, ...target }: ListRequest): Generator<ListPage, ListPage, undefined> {
  const folder = openScanned(target);
  try {
    const filter = new NameFilter();
    let page: EntryColumns | undefined;
    for (const names of listedNames(folder, filter, PAGE)) {
      if (page !== undefined) yield { ...page, omitted: 0 };
      const { rows, strange } = describe(folder, names, detail);
      filter.omit(strange);
      page = toColumns(rows, detail);
    }
    return { ...(page ?? toColumns([], detail)), omitted: filter.omitted };
  } finally {
    folder.close();
  }
}
