import { BusyError } from '../../errors/errors.ts';

/** A bounded number of slots, and a bounded queue of those who wait for one. */
export interface Slots {
  /**
   * Waits for a slot. Returns the function that gives it back; calling it again does nothing.
   * @param user users take turns: each gets every n-th slot, however many it waits for
   * @throws the signal's reason; BusyError when the queue is full
   */
  take(signal: AbortSignal | undefined, user?: string): Promise<() => void>;
}

/** What one user may have of slots, so that another one always comes in; default: all. */
export interface UserShare {
  readonly slots?: number;
  readonly waiting?: number;
}

class FairSlots implements Slots {
  readonly #mayWait: number;
  readonly #share: Required<UserShare>;
  /** Users whose turn is farther off come later. */
  readonly #waiting = new Map<string, Set<() => void>>();
  readonly #held = new Map<string, number>();
  #free: number;
  #queued = 0;

  constructor(count: number, mayWait: number, { slots = count, waiting = mayWait }: UserShare) {
    this.#free = count;
    this.#mayWait = mayWait;
    this.#share = { slots, waiting };
  }

  /** As `take`, and undefined where it would have to wait. */
  tryTake(user = ''): (() => void) | undefined {
    if (!this.#mayHold(user)) return undefined;
    this.#hold(user, 1);
    return this.#once(user);
  }

  async take(signal: AbortSignal | undefined, user = ''): Promise<() => void> {
    signal?.throwIfAborted();
    const immediate = this.tryTake(user);
    if (immediate !== undefined) return immediate;
    const own = this.#waiting.get(user) ?? new Set();
    if (this.#queued >= this.#mayWait || own.size >= this.#share.waiting)
      throw new BusyError({ detail: 'too many operations wait for their turn' });
    await new Promise<void>((resolve, reject) => {
      const enter = (): void => {
        signal?.removeEventListener('abort', leave);
        resolve();
      };
      const leave = (): void => {
        this.#drop(user, enter);
        reject(signal?.reason as Error);
      };
      this.#waiting.set(user, own.add(enter));
      this.#queued += 1;
      signal?.addEventListener('abort', leave, { once: true });
    });
    return this.#once(user);
  }

  #mayHold(user: string): boolean {
    return this.#free > 0 && (this.#held.get(user) ?? 0) < this.#share.slots;
  }

  #hold(user: string, more: number): void {
    this.#free -= more;
    const now = (this.#held.get(user) ?? 0) + more;
    if (now === 0) this.#held.delete(user);
    else this.#held.set(user, now);
  }

  #drop(user: string, enter: () => void): void {
    const own = this.#waiting.get(user);
    if (own?.delete(enter) !== true) return;
    this.#queued -= 1;
    if (own.size === 0) this.#waiting.delete(user);
  }

  #once(user: string): () => void {
    let given = false;
    return () => {
      if (given) return;
      given = true;
      this.#hold(user, -1);
      this.#admit();
    };
  }

  #admit(): void {
    for (const [user, own] of this.#waiting) {
      const [enter] = own;
      if (enter === undefined || !this.#mayHold(user)) continue;
      this.#drop(user, enter);
      if (this.#waiting.delete(user)) this.#waiting.set(user, own);
      this.#hold(user, 1);
      return enter();
    }
  }
}

/** Slots for `count` holders at the same time. */
export const createSlots = (count: number, mayWait: number, share: UserShare = {}): FairSlots =>
  new FairSlots(count, mayWait, share);
