import { LRUCache } from 'lru-cache';
import type { Logger } from '../../basics/log/logger.ts';
import type { Source } from '../../sources/source.ts';
import type { ReadableStore } from '../../storage/readable.ts';
import type { SourcePath } from '../../storage/source-path.ts';

/** Folders of a store that are remembered. */
const MOST_FOLDERS = 1000;

/**
 * Logs how many entries of a folder no listing can show, once for each folder and process: what looks empty
 * may hold something. Remembers a bounded number of folders.
 */
export class OmittedEntries {
  readonly #stores = new WeakMap<ReadableStore, LRUCache<string, true>>();

  /** What a listing passes to the store as `onOmitted`. */
  reporter(
    log: Logger,
    { name }: Pick<Source, 'name'>,
    storage: ReadableStore,
    folder: SourcePath,
  ): (count: number) => void {
    return (count) => {
      const folders = this.#stores.get(storage) ?? new LRUCache<string, true>({ max: MOST_FOLDERS });
      this.#stores.set(storage, folders);
      const path = folder.toString();
      if (folders.get(path) !== undefined) return;
      folders.set(path, true);
      const entries = count === 1 ? '1 entry of this folder' : `${String(count)} entries of this folder`;
      log.warn(`${entries} cannot be shown: links, special files, or names that cannot be part of a path.`, {
        source: name,
        path,
      });
    };
  }
}
