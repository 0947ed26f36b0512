import * as fs from 'node:fs';
import { openScanned, type FolderToScan } from './scanned-folder.ts';
import { READ_ONLY } from './system.ts';

/** Files that are asked for, folder by folder. */
export interface FilesRequest extends Omit<FolderToScan, 'diskNames'> {
  readonly type: 'files';
  readonly id: number;
  readonly folders: readonly { readonly diskNames: readonly string[]; readonly names: readonly string[] }[];
  /** Of all files together; what does not fit is left out. */
  readonly bytesUpTo: number;
  readonly memory: ArrayBuffer | undefined;
}

/** What was read of them, in the order of the request. */
export interface FilesPage {
  readonly type: 'files';
  readonly id: number;
  /** One behind the other. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** NaN for a file that was left out. */
  readonly sizes: Float64Array;
  readonly times: Float64Array;
  /** How many of the files were asked for before the time was over. */
  readonly reached: number;
  readonly isLast: true;
}

/** So few are read through the handle of their folder. */
const FEW = 8;
/** Longest work for one request, in milliseconds: the listings of others wait meanwhile. */
const LONGEST = 10;

/** Bytes that are filled from the front. */
interface Filled {
  readonly bytes: Uint8Array<ArrayBuffer>;
  used: number;
}

interface Read {
  readonly size: number;
  readonly modifiedAt: number;
}

/** Undefined for what is not a file, does not fit or is cut meanwhile. @throws errors of the system */
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

const tryToRead = (path: string, into: Filled): Read | undefined => {
  try {
    return readFile(path, into);
  } catch {
    // A caller that reads it in the other way learns why.
    return undefined;
  }
};

const memoryFor = ({ memory, bytesUpTo }: FilesRequest): Uint8Array<ArrayBuffer> =>
  memory !== undefined && memory.byteLength >= bytesUpTo
    ? new Uint8Array(memory, 0, bytesUpTo)
    : Buffer.allocUnsafeSlow(bytesUpTo);

/** Reads small files in the scanning thread, for some milliseconds, and at least one. */
export const readFiles = (request: FilesRequest): FilesPage => {
  const { id, root, handles, folders } = request;
  const end = performance.now() + LONGEST;
  const count = folders.reduce((sum, { names }) => sum + names.length, 0);
  const into: Filled = { bytes: memoryFor(request), used: 0 };
  const sizes = new Float64Array(count).fill(Number.NaN);
  const times = new Float64Array(count);
  let row = 0;
  let reached = 0;
  for (const { diskNames, names } of folders) {
    const first = row;
    if (reached < first) break;
    row += names.length;
    const before = into.used;
    const readAll = (folder: string): (Read | undefined)[] => {
      into.used = before;
      reached = first;
      const files: (Read | undefined)[] = [];
      for (const name of names) {
        if (reached > 0 && performance.now() >= end) break;
        files.push(tryToRead(`${folder}/${name}`, into));
        reached += 1;
      }
      return files;
    };
    try {
      const folder = openScanned({ root, diskNames, handles });
      try {
        // For a few files it takes longer to find the cheapest path.
        const files = names.length < FEW ? readAll(folder.self) : folder.lookAtMany(readAll);
        folder.verify();
        for (const [index, file] of files.entries()) {
          if (file === undefined) continue;
          sizes[first + index] = file.size;
          times[first + index] = file.modifiedAt;
        }
      } finally {
        folder.close();
      }
    } catch {
      // The folder is gone, or was another one meanwhile.
      into.used = before;
      reached = row;
    }
  }
  return { type: 'files', id, bytes: into.bytes, sizes, times, reached, isLast: true };
};
