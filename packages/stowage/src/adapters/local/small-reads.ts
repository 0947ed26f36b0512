import * as fs from 'node:fs';
import { orUndefined } from '../../errors/errors.ts';
import { openScanned, type FolderToScan, type TimeSlice } from './scanned-folder.ts';
import { READ_ONLY } from './system.ts';

/** Files to read, grouped by folder. */
export interface FilesRequest extends Omit<FolderToScan, 'diskNames'> {
  readonly folders: readonly { readonly diskNames: readonly string[]; readonly names: readonly string[] }[];
  /** Limit for all files together; files beyond it are left out. */
  readonly bytesUpTo: number;
  /** Memory for the first page. */
  readonly memory: ArrayBuffer | undefined;
}

/** A page of files, in the order of the request. */
export interface FilesPage {
  /** Contents of the files, concatenated. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** NaN for a file that was left out. */
  readonly sizes: Float64Array;
  readonly times: Float64Array;
}

/** Up to this number, files are read through the handle of their folder. */
const FEW = 8;

/** A buffer that is filled from the front. */
interface Filled {
  readonly bytes: Uint8Array<ArrayBuffer>;
  used: number;
}

interface Read {
  readonly size: number;
  readonly modifiedAt: number;
}

/** Undefined for an item that is not a file, does not fit or is truncated. @throws errors of the system */
const readFile = (path: string, into: Filled): Read | undefined => {
  const fd = fs.openSync(path, READ_ONLY);
  try {
    const stats = fs.fstatSync(fd);
    if (!stats.isFile() || stats.size > into.bytes.length - into.used) return undefined;
    let length = 0;
    while (length < stats.size) {
      const read = fs.readSync(fd, into.bytes, into.used + length, stats.size - length, null);
      if (read === 0) return undefined;
      length += read;
    }
    into.used += length;
    return { size: length, modifiedAt: Math.floor(stats.mtimeMs) };
  } finally {
    fs.closeSync(fd);
  }
};

/** Reads files of a folder during the time slice, and at least one; undefined for files that are left out. */
const readIn = (folder: FolderToScan, names: readonly string[], into: Filled, slice: TimeSlice) => {
  const before = into.used;
  const readAll = (path: string): (Read | undefined)[] => {
    into.used = before;
    const files: (Read | undefined)[] = [];
    for (const name of names) {
      if (files.length > 0 && slice.isOver) break;
      // After a failure, reading it without the thread reports the cause.
      files.push(orUndefined(() => readFile(`${path}/${name}`, into)));
    }
    return files;
  };
  try {
    const opened = openScanned(folder);
    try {
      // For a few files, finding the cheapest path takes longer.
      const files = names.length < FEW ? readAll(opened.self) : opened.readMany(readAll);
      opened.verify();
      return files;
    } finally {
      opened.close();
    }
  } catch {
    // The folder is gone, or was replaced meanwhile.
    into.used = before;
    return names.map(() => undefined);
  }
};

const pageOf = ({ bytes }: Filled, files: readonly (Read | undefined)[]): FilesPage => ({
  bytes,
  sizes: Float64Array.from(files, (file) => file?.size ?? Number.NaN),
  times: Float64Array.from(files, (file) => file?.modifiedAt ?? Number.NaN),
});

export function* readFiles(
  { root, handles, folders, bytesUpTo, memory }: FilesRequest,
  slice: TimeSlice,
): Generator<FilesPage, FilesPage, undefined> {
  const fits = memory !== undefined && memory.byteLength >= bytesUpTo;
  const bytes = fits ? new Uint8Array(memory, 0, bytesUpTo) : Buffer.allocUnsafeSlow(bytesUpTo);
  let into: Filled = { bytes, used: 0 };
  let files: (Read | undefined)[] = [];
  for (const { diskNames, names } of folders) {
    for (let next = 0; next < names.length;) {
      if (files.length > 0 && slice.isOver) {
        // The memory is transferred with the page.
        const left = into.bytes.length - into.used;
        yield pageOf(into, files);
        into = { bytes: Buffer.allocUnsafeSlow(left), used: 0 };
        files = [];
      }
      const read = readIn({ root, diskNames, handles }, names.slice(next), into, slice);
      files.push(...read);
      next += read.length;
    }
  }
  return pageOf(into, files);
}
