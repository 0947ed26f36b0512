import type { Source } from '../sources/source.ts';
import type { Stat } from '../storage/entry.ts';
import type { SourcePath } from '../storage/source-path.ts';

/** How long a look counts: an upload may take hours between two of them. */
const COUNTS_MS = 5000;
/** A request names at most so many items. */
const MOST = 1000;

interface Kept {
  readonly until: number;
  readonly signal: AbortSignal;
  readonly seen: Promise<Stat | undefined>;
}

/**
 * What one request has seen in one source, so that it asks for it once. A look counts for some seconds, until the
 * request changes what it is about. It decides nothing that others may change meanwhile: the conditions that the
 * store checks do.
 */
export class Looks {
  readonly #kept = new Map<string, Kept>();

  /** What an earlier look at the path has shown, also one under way; else what `look` shows. */
  at(
    path: SourcePath,
    signal: AbortSignal,
    look: () => Promise<Stat | undefined>,
  ): Promise<Stat | undefined> {
    const key = path.toString();
    const kept = this.#kept.get(key);
    // One that another signal may abort fails for its own caller.
    if (kept !== undefined && kept.signal === signal && kept.until > Date.now()) return kept.seen;
    const seen = look();
    this.#kept.delete(key);
    if (this.#kept.size < MOST) this.#kept.set(key, { until: Date.now() + COUNTS_MS, signal, seen });
    seen.catch(() => this.drop(path));
    return seen;
  }

  /** Forgets a path and all below it. */
  drop(path: SourcePath): void {
    const key = path.toString();
    for (const other of this.#kept.keys())
      if (path.isRoot || other === key || other.startsWith(`${key}/`)) this.#kept.delete(other);
  }
}

/** The looks of one request, by source. */
export class RequestLooks {
  readonly #looks = new Map<Source, Looks>();

  of(source: Source): Looks {
    const looks = this.#looks.get(source) ?? new Looks();
    this.#looks.set(source, looks);
    return looks;
  }

  /** Sources that are opened from now on are looked at anew. */
  forget(): void {
    this.#looks.clear();
  }
}
