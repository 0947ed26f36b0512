import type { SourcePath } from '../../storage/source-path.ts';
import { isSuccess, type Resources } from './resources.ts';

const MOST = 1000;
const PAUSE_MS = 1000;

/** Something temporary that is to be removed. */
export interface Leftover {
  readonly path: SourcePath;
  readonly kind: 'file' | 'folder';
  /** Milliseconds since 1970 from when on the name may be somebody else's. */
  readonly until?: number;
}

/**
 * Clears temporary things away, now or, when the server cannot be reached, with later operations. Remembers at most 1,000; what it has
 * to forget is found by listings a day later.
 */
export class Leftovers {
  readonly #resources: Resources;
  readonly #waiting = new Set<Leftover>();
  #last = 0;

  constructor(resources: Resources) {
    this.#resources = resources;
  }

  /** Removes it now or remembers it. Takes no signal, because what was begun is cleared away after an abort as well; never throws. */
  async remove(leftover: Leftover): Promise<void> {
    if (await this.#isGone(leftover)) return;
    this.#last = Date.now();
    const [oldest] = this.#waiting;
    if (this.#waiting.size >= MOST && oldest !== undefined) this.#waiting.delete(oldest);
    this.#waiting.add(leftover);
  }

  /** Tries in the background to remove what is remembered, once a second at most. Costs nothing when nothing is. */
  retry(): void {
    if (this.#waiting.size === 0 || Date.now() - this.#last < PAUSE_MS) return;
    this.#last = Date.now();
    const tried = [...this.#waiting];
    const inTurn = async (): Promise<void> => {
      for (const leftover of tried) {
        if (!(await this.#isGone(leftover))) return;
        this.#waiting.delete(leftover);
      }
    };
    inTurn().catch(() => undefined);
  }

  async #isGone({ path, kind, until }: Leftover): Promise<boolean> {
    if (until !== undefined && Date.now() >= until) return true;
    try {
      const status = await this.#resources.act('DELETE', path, kind, {});
      return isSuccess(status) || status === 404 || status === 410;
    } catch {
      return false;
    }
  }
}
