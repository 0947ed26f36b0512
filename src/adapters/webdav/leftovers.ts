import type { SourcePath } from '../../storage/source-path.ts';
import { isSuccess, type Resources } from './resources.ts';

const MOST = 1000;
const PAUSE_MS = 200;

/** Something temporary that is to be removed. */
export interface Leftover {
  readonly path: SourcePath;
  readonly kind: 'file' | 'folder';
  /** Milliseconds since 1970 from when on the name may be somebody else's. */
  readonly until?: number;
}

/** Gives whether it is done; a failure counts as not done. */
type Task = () => Promise<boolean>;

/**
 * Clears temporary things away, now or, when the server cannot be reached, with later operations. Remembers at most 1,000; what it has
 * to forget is found by listings a day later.
 */
export class Leftovers {
  readonly #resources: Resources;
  readonly #waiting = new Set<{ readonly task: Task; readonly from: number }>();
  #last = 0;
  #isTrying = false;

  constructor(resources: Resources) {
    this.#resources = resources;
  }

  /** Removes it now or remembers it. Takes no signal, because what was begun is cleared away after an abort as well; never throws. */
  async remove(leftover: Leftover): Promise<void> {
    const task = (): Promise<boolean> => this.#isGone(leftover);
    if (await task().catch(() => false)) return;
    this.#last = Date.now();
    this.later(0, task);
  }

  /** Remembers something to be cleared away from a time on, in milliseconds since 1970. */
  later(from: number, task: Task): void {
    const [oldest] = this.#waiting;
    if (this.#waiting.size >= MOST && oldest !== undefined) this.#waiting.delete(oldest);
    this.#waiting.add({ task, from });
  }

  /** Tries in the background to clear away what is remembered, up to the first failure. Costs nothing when nothing is. */
  retry(): void {
    if (this.#waiting.size === 0 || this.#isTrying || Date.now() - this.#last < PAUSE_MS) return;
    this.#isTrying = true;
    void this.#clearInTurn().finally(() => {
      this.#isTrying = false;
      this.#last = Date.now();
    });
  }

  async #clearInTurn(): Promise<void> {
    for (const entry of [...this.#waiting]) {
      if (entry.from > Date.now()) continue;
      if (!(await entry.task().catch(() => false))) return;
      this.#waiting.delete(entry);
    }
  }

  async #isGone({ path, kind, until }: Leftover): Promise<boolean> {
    if (until !== undefined && Date.now() >= until) return true;
    const status = await this.#resources.act('DELETE', path, kind, {});
    return isSuccess(status) || status === 404 || status === 410;
  }
}
