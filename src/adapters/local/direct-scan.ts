import * as fs from 'node:fs';
import type { Entry } from '../../storage/adapter.ts';
import { systemCode } from '../../adapter-support/system-errors.ts';
import type { OpenFolder } from './confinement.ts';
import { entryOf } from './entry.ts';
import { NameFilter, type SeenName } from './names.ts';
import { lstatOf, openDirectory } from './system.ts';

const IN_FLIGHT = 64;
const MOST_BUFFERED = 1000;

/** Names of a folder with the kinds that the listing itself reports. */
export interface NamedKind extends SeenName {
  readonly kind: Entry['kind'] | undefined;
}

/** The entries of a folder that can be shown. */
export interface Shown<Item> {
  readonly entries: readonly Item[];
  /** How many cannot. */
  readonly omitted: number;
}

/** Not so for entries whose type the file system does not report; those must be asked for one by one. */
export const isSpecial = (entry: fs.Dirent): boolean =>
  entry.isSymbolicLink() ||
  entry.isFIFO() ||
  entry.isSocket() ||
  entry.isCharacterDevice() ||
  entry.isBlockDevice();

export const kindOf = (entry: fs.Dirent): NamedKind['kind'] => {
  if (entry.isFile()) return 'file';
  return entry.isDirectory() ? 'folder' : undefined;
};

/** All visible names of a folder when it holds at most `most` entries, else undefined. Reads no further than that. */
export const readSmallFolder = async (
  folder: OpenFolder,
  most: number,
): Promise<Shown<NamedKind> | undefined> => {
  const directory = await openDirectory(folder.self, {
    encoding: 'utf8',
    bufferSize: Math.min(most + 1, MOST_BUFFERED),
  });
  const filter = new NameFilter();
  const kinds = new Map<string, NamedKind['kind']>();
  const entries: NamedKind[] = [];
  try {
    for (let seen = 0; ; seen += 1) {
      const entry = await directory.read();
      if (entry === null) break;
      if (seen === most) return undefined;
      if (isSpecial(entry)) {
        filter.omit();
        continue;
      }
      const taken = filter.take(entry.name);
      if (taken === undefined) kinds.set(entry.name, kindOf(entry));
      else entries.push({ ...taken, kind: kindOf(entry) });
    }
  } finally {
    await directory.close();
  }
  for (const { raw, name } of filter.rest()) {
    const composed = await lstatOf(folder.at(name)).catch(() => undefined);
    if (composed === undefined) entries.push({ raw, name, kind: kinds.get(raw) });
    else filter.omit();
  }
  return { entries, omitted: filter.omitted };
};

/**
 * What lies at these names of a folder, in their order; undefined for what is gone, a link or a special file. Callbacks, 64
 * in flight: half the cost of promises.
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
): Promise<Shown<Entry>> => {
  // The replacement character may stand for bytes that are not text: such a name cannot be reached.
  const isSure = (seen: NamedKind): boolean =>
    namesOnly && seen.kind !== undefined && !seen.raw.includes('\uFFFD');
  const asked = await statNames(
    folder,
    names.filter((seen) => !isSure(seen)),
    signal,
  );
  const rest = asked.values();
  let omitted = 0;
  const entries = names.flatMap((seen) => {
    if (isSure(seen))
      return [{ name: seen.name, kind: seen.kind ?? 'file', size: undefined, modifiedAt: undefined }];
    const entry = rest.next().value;
    // What is merely gone is not left out.
    if (entry === undefined && (seen.kind === undefined || seen.raw.includes('\uFFFD'))) omitted += 1;
    return entry === undefined ? [] : [entry];
  });
  return { entries, omitted };
};
