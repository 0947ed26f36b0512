import type { Source } from '../sources/source.ts';
import type { Stat } from '../storage/entry.ts';
import type { Glimpse } from '../storage/readable.ts';
import type { SourcePath } from '../storage/source-path.ts';

/** How long a look counts: an upload may take hours between two of them. */
const COUNTS_MS = 5000;
/** How long it counts that nothing was there: until others may have put something there. */
const ABSENCE_COUNTS_MS = 1000;
/** A request names at most so many items. */
const MOST = 1000;
/** Folders whose first entries are remembered. */
const MOST_GLIMPSES = 8;

interface Kept<Seen> {
  readonly at: number;
  readonly signal: AbortSignal;
  readonly seen: Promise<Seen>;
}

type GlimpsedFolder = Kept<Glimpse | undefined> & {
  readonly path: SourcePath;
  /** Names about which it counts no more. */
  readonly changed: Set<string>;
};

const counts = ({ at, signal }: Kept<unknown>, now: AbortSignal, isOfNow: boolean): boolean =>
  signal === now && Date.now() - at < (isOfNow ? ABSENCE_COUNTS_MS : COUNTS_MS);

/**
 * What one request has seen in one source, so that it asks for it once. A look counts for some seconds, until the
 * request changes what it is about. It decides nothing that others may change meanwhile: the conditions that the
 * store checks do.
 */
export class Looks {
  readonly #kept = new Map<string, Kept<Stat | undefined>>();
  readonly #glimpses = new Map<string, GlimpsedFolder>();
  /** The request changes something: it asks for what is around a path, too, where the store shows both at once. */
  readonly isWide: boolean;

  constructor(isWide: boolean) {
    this.isWide = isWide;
  }

  /** What an earlier look at the path has shown, also one under way, else `look`. `isOfNow`: within a second. */
  at(
    path: SourcePath,
    signal: AbortSignal,
    look: () => Promise<Stat | undefined>,
    isOfNow = false,
  ): Promise<Stat | undefined> {
    const key = path.toString();
    const kept = this.#kept.get(key);
    // One that another signal may abort fails for its own caller.
    if (kept !== undefined && counts(kept, signal, isOfNow)) return kept.seen;
    const seen = look();
    this.#kept.delete(key);
    if (this.#kept.size < MOST) this.#kept.set(key, { at: Date.now(), signal, seen });
    seen.catch(() => this.drop(path));
    return seen;
  }

  /**
   * The first entries of a folder, as an earlier glimpse has shown them, also one under way, else `look`. Undefined:
   * nothing lies there.
   */
  async glimpse(
    path: SourcePath,
    signal: AbortSignal,
    look: () => Promise<Glimpse | undefined>,
    isOfNow = false,
  ): Promise<Glimpse | undefined> {
    const key = path.toString();
    const earlier = this.#glimpses.get(key);
    if (earlier !== undefined && counts(earlier, signal, isOfNow)) return earlier.seen;
    const seen = look();
    this.#glimpses.delete(key);
    this.#glimpses.set(key, { at: Date.now(), signal, seen, path, changed: new Set() });
    const [oldest] = this.#glimpses.keys();
    if (this.#glimpses.size > MOST_GLIMPSES && oldest !== undefined) this.#glimpses.delete(oldest);
    seen.catch(() => this.drop(path));
    return seen;
  }

  /** What a glimpse has shown of a name. `isOfNow`: within a second. */
  async shown(path: SourcePath, signal: AbortSignal, isOfNow = false): Promise<ReturnType<Glimpse>> {
    const kept = this.#glimpses.get(path.parent.toString());
    if (kept === undefined || !counts(kept, signal, isOfNow)) return 'unknown';
    const glimpse = await kept.seen;
    return glimpse === undefined || kept.changed.has(path.name) ? 'unknown' : glimpse(path.name);
  }

  /** Forgets a path and all below it. */
  drop(path: SourcePath): void {
    const key = path.toString();
    for (const other of this.#kept.keys())
      if (path.isRoot || other === key || other.startsWith(`${key}/`)) this.#kept.delete(other);
    for (const [other, glimpsed] of this.#glimpses)
      if (path.contains(glimpsed.path)) this.#glimpses.delete(other);
      else if (!path.isRoot && glimpsed.path.equals(path.parent)) glimpsed.changed.add(path.name);
  }
}

/** The looks of one request, by source. */
export class RequestLooks {
  /** @see Looks.isWide */
  isWide = false;
  readonly #looks = new Map<Source, Looks>();

  of(source: Source): Looks {
    const looks = this.#looks.get(source) ?? new Looks(this.isWide);
    this.#looks.set(source, looks);
    return looks;
  }

  /** Sources that are opened from now on are looked at anew. */
  forget(): void {
    this.#looks.clear();
  }
}
