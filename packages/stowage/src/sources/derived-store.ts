import { ifMissing, NotEmptyError, UnsafePathError } from '../errors/errors.ts';
import type { Stat, StorageAdapter } from '../storage/adapter.ts';
import { streamOf } from '../storage/content.ts';
import type { OperationOptions, ReadableStore } from '../storage/readable.ts';
import type { SourcePath } from '../storage/source-path.ts';
import type { Source } from './source.ts';

/**
 * A store in which only derived files can be changed: those in thumbnail folders, and in the folders of
 * presets inside them. All files can be read.
 */
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

  /**
   * Removes the folder of a derived file if it is empty, then empty parent folders up to `top` itself.
   * @throws errors of the store
   */
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
