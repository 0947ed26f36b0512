import { forEachAtOnce, inSlot } from '../basics/concurrency/queues.ts';
import { ArchiveLimitError } from '../errors/errors.ts';
import type { Entry } from '../storage/entry.ts';
import type { SourcePath } from '../storage/source-path.ts';
import type { Item } from '../view/folder-view.ts';
import type { SourceView } from '../view/source-view.ts';
import { type ActionContext, defineAction } from './action.ts';
import { FileResponse } from './responses.ts';
import { turnOf } from './listing/each-source.ts';
import { someOfFolder } from './many.ts';
import { EntryTable } from './listing/entry-table.ts';
import { PortableNames, zipBatches } from './zip/zip-batches.ts';
import { type ZipBatch, ZipStream } from './zip/zip-stream.ts';

const KEY = 'FILE_DOWNLOAD';
const LOOKED_UP_AT_ONCE = 8;
/** Initial capacity of the plan of an archive. */
const FEW_ENTRIES = 1024;

export interface DownloadOfMany {
  readonly folder: SourcePath;
  readonly names: readonly string[];
}

/** Plans an archive of items of a folder. */
const planArchive = (view: SourceView, folder: SourcePath) => {
  const { zipLimits, searchLimits } = view.source.settings;
  const entries = new EntryTable(FEW_ENTRIES);
  const names = new PortableNames();
  let [bytes, walked] = [0, 0];
  /** @throws ArchiveLimitError */
  const add = (path: SourcePath, { kind, size, modifiedAt }: Pick<Entry, 'kind' | 'size' | 'modifiedAt'>) => {
    bytes += size ?? 0;
    if (entries.length === zipLimits.entries || bytes > zipLimits.bytes) throw new ArchiveLimitError();
    const name = path.segments.slice(folder.segments.length).join('/');
    // Folders are named before files: a file with the same name is renamed.
    if (kind === 'folder') names.folder(`${name}/`);
    entries.add({ name, kind, size, modifiedAt });
  };
  /** Adds the entries below a folder. @throws ArchiveLimitError */
  const addBelow = async (inside: SourcePath): Promise<void> => {
    const walk = { key: KEY, detail: 'full', words: [], most: zipLimits.entries + 1 } as const;
    for await (const { found, seen } of view.walk(inside, walk)) {
      for (const { path, entry } of found) add(path, entry);
      // Hidden entries count too: the number of entries that a request walks is limited.
      walked += seen;
      if (walked > searchLimits.entries) throw new ArchiveLimitError();
    }
  };
  /** The entries of the archive. Call it once. */
  const batches = (): Iterable<ZipBatch> => zipBatches(view, folder, { entries, names });
  return { add, addBelow, batches };
};

/**
 * Sends several files and folders of a folder as one archive, uncompressed and streamed. A named item that is
 * missing or denied rejects the request; below folders, hidden and denied entries are left out. An entry that
 * fails or changes while it is sent aborts the response.
 * @throws NotFoundError, AccessDeniedError, ArchiveLimitError beyond `zipLimits`
 */
export const downloadMany = async (
  { signal, isHead, services }: ActionContext,
  view: SourceView,
  { folder, names }: DownloadOfMany,
): Promise<FileResponse> => {
  const named = names.map((name) => folder.child(name));
  const paths = [...new Map(named.map((path) => [path.toString(), path])).values()];
  // Checked before the store is read, so that a denied request does not reveal which files exist.
  for (const path of paths) view.require(KEY, path, 'file');
  const plan = planArchive(view, folder);
  // A walk through folders costs as much as a search.
  await inSlot(services.searches, signal, turnOf(view.source), async () => {
    const items: Item[] = [];
    await forEachAtOnce(LOOKED_UP_AT_ONCE, paths.entries(), async ([index, path]) => {
      items[index] = await view.lookUp(path);
    });
    for (const { path, stat } of items) {
      if (stat.kind === 'folder') view.require([KEY, 'FOLDERS'], path, 'folder');
      plan.add(path, stat);
      // HEAD needs no walk: the headers do not depend on the content of folders.
      if (stat.kind === 'folder' && !isHead) await plan.addBelow(path);
    }
  });
  const [only] = paths;
  const name = (paths.length === 1 ? only?.name : folder.name) || view.source.title || view.source.name;
  const { bytes } = view.source.settings.zipLimits;
  return new FileResponse({
    filename: `${name}.zip`,
    contentType: 'application/zip',
    stat: { size: undefined, modifiedAt: undefined, etag: undefined },
    open: () => Promise.resolve(new ZipStream(plan.batches(), bytes)),
  });
};

// Never the file's own type: a browser must not render it on this origin.
const contentType = 'application/octet-stream';

/** Sends a file as an attachment with a neutral type; several files and folders as an archive. */
export const fileDownloadAction = defineAction({
  name: 'fileDownload',
  keys: { file: ['FILE_DOWNLOAD'], folder: ['FILE_DOWNLOAD', 'FOLDERS'] },
  summary: 'Sends a file as an attachment, or several files and folders as a ZIP archive.',
  changes: false,
  // An archive walks folders.
  load: ({ names }) => (names === undefined ? undefined : 'listings'),
  parameters: someOfFolder('Files and folders of `path` for one archive.'),
  // Or application/zip.
  result: { contentType: 'application/*' },
  run: async (context, input) => {
    const view = await context.views.open(input.source);
    const { path: folder, name = '', names } = input;
    if (names !== undefined) return downloadMany(context, view, { folder, names });
    const path = folder.child(name);
    const { stat, file } = await view.find('FILE_DOWNLOAD', path, 'file');
    return new FileResponse({
      filename: path.name,
      contentType,
      stat,
      // Opens the version that the headers describe, or fails.
      open: async (range) => (await file.openSeen(stat, { range })).stream,
    });
  },
});
