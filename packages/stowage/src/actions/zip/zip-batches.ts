import { buffer } from 'node:stream/consumers';
import { copyNames, isWindowsDevice, withoutCase } from '../../basics/content/file-name.ts';
import type { Entry } from '../../storage/entry.ts';
import type { SourcePath } from '../../storage/source-path.ts';
import type { ReusedMemory, SourceView } from '../../view/source-view.ts';
import type { EntryTable } from '../listing/entry-table.ts';
import type { OpenedFile, ZipBatch, ZipEntry } from './zip-stream.ts';

/** Files up to this size are read whole. */
const SMALL_BYTES = 256 * 1024;
/** Limits of a batch of files. */
const BATCH_BYTES = 512 * 1024;
const BATCH_FILES = 64;

const isSmall = (size: number | undefined): boolean => size !== undefined && size <= SMALL_BYTES;

interface Located {
  readonly entry: ZipEntry;
  readonly path: SourcePath;
  /** Undefined for a folder, and for an unknown size. */
  readonly size: number | undefined;
}

/** Turns names of entries into paths. Fast because entries of one folder are consecutive. */
const pathsBelow = (root: SourcePath): ((name: string) => SourcePath) => {
  let [folder, parent] = ['', root];
  return (name) => {
    const end = name.lastIndexOf('/') + 1;
    const prefix = name.slice(0, end);
    if (prefix !== folder) {
      folder = prefix;
      const segments = prefix.split('/').slice(0, -1);
      parent = segments.reduce((path, segment) => path.below(segment), root);
    }
    return parent.below(name.slice(end));
  };
};

const openFile = async (view: SourceView, path: SourcePath): Promise<OpenedFile> => {
  const read = await view.file(path).open({ bytesUpTo: SMALL_BYTES });
  const { size, modifiedAt } = read.stat;
  // A small file is read whole, so that its connection to the store is released before the file is sent.
  const content = read.bytes ?? (isSmall(size) ? await buffer(read.stream) : read.stream);
  return { size, modifiedAt, content };
};

const readEach = (view: SourceView, paths: readonly SourcePath[]) =>
  Promise.all(
    paths.map(async (path) => {
      const opened = await openFile(view, path);
      if (opened.content instanceof Uint8Array) return { ...opened, content: opened.content };
      // It has grown: it is reopened and streamed when it is next in the archive.
      opened.content.destroy();
      return undefined;
    }),
  );

const readAhead = async (view: SourceView, located: readonly Located[], memory: ReusedMemory) => {
  const small = located.filter(({ size, entry }) => entry.open !== undefined && isSmall(size));
  if (small.length === 0) return [];
  const bytesUpTo = small.reduce((sum, { size = 0 }) => sum + size, 0);
  const paths = small.map(({ path }) => path);
  const together = await view.readMany(paths, { bytesUpTo, memory });
  const read =
    together?.map((file) => file && { ...file.stat, content: file.bytes }) ?? (await readEach(view, paths));
  const files = new Map(small.map((one, index) => [one, read[index]]));
  return located.map((one) => files.get(one));
};

/** Entries below `root` in batches for an archive. The name of each is its path. */
export function* zipBatches(
  view: SourceView,
  root: SourcePath,
  { entries, names }: { readonly entries: EntryTable; readonly names: PortableNames },
): Generator<ZipBatch, void, undefined> {
  const pathOf = pathsBelow(root);
  /** Memory of finished batches. */
  const spare: ReusedMemory[] = [];
  const locate = ({ name: planned, kind, size, modifiedAt }: Entry): Located => {
    const path = pathOf(planned);
    const isFolder = kind === 'folder';
    const name = isFolder ? names.folder(`${planned}/`) : names.file(planned);
    const open = isFolder ? undefined : (): Promise<OpenedFile> => openFile(view, path);
    return { path, size, entry: { name, modifiedAt, open } };
  };
  const batchOf = (located: readonly Located[]): ZipBatch => {
    const memory = spare.pop() ?? { buffer: undefined };
    return {
      entries: located.map(({ entry }) => entry),
      readAhead: () => readAhead(view, located, memory),
      release: () => void spare.push(memory),
    };
  };
  // A store with bulk reads gets many files at a time; others get one after the other.
  const most = view.readsMany ? BATCH_FILES : 1;
  let batch: Located[] = [];
  let bytes = 0;
  for (let row = 0; row < entries.length; row += 1) {
    const located = locate(entries.entry(row));
    const size = located.size ?? 0;
    if (batch.length >= most || bytes + size > BATCH_BYTES) {
      if (batch.length > 0) yield batchOf(batch);
      batch = [];
      bytes = 0;
    }
    batch.push(located);
    bytes += size;
  }
  if (batch.length > 0) yield batchOf(batch);
}

const REPLACEMENT = '_';
/** Characters that Windows rejects. Names of a source contain neither control characters nor backslashes. */
const REFUSED = /[<>:"|?*]/gu;

/** A quick test for names that may have to be changed: few match. */
const SUSPECT = /[<>:"|?*]|[. ]$|^(?:con|prn|aux|nul|com|lpt)/iu;

/** A name that Windows can unpack; nearly all stay unchanged. */
const portable = (segment: string): string => {
  if (!SUSPECT.test(segment)) return segment;
  const safe = segment.replaceAll(REFUSED, REPLACEMENT);
  if (/[. ]$/u.test(safe)) return `${safe.slice(0, -1)}${REPLACEMENT}`;
  return isWindowsDevice(safe) ? REPLACEMENT + safe : safe;
};

/**
 * Makes the names in an archive safe to unpack: characters that Windows rejects become `_`, and a file whose
 * name differs from another only by letter case gets a number. Folders that differ so become one. Memory: the
 * path of each entry.
 */
export class PortableNames {
  /** Next number to try, by path without letter case. */
  readonly #taken = new Map<string, number>();
  /** The folder of the last file, and its name in the archive. */
  #folder = '';
  #parent = '';

  /** Adds a folder, with a trailing slash; folders must be added before files. */
  folder(path: string): string {
    const name = path.split('/').map(portable).join('/');
    const key = withoutCase(name.slice(0, -1));
    if (!this.#taken.has(key)) this.#taken.set(key, 1);
    return name;
  }

  file(path: string): string {
    const end = path.lastIndexOf('/') + 1;
    const folder = path.slice(0, end);
    if (folder !== this.#folder) {
      this.#folder = folder;
      this.#parent = folder.split('/').map(portable).join('/');
    }
    const parent = this.#parent;
    const name = portable(path.slice(end));
    const key = withoutCase(parent + name);
    let number = this.#taken.get(key);
    if (number === undefined) {
      this.#taken.set(key, 1);
      return parent + name;
    }
    const names = copyNames(name, 'file');
    for (; ; number += 1) {
      const numbered = parent + names.at(number);
      if (this.#taken.has(withoutCase(numbered))) continue;
      this.#taken.set(key, number + 1).set(withoutCase(numbered), 1);
      return numbered;
    }
  }
}
