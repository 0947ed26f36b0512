import type { BigIntStats, Stats } from 'node:fs';
import type { Entry, Stat } from '../../storage/adapter.ts';

/** An entry from what the system reports; undefined for links, sockets, pipes and devices. */
export const entryOf = (name: string, stats: Stats | BigIntStats): Entry | undefined => {
  const modifiedAt = Math.floor(Number(stats.mtimeMs));
  if (stats.isFile()) return { name, kind: 'file', size: Number(stats.size), modifiedAt };
  if (stats.isDirectory()) return { name, kind: 'folder', size: undefined, modifiedAt };
  return undefined;
};

/** A file's version: it changes with every write, since each makes a new file. */
export const etagOf = (stats: BigIntStats): string =>
  `"${stats.size.toString(16)}-${stats.mtimeNs.toString(16)}-${stats.ino.toString(16)}"`;

/** As `entryOf`, with the version of a file. */
export const statOf = (name: string, stats: BigIntStats): Stat | undefined => {
  const entry = entryOf(name, stats);
  if (entry === undefined) return undefined;
  return { ...entry, etag: entry.kind === 'file' ? etagOf(stats) : undefined };
};
