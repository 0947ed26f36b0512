import { LRUCache } from 'lru-cache';
import { createSlots } from '../../basics/concurrency/queues.ts';
import type { Logger } from '../../basics/log/logger.ts';
import type { FolderView } from '../../view/folder-view.ts';

/** Entries from which on a listing is large: it takes megabytes until it is sorted and sent. */
export const LARGE = 2000;
/** Each takes tens of megabytes for 100,000 entries. */
const AT_ONCE = 3;
const MAY_WAIT = 4000;
/**
 * Of one source: one is sorted and sent while the store is asked for the other. A store that takes its time,
 * or keeps silent in the midst, does not hold up those of other sources.
 */
const SHARE = { slots: AT_ONCE - 1, waiting: MAY_WAIT / 4 };
/** A reader that takes longer does not hold up the others any more. */
const LONGEST_SENDING_MS = 10_000;

/** The slot of one request, for the large listings of all its sources. */
export interface ListingSlot {
  /**
   * Waits for the slot; again and again at no cost. @throws the signal's reason; BusyError when very many
   * wait
   */
  take(): Promise<void>;
  /** Takes the slot if it is free. False: the caller has to wait for it, and should hold nothing meanwhile. */
  tryTake(): boolean;
  /** The entries are gathered, and will be sent: the slot ends with the answer, or after ten seconds. */
  gathered(): void;
  /** Ends the slot. May be called more than once, and without a slot. */
  leave(): void;
}

/**
 * Lets a few requests with large listings be answered at the same time, and the others wait: side by side
 * they would all end as late as the last one, and take the memory of all. Small listings never wait.
 */
export class LargeListings {
  readonly #slots = createSlots(AT_ONCE, MAY_WAIT, SHARE);

  /** @param user of the slots. @see turnOf */
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
