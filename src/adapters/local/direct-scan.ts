import * as fs from 'node:fs';
import type { Entry } from '../../storage/adapter.ts';
import { systemCode } from '../../storage/system-errors.ts';
import type { OpenFolder } from './confinement.ts';
import { entryOf } from './entry.ts';
import { visibleNames, type SeenName } from './names.ts';
import { openDirectory } from './system.ts';

const IN_FLIGHT = 64;

/** Names of a folder with the kinds that the listing itself reports. */
interface NamedKind extends SeenName {
  readonly kind: Entry['kind'] | undefined;
}

/** Not so for entries whose type the file system does not report; those must be asked for one by one. */
const isSpecial = (entry: fs.Dirent): boolean =>
  entry.isSymbolicLink() ||
  entry.isFIFO() ||
  entry.isSocket() ||
  entry.isCharacterDevice() ||
  entry.isBlockDevice();

const kindOf = (entry: fs.Dirent): NamedKind['kind'] => {
  if (entry.isFile()) return 'file';
  return entry.isDirectory() ? 'folder' : undefined;
};

/** All visible names of a folder when it holds at most `most` entries, else undefined. Reads no further than that. */
export const readSmallFolder = async (
  folder: OpenFolder,
  most: number,
): Promise<readonly NamedKind[] | undefined> => {
  const directory = await openDirectory(folder.self, { encoding: 'utf8', bufferSize: most + 1 });
  const kinds = new Map<string, NamedKind['kind']>();
  try {
    for (let seen = 0; ; seen += 1) {
      const entry = await directory.read();
      if (entry === null) break;
      if (seen === most) return undefined;
      if (!isSpecial(entry)) kinds.set(entry.name, kindOf(entry));
    }
  } finally {
    await directory.close();
  }
  return visibleNames([...kinds.keys()]).map((seen) => ({ ...seen, kind: kinds.get(seen.raw) }));
};

/**
 * What lies at these names of a folder, in their order; undefined for what is gone, a link or a special file. Callbacks, 64 in flight: half
 * the cost of promises.
 */
export const statNames = (
  folder: OpenFolder,
  names: readonly SeenName[],
  signal: AbortSignal | undefined,
): Promise<(Entry | undefined)[]> =>
  new Promise((resolve, reject) => {
    const found = new Array<Entry | undefined>(names.length).fill(undefined);
    let next = 0;
    let running = 0;
    let failure: Error | undefined;
    const step = (): void => {
      if (failure === undefined && signal?.aborted === true) failure = signal.reason as Error;
      while (failure === undefined && running < IN_FLIGHT && next < names.length) ask(next++);
      // Only when nothing is under way any more: whoever waits closes the folder's handle.
      if (running > 0) return;
      if (failure === undefined) resolve(found);
      else reject(failure);
    };
    const ask = (index: number): void => {
      const seen = names[index];
      if (seen === undefined) return;
      running += 1;
      fs.lstat(folder.at(seen.raw), (error, stats) => {
        running -= 1;
        if (error === null) found[index] = entryOf(seen.name, stats);
        else if (systemCode(error) !== 'ENOENT') failure ??= error;
        step();
      });
    };
    step();
  });

/** The entries of these names. With `namesOnly` those are asked for whose kind the listing did not report. */
export const describeNames = async (
  folder: OpenFolder,
  names: readonly NamedKind[],
  namesOnly: boolean,
  signal: AbortSignal | undefined,
): Promise<readonly Entry[]> => {
  // The replacement character may stand for bytes that are no text: such a name cannot be reached.
  const isSure = (seen: NamedKind): boolean =>
    namesOnly && seen.kind !== undefined && !seen.raw.includes('\uFFFD');
  const asked = await statNames(
    folder,
    names.filter((seen) => !isSure(seen)),
    signal,
  );
  const rest = asked.values();
  return names.flatMap((seen) => {
    if (isSure(seen))
      return [{ name: seen.name, kind: seen.kind ?? 'file', size: undefined, modifiedAt: undefined }];
    const entry = rest.next().value;
    return entry === undefined ? [] : [entry];
  });
};
