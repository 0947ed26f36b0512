import { createLimiter } from '../../concurrency/limiter.ts';
import { systemCode } from '../../adapter-support/system-errors.ts';
import { openForReading } from './across.ts';
import type { Confinement, OpenFolder } from './confinement.ts';
import { chunksOfFile, writeChunks } from './file-content.ts';
import { NameFilter, type SeenName } from './names.ts';
import { flushFolder } from './folder-walker.ts';
import { closeFile, lstatOf, makeDirectory, readNames } from './system.ts';
import { createFile } from './temp-area.ts';

const SIDE_BY_SIDE = 16;

// An entry that is not there any more, or is not a file or folder any more: as if the copy had begun a moment later.
const VANISHED: ReadonlySet<string | undefined> = new Set(['ENOENT', 'ENOTDIR', 'ELOOP', 'ENXIO']);

const unlessVanished = <T>(opening: Promise<T>): Promise<T | undefined> =>
  opening.catch((error: unknown) => {
    if (VANISHED.has(systemCode(error))) return undefined;
    throw error;
  });

const copyBytes = async (
  fd: number,
  to: OpenFolder,
  name: string,
  signal: AbortSignal | undefined,
): Promise<void> => {
  const target = await createFile(to, name);
  try {
    await writeChunks(target, chunksOfFile(fd, signal));
  } finally {
    await closeFile(target);
  }
};

const copyOne = async (
  from: OpenFolder,
  { raw, name }: SeenName,
  to: OpenFolder,
  signal: AbortSignal | undefined,
): Promise<void> => {
  const source = await unlessVanished(openForReading(from.at(raw)));
  if (source === undefined) return;
  try {
    if (source.stats.isFile()) await copyBytes(source.fd, to, name, signal);
  } finally {
    await closeFile(source.fd);
  }
};

/** The names that can be shown; a respelled one gives way to its composed form. */
const visibleIn = async (folder: OpenFolder): Promise<readonly SeenName[]> => {
  const filter = new NameFilter();
  const raws = await readNames(folder.self);
  const seen = raws.flatMap((raw) => filter.take(raw) ?? []);
  const taken = new Set(seen.map(({ name }) => name));
  return [...seen, ...filter.rest().filter(({ name }) => !taken.has(name))];
};

/** Copies the files of a folder and returns its subfolders. */
const copyFiles = async (
  from: OpenFolder,
  to: OpenFolder,
  signal: AbortSignal | undefined,
): Promise<readonly SeenName[]> => {
  const folders: SeenName[] = [];
  const limiter = createLimiter(SIDE_BY_SIDE);
  try {
    for (const seen of await visibleIn(from)) {
      signal?.throwIfAborted();
      const stats = await unlessVanished(lstatOf(from.at(seen.raw)));
      if (stats?.isDirectory() === true) folders.push(seen);
      if (stats?.isFile() === true) await limiter.add(() => copyOne(from, seen, to, signal));
    }
  } finally {
    // The handles of both folders are in use until the last copy has ended.
    await limiter.drain();
  }
  return folders;
};

/**
 * Copies all that can be seen in one open folder into another, empty one. Links and special files are left out, wherever they come from:
 * every folder is entered and every file opened by handles. Whoever calls takes away what a failure leaves.
 */
export const copyTree = async (
  confinement: Confinement,
  from: OpenFolder,
  to: OpenFolder,
  signal: AbortSignal | undefined,
): Promise<void> => {
  for (const { raw, name } of await copyFiles(from, to, signal)) {
    signal?.throwIfAborted();
    const source = await unlessVanished(confinement.openChild(from, raw));
    if (source === undefined) continue;
    try {
      await makeDirectory(to.at(name), 0o777);
      const target = await confinement.openChild(to, name);
      try {
        await copyTree(confinement, source, target, signal);
        await flushFolder(target);
      } finally {
        await target.close();
      }
    } finally {
      await source.close();
    }
  }
};
