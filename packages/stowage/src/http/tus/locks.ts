import { orAborted } from '../../basics/concurrency/or-aborted.ts';
import { BusyError } from '../../errors/errors.ts';

/** Most requests that wait for one upload. */
const MAY_WAIT = 20;

interface Holder {
  /** Asks the holder of the lock to end. */
  readonly interrupt: () => void;
  readonly ended: Promise<void>;
  readonly end: () => void;
  waiting: number;
}

/** The lock of one upload, as the library asks for it. */
export interface UploadLock {
  lock(signal: AbortSignal, interrupt: () => void | Promise<void>): Promise<void>;
  unlock(): Promise<void>;
}

/**
 * Lets the requests of this process for one upload follow one another. A new one interrupts the one that was
 * before: a client that comes again has lost the connection of its older request, which may take minutes to
 * notice.
 */
export class UploadLocks {
  readonly #holders = new Map<string, Holder>();

  isHeld(id: string): boolean {
    return this.#holders.has(id);
  }

  newLock(id: string): UploadLock {
    return {
      lock: (signal, interrupt) => this.#lock(id, signal, () => void interrupt()),
      unlock: () => {
        const holder = this.#holders.get(id);
        this.#holders.delete(id);
        holder?.end();
        return Promise.resolve();
      },
    };
  }

  async #lock(id: string, signal: AbortSignal, interrupt: () => void): Promise<void> {
    for (let holder = this.#holders.get(id); holder !== undefined; holder = this.#holders.get(id)) {
      if (holder.waiting >= MAY_WAIT) throw new BusyError({ detail: 'too many requests for one upload' });
      holder.waiting += 1;
      holder.interrupt();
      await orAborted(holder.ended, signal);
    }
    let end = (): void => undefined;
    const ended = new Promise<void>((resolve) => (end = resolve));
    this.#holders.set(id, { interrupt, ended, end, waiting: 0 });
  }
}
