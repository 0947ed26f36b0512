import { randomUUID } from 'node:crypto';
import type { SourcePath } from '../../../storage/source-path.ts';

const TEMP = /^\.[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\.tmp$/u;
const DAY_MS = 24 * 60 * 60 * 1000;

/** Whether the name is a temporary one, which is neither listed nor accessible. */
export const isTempName = (name: string): boolean => TEMP.test(name);

/** A name for incomplete content: `.<random>.tmp`, with a UUID of version 7, which begins with the time. */
export const newTempName = (): string => {
  const time = Date.now().toString(16).padStart(12, '0');
  return `.${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}.tmp`;
};

/** A temporary name for a file that must not be lost: it never counts as a leftover. */
export const newAsideName = (): string => `.${randomUUID()}.tmp`;

/**
 * Whether a temporary entry is a day old, so that it cannot be in use any more. For content and copies the
 * name has the time of creation, because servers may give a copy the time of its original. Reservations are
 * new folders, so their modification time is used, by the server's clock.
 */
export const isStale = (
  name: string,
  modifiedAt: number | undefined,
  serverTime: number | undefined,
): boolean => {
  const uuid = name.slice(1, -4).replaceAll('-', '');
  if (uuid[12] === '7')
    return (
      Math.min(Date.now(), serverTime ?? Number.POSITIVE_INFINITY) - parseInt(uuid.slice(0, 12), 16) > DAY_MS
    );
  if (uuid[12] !== '8' || modifiedAt === undefined || serverTime === undefined) return false;
  return serverTime - modifiedAt > DAY_MS;
};

const MOST = 1000;
const PAUSE_MS = 200;

/** A temporary entry to be removed. */
export interface Leftover {
  readonly path: SourcePath;
  readonly kind: 'file' | 'folder';
  /** Milliseconds since 1970; from then on the name may belong to another process. */
  readonly until?: number;
}

/** Returns whether it is done; a failure counts as not done. */
type Task = () => Promise<boolean>;

/**
 * Removes temporary files and folders immediately or, when the server cannot be reached, along with later
 * operations. Remembers at most 1,000; listings find forgotten ones a day later.
 */
export class Leftovers {
  readonly #removed: (leftover: Leftover) => Promise<boolean>;
  readonly #waiting = new Set<{ readonly task: Task; readonly from: number }>();
  #last = 0;
  #isTrying = false;

  /** @param removed tries once to remove a leftover, and returns whether it is gone; may reject */
  constructor(removed: (leftover: Leftover) => Promise<boolean>) {
    this.#removed = removed;
  }

  /** Removes a leftover now, or remembers it. No signal: an abort must leave nothing behind. Never throws. */
  async remove(leftover: Leftover): Promise<void> {
    const task = (): Promise<boolean> => this.removed(leftover);
    if (await task().catch(() => false)) return;
    this.#last = Date.now();
    this.later(0, task);
  }

  /** Remembers a task to be done after a time, in milliseconds since 1970. */
  later(from: number, task: Task): void {
    const [oldest] = this.#waiting;
    if (this.#waiting.size >= MOST && oldest !== undefined) this.#waiting.delete(oldest);
    this.#waiting.add({ task, from });
  }

  /** Tries the remembered tasks in the background, up to the first failure, which is last the next time. */
  retry(): void {
    if (this.#waiting.size === 0 || this.#isTrying || Date.now() - this.#last < PAUSE_MS) return;
    this.#isTrying = true;
    void this.#retryAll().finally(() => {
      this.#isTrying = false;
      this.#last = Date.now();
    });
  }

  /** Tries once to remove a leftover. Returns whether it is gone, or may belong to another process by now. */
  async removed(leftover: Leftover): Promise<boolean> {
    const { until } = leftover;
    return (until !== undefined && Date.now() >= until) || this.#removed(leftover);
  }

  async #retryAll(): Promise<void> {
    for (const entry of [...this.#waiting]) {
      if (entry.from > Date.now()) continue;
      const isDone = await entry.task().catch(() => false);
      this.#waiting.delete(entry);
      if (isDone) continue;
      // At the end, so that it does not block the others: the server may reject it forever.
      this.#waiting.add(entry);
      return;
    }
  }
}
