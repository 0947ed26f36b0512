import * as fs from 'node:fs';
import type { Entry } from '../../storage/adapter.ts';
import type { Tally, TallyOptions } from '../../storage/readable.ts';
import { type ListedName, NameFilter, type SeenName } from './names.ts';
import {
  type FolderToScan,
  listedNames,
  openScanned,
  type ScannedFolder,
  type TimeSlice,
} from './scanned-folder.ts';
import { readEntry, isGone, isUnreadable } from './system.ts';

const STRIDE = 500;
/** From this number on, finding the cheapest path for the stats pays off. */
const MANY = 64;
/** Bytes of the longest name, with the slash before it. */
const LONGEST_NAME = 256;
/** File systems whose link counts show subfolders, or are always one: ext2 to ext4, XFS, tmpfs. */
const COUNTS_FOLDERS: ReadonlySet<number> = new Set([0xef53, 0x58465342, 0x01021994]);

interface Folder {
  readonly diskNames: readonly string[];
  /** Its path in the source, with a trailing slash; empty for the root. */
  readonly prefix: string;
}

interface TallyRequest extends FolderToScan, Folder, Omit<TallyOptions, 'signal'> {}

type Work<Result> = Generator<undefined, Result, undefined>;

/**
 * The subfolders, if the link count shows that all are among the `likely` ones; undefined otherwise.
 * @param known by device, whether its link counts show them
 */
const onlyFolders = ({ self }: ScannedFolder, likely: readonly string[], known: Map<number, boolean>) => {
  const { dev, nlink } = fs.statSync(self);
  if (nlink < 2 || nlink > 2 + likely.length) return undefined;
  const isSure = known.get(dev) ?? COUNTS_FOLDERS.has(fs.statfsSync(self).type);
  known.set(dev, isSure);
  const isFolder = (name: string): boolean =>
    fs.lstatSync(`${self}/${name}`, { throwIfNoEntry: false })?.isDirectory() === true;
  const found = isSure && nlink > 2 ? likely.filter(isFolder) : [];
  return isSure && found.length === nlink - 2 ? found : undefined;
};

/** Sums up everything below a folder. Memory: the folders that are still to be read. @throws errors of the system */
export function* tallyTree(request: TallyRequest, slice: TimeSlice): Work<Tally> {
  const { root, handles, of, prefix, uncounted, likely = [], ignores } = request;
  const sum = { files: 0, bytes: 0, deepest: 0, longest: 0, unreadable: 0 };
  const waiting: Folder[] = [request];
  const countsFolders = new Map<number, boolean>();

  const enter = ({ diskNames, prefix: above }: Folder, { raw, name }: SeenName): void => {
    if (uncounted?.includes(name.toLowerCase()) === true) return;
    waiting.push({ diskNames: [...diskNames, raw], prefix: `${above}${name}/` });
  };

  /** Counts the entries that are certainly not folders. */
  const take = (folder: Folder, opened: ScannedFolder, names: readonly SeenName[]): void => {
    const entriesAt = (path: string): readonly (Entry | undefined)[] =>
      names.map(({ raw, name }) => readEntry(`${path}/${raw}`, name));
    const entries = names.length < MANY ? entriesAt(opened.self) : opened.readMany(entriesAt);
    for (const [index, entry] of entries.entries()) {
      const seen = names[index];
      if (entry === undefined || seen === undefined) continue;
      if (entry.kind === 'folder') enter(folder, seen);
      else if (ignores?.test(folder.prefix + entry.name) !== true) {
        sum.files += 1;
        sum.bytes += entry.size ?? 0;
      }
    }
  };

  function* read(folder: Folder): Work<void> {
    const opened = openScanned({ root, diskNames: folder.diskNames, handles });
    try {
      if (of === 'paths') {
        const length = Buffer.byteLength(folder.prefix) - Buffer.byteLength(prefix) + LONGEST_NAME;
        sum.deepest = Math.max(sum.deepest, folder.diskNames.length - request.diskNames.length + 1);
        sum.longest = Math.max(sum.longest, length);
        const only = onlyFolders(opened, likely, countsFolders);
        if (only !== undefined) return only.forEach((name) => enter(folder, { raw: name, name }));
      }
      for (const names of listedNames(opened, new NameFilter(), STRIDE)) {
        for (const listed of names) if (listed.kind === 'folder') enter(folder, listed);
        const isCounted = ({ kind }: ListedName): boolean =>
          kind === undefined || (kind === 'file' && of !== 'paths');
        take(folder, opened, names.filter(isCounted));
        if (slice.isOver) yield;
      }
      opened.verify();
    } finally {
      opened.close();
    }
  }

  for (let folder = waiting.pop(); folder !== undefined; folder = waiting.pop()) {
    try {
      yield* read(folder);
    } catch (error) {
      const isItself = folder === request;
      if (isItself || (!isGone(error) && !isUnreadable(error))) throw error;
      if (isUnreadable(error)) sum.unreadable += 1;
    }
    if (slice.isOver) yield;
  }
  return sum;
}
