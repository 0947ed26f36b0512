import { LRUCache } from 'lru-cache';
import type { Logger } from '../../basics/log/logger.ts';
import type { FolderView } from '../../view/folder-view.ts';

/** Folders that are remembered. */
const MOST_FOLDERS = 1000;

/**
 * Logs how many entries of a folder no listing can show, once for each folder and process: what looks empty
 * may hold something. Remembers a bounded number of folders.
 */
export class OmittedEntries {
  readonly #folders = new LRUCache<string, true>({ max: MOST_FOLDERS });

  /** What a listing passes to the store as `onOmitted`. */
  reporter(log: Logger, { source, path: folder }: FolderView): (count: number) => void {
    return (count) => {
      const { scope, name } = source;
      const path = folder.toString();
      const key = JSON.stringify([scope, name, path]);
      if (this.#folders.get(key) !== undefined) return;
      this.#folders.set(key, true);
      const entries = count === 1 ? '1 entry of this folder' : `${String(count)} entries of this folder`;
      log.warn(`${entries} cannot be shown: links, special files, or names that cannot be part of a path.`, {
        source: name,
        path,
      });
    };
  }
}
