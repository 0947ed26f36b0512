import { LRUCache } from 'lru-cache';
import { createSlots } from '../../basics/concurrency/queues.ts';
import type { Logger } from '../../basics/log/logger.ts';
import type { FolderView } from '../../view/folder-view.ts';

/** Minimum number of entries of a large listing: it takes megabytes until it is sorted and sent. */
export const LARGE = 2000;
/** Each large listing takes tens of megabytes for 100,000 entries. */
const AT_ONCE = 3;
const MAY_WAIT = 4000;
/** Share of one source: a slow or hanging store does not block the listings of other sources. */
const SHARE = { slots: AT_ONCE - 1, waiting: MAY_WAIT / 4 };
/** After this time a slow reader no longer blocks others. */
const LONGEST_SENDING_MS = 10_000;

/** The slot of one request, for the large listings of all its sources. */
export interface ListingSlot {
  /** Waits for the slot, once. @throws the signal's reason; BusyError when too many wait */
  take(): Promise<void>;
  /** Takes the slot if one is free. False: the caller should release its resources and wait. */
  tryTake(): boolean;
  /** The entries are gathered: the slot is released with the response, or after ten seconds. */
  gathered(): void;
  /** Releases the slot. May be called several times, and without a slot. */
  leave(): void;
}

/**
 * Limits concurrent large listings; the others wait. All of them together would each take as long as the last one, and
 * need the memory of all. Small listings never wait.
 */
export class LargeListings {
  readonly #slots = createSlots(AT_ONCE, MAY_WAIT, SHARE);

  /** @param user the key by which slots are shared, see `turnOf` */
  slot(signal: AbortSignal, user: string): ListingSlot {
    let taken: Promise<() => void> | undefined;
    let isHeld = false;
    let hasLeft = false;
    const leave = (): void => {
      hasLeft = true;
      taken?.then(
        (free) => free(),
        () => undefined,
      );
    };
    return {
      take: async () => {
        taken ??= this.#slots.take(signal, user);
        await taken;
        isHeld = true;
        if (hasLeft) leave();
      },
      tryTake: () => {
        if (isHeld || taken !== undefined) return isHeld;
        const free = this.#slots.tryTake(user);
        if (free === undefined) return false;
        taken = Promise.resolve(free);
        isHeld = true;
        if (hasLeft) leave();
        return true;
      },
      gathered: () => {
        if (taken !== undefined) setTimeout(leave, LONGEST_SENDING_MS).unref();
      },
      leave,
    };
  }
}

/** Folders whose warning is remembered. */
const MOST_FOLDERS = 1000;

/**
 * Logs the number of entries of a folder that no listing can show, once per folder and process: a folder that
 * looks empty may have content. Remembers a bounded number of folders.
 */
export class OmittedEntries {
  readonly #folders = new LRUCache<string, true>({ maxSize: MOST_FOLDERS, sizeCalculation: () => 1 });

  /** The `onOmitted` callback that a listing passes to the store. */
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
