import type { Settings } from '../config/settings.ts';
import { ifMissing, NotEmptyError, UnsafePathError } from '../errors/errors.ts';
import type { Stat, StorageAdapter } from '../storage/adapter.ts';
import { streamOf } from '../storage/content.ts';
import type { KnownRecords } from '../storage/moved/known-records.ts';
import type { OperationOptions, ReadableStore } from '../storage/readable.ts';
import type { SourcePath } from '../storage/source-path.ts';
import type { TrashRecords } from '../storage/trash/record.ts';

export interface Source {
  /** Key in `sources`; requests may use it instead of `name`. */
  readonly key: string;
  readonly name: string;
  readonly title: string;
  /** Base address of its files: an absolute http(s) URL or a path, with a trailing slash. */
  readonly baseurl: string;
  /** Other addresses of the same files, in the same form. */
  readonly baseurlAliases: readonly string[];
  /** `baseurl` is below the service's own address, whose host the request determines. */
  readonly servesItself: boolean;
  /** The tenant that owns the source; undefined for configured sources. */
  readonly tenant: string | undefined;
  /**
   * Identifies the tenant and the location of the files, so that signed links and quotas stay separate even
   * when one tenant id has several sets of sources. Undefined for configured sources. The same in all
   * instances.
   */
  readonly scope: string | undefined;
  readonly settings: Settings;
  /** The store, opened at the first call. Rejects with UnsupportedError if an optional package is missing. */
  readonly storage: () => Promise<StorageAdapter>;
  /** Whether the path is or contains the root of another source. Opens their stores. */
  readonly holdsOtherRoot: (path: SourcePath) => Promise<boolean>;
  readonly trashRecords: TrashRecords;
  readonly movedRecords: KnownRecords;
}

/** The sources that a request can use. */
export interface SourceSet {
  /** In the order of the configuration. */
  readonly all: readonly Source[];
  find(name: string): Source | undefined;
}

/** Sources with a common lifetime: those of the configuration, or those of one tenant. */
export interface SourceGroup extends SourceSet {
  /** Closes every store that was opened. Failures are logged, never thrown. */
  close(): Promise<void>;
}

/** A store in which only derived files can be changed, in thumbnail folders and their preset folders. */
export class DerivedStore {
  /** The complete store, the same object for all requests. */
  readonly files: ReadableStore;
  readonly #store: StorageAdapter;
  readonly #folderName: string;

  constructor(store: StorageAdapter, folderName: string) {
    this.files = store;
    this.#store = store;
    this.#folderName = folderName.normalize('NFC');
  }

  /** Stores or replaces a derived file. @throws errors of the store */
  async write(path: SourcePath, content: Buffer, { signal }: OperationOptions): Promise<Stat> {
    // Clients cannot put a folder into a thumbnail folder.
    return this.#store.write(this.#own(path), streamOf(content), {
      size: content.length,
      derived: true,
      signal,
    });
  }

  /** Removes a derived file if it exists. @throws errors of the store */
  async remove(path: SourcePath): Promise<void> {
    await this.#store.removeFile(this.#own(path), { mayMiss: true }).catch(ifMissing);
  }

  /** Moves a derived file; `seen` is its stat. @throws NotFoundError, errors of the store */
  async move(from: SourcePath, to: SourcePath, seen?: Stat): Promise<void> {
    await this.#store.moveFile(this.#own(from), this.#own(to), { seen, isNoFolder: true });
  }

  /** @throws NotFoundError, errors of the store */
  async copy(from: SourcePath, to: SourcePath, seen?: Stat): Promise<void> {
    await this.#store.copyFile(this.#own(from), this.#own(to), { seen, isNoFolder: true });
  }

  /** Removes the folder of a derived file if it is empty, then empty parents up to `top` itself. */
  async removeEmptyFolders(path: SourcePath, top: SourcePath): Promise<void> {
    for (let folder = this.#own(path).parent; top.contains(folder); folder = folder.parent) {
      try {
        await this.#store.removeEmptyFolder(folder);
      } catch (error) {
        if (error instanceof NotEmptyError) return;
        ifMissing(error);
      }
    }
  }

  #own(path: SourcePath): SourcePath {
    if (path.segments.slice(-3, -1).includes(this.#folderName)) return path;
    throw new UnsafePathError('Not a derived file.');
  }
}

/** The store for a source's derived files. @throws UnsupportedError when its optional package is missing */
export const derivedStoreOf = async ({ storage, settings }: Source): Promise<DerivedStore> =>
  new DerivedStore(await storage(), settings.thumbFolderName);
