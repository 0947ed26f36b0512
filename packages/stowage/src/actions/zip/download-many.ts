import { ArchiveLimitError } from '../../errors/errors.ts';
import type { Entry } from '../../storage/entry.ts';
import type { SourcePath } from '../../storage/source-path.ts';
import { walkTree, type FolderView } from '../../storage/tree-walk.ts';
import type { ActionContext } from '../action.ts';
import { FileAnswer } from '../file-answer.ts';
import { findItem, ruleExtension } from '../../view/item.ts';
import { isBounded, visibleEntries, visibleFolders } from '../../view/visibility.ts';
import type { OpenSource } from '../../view/open-source.ts';
import { reservedPattern } from '../../view/reserved.ts';
import { PlannedEntries } from './planned-entries.ts';
import { PortableNames } from './portable-names.ts';
import { zipBatches } from './zip-batches.ts';
import { ZipStream, type ZipBatch } from './zip-stream.ts';

const KEY = 'FILE_DOWNLOAD';
/** Items of one folder that are sent together. */
export interface DownloadOfMany {
  readonly folder: SourcePath;
  readonly names: readonly string[];
}

/** What is sent of a folder: what its listing shows, as far as the role may download it. */
const viewOf =
  ({ source: { settings }, access }: OpenSource) =>
  (folder: SourcePath): FolderView => {
    const isListed = access.allows('FILES', folder);
    const isVisibleFolder = visibleFolders(settings, access, folder);
    const isVisible = visibleEntries(settings, access, folder, {
      folders: true,
      onlyImages: false,
      filterWord: undefined,
    });
    return {
      enters: (entry) => isVisibleFolder(entry) && isBounded(folder, entry.name),
      wants: (entry) =>
        isListed &&
        isVisible(entry) &&
        isBounded(folder, entry.name) &&
        access.allows(KEY, folder.child(entry.name), ruleExtension(folder.child(entry.name), entry.kind)),
    };
  };

/** The entries of an archive, as far as its limits go. */
class ArchivePlan {
  readonly #entries = new PlannedEntries();
  readonly #names = new PortableNames();
  readonly #open: OpenSource;
  readonly #folder: SourcePath;
  readonly #signal: AbortSignal;
  #bytes = 0;
  #seen = 0;

  constructor(open: OpenSource, folder: SourcePath, signal: AbortSignal) {
    this.#open = open;
    this.#folder = folder;
    this.#signal = signal;
  }

  /** @throws ArchiveLimitError */
  add(path: SourcePath, { kind, size, modifiedAt }: Pick<Entry, 'kind' | 'size' | 'modifiedAt'>): void {
    const { zipLimits } = this.#open.source.settings;
    this.#bytes += size ?? 0;
    if (this.#entries.count === zipLimits.entries || this.#bytes > zipLimits.bytes)
      throw new ArchiveLimitError();
    const name = path.segments.slice(this.#folder.segments.length).join('/');
    const isFolder = kind === 'folder';
    // Before the files: they give way.
    if (isFolder) this.#names.folder(`${name}/`);
    this.#entries.add({ name: isFolder ? `${name}/` : name, size, modifiedAt });
  }

  /** Adds what lies below a folder. @throws ArchiveLimitError */
  async addBelow(folder: SourcePath): Promise<void> {
    const { storage, source } = this.#open;
    const { zipLimits, searchLimits } = source.settings;
    const pages = walkTree(storage, folder, {
      detail: 'full',
      words: [],
      never: reservedPattern(source.settings),
      most: zipLimits.entries + 1,
      view: viewOf(this.#open),
      signal: this.#signal,
    });
    for await (const { found, seen } of pages) {
      for (const { path, entry } of found) this.add(path, entry);
      // Also of what is left out, there may be too much to walk through in one request.
      this.#seen += seen;
      if (this.#seen > searchLimits.entries) throw new ArchiveLimitError();
    }
  }

  /** The entries to be sent. To be asked for once. */
  batches(): Iterable<ZipBatch> {
    const planned = { entries: this.#entries, names: this.#names };
    return zipBatches(this.#open.storage, this.#folder, planned, this.#signal);
  }
}

/**
 * Sends several files and folders of a folder as one archive, nothing compressed, made while it is sent. An
 * item that is missing or denied refuses the request; below folders, what listings hide and what is denied is
 * left out. What fails or changes on the way breaks the answer off.
 * @throws NotFoundError, AccessDeniedError, ArchiveLimitError beyond `zipLimits`
 */
export const downloadMany = async (
  { signal, isHead, services }: ActionContext,
  open: OpenSource,
  { folder, names }: DownloadOfMany,
): Promise<FileAnswer> => {
  const named = names.map((name) => folder.child(name));
  const paths = [...new Map(named.map((path) => [path.toString(), path])).values()];
  // Before the store is asked: whoever is denied does not learn what exists.
  for (const path of paths) open.access.require(KEY, path, ruleExtension(path, 'file'));
  const plan = new ArchivePlan(open, folder, signal);
  // A walk through folders costs as much as a search.
  const leave = await services.searches.take(signal);
  try {
    for (const path of paths) {
      const { stat } = await findItem(open, path, signal);
      if (stat.kind === 'folder') {
        open.access.require(KEY, path);
        open.access.require('FOLDERS', path);
      }
      plan.add(path, stat);
      // Headers depend on nothing that lies below.
      if (stat.kind === 'folder' && !isHead) await plan.addBelow(path);
    }
  } finally {
    leave();
  }
  const [only] = paths;
  const name = (paths.length === 1 ? only?.name : folder.name) || open.source.title || open.source.name;
  const { bytes } = open.source.settings.zipLimits;
  return new FileAnswer({
    filename: `${name}.zip`,
    contentType: 'application/zip',
    stat: { size: undefined, modifiedAt: undefined, etag: undefined },
    open: () => Promise.resolve(new ZipStream(plan.batches(), bytes)),
  });
};
