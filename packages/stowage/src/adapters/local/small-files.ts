import * as fs from 'node:fs';
import { promisify } from 'node:util';
import { LRUCache } from 'lru-cache';
import type { ReadResult } from '../../storage/adapter.ts';
import type { SourcePath } from '../../storage/source-path.ts';
import { hasOtherSpellings } from './names.ts';
import { isExact, TICK_MS } from './quiet-path.ts';
import { exactLstat, realPathOf } from './system.ts';

/** Of all that one cache keeps. */
const MOST_BYTES = 16 * 2 ** 20;
/** A larger file takes longer to be sent than to be read. */
const MOST_OF_ONE = 64 * 1024;
/** What an entry takes beside its content. */
const ENTRY_BYTES = 1024;
/** Paths that were read once: only what is read again is kept. */
const MOST_ONCE = 4096;
/** A program that writes through mapped memory changes a file later than its time says. */
const KEPT_MS = 10_000;

const statFileSystem: (path: string) => Promise<fs.StatsFs> = promisify(fs.statfs);

/** The root of a store, where what the system says of its files can be relied on. */
export interface ExactRoot {
  /** May lead through links, which the administrator may point elsewhere. */
  readonly path: string;
  /** Where it led when it was looked at. */
  readonly real: string;
  readonly device: bigint;
}

/** Looks at a root. Undefined where other machines may write, or the system says little of its files. */
export const exactRootAt = async (root: string): Promise<ExactRoot | undefined> => {
  if (process.platform !== 'linux') return undefined;
  const real = await realPathOf(root);
  const [{ type }, { dev }] = await Promise.all([statFileSystem(real), exactLstat(real)]);
  return isExact(type) ? { path: root, real, device: dev } : undefined;
};

/** What lies at a path, and where the path leads; undefined when one of them cannot be known. */
type Look = { readonly stats: fs.BigIntStats; readonly real: string } | undefined;

/** A file as it was read. */
interface KeptFile {
  readonly stats: fs.BigIntStats;
  readonly result: ReadResult;
  readonly readAt: number;
}

const isSame = (one: fs.BigIntStats, other: fs.BigIntStats): boolean =>
  one.ctimeNs === other.ctimeNs &&
  one.mtimeNs === other.mtimeNs &&
  one.size === other.size &&
  one.ino === other.ino &&
  one.dev === other.dev;

const lookAt = async (at: string, real: string | undefined): Promise<Look> => {
  try {
    const [stats, way] = await Promise.all([exactLstat(at), real ?? realPathOf(at)]);
    return { stats, real: way };
  } catch {
    return undefined;
  }
};

/**
 * The content of small files that are read again and again, for all stores of a connector, in bounded memory.
 * It is given out only after a look at the file, and at the way to it, which both must be what they were: it
 * saves opening, reading and closing.
 */
export class SmallFiles {
  readonly #files = new LRUCache<string, KeptFile>({
    maxSize: MOST_BYTES,
    sizeCalculation: ({ stats }) => ENTRY_BYTES + Number(stats.size),
  });
  /** Looks that have not begun. */
  readonly #looks = new Map<string, Promise<Look>>();
  readonly #once = new LRUCache<string, true>({ maxSize: MOST_ONCE, sizeCalculation: () => 1 });

  /** The file at a path below the root; undefined when it has to be read. Never rejects. */
  async find(root: ExactRoot, path: SourcePath): Promise<ReadResult | undefined> {
    const at = `${root.path}/${path.toString()}`;
    const kept = this.#files.get(at);
    if (kept === undefined) return undefined;
    if (Date.now() - kept.readAt < KEPT_MS) {
      const real = `${root.real}/${path.toString()}`;
      // In the root itself there is no folder on the way that could be a link by now.
      const look = await this.#look(at, path.segments.length === 1 ? real : undefined);
      if (look?.real === real && isSame(look.stats, kept.stats)) return kept.result;
    }
    if (this.#files.peek(at) === kept) this.#files.delete(at);
    return undefined;
  }

  /** Keeps what was read of a file that was opened at `openedAt`, as `stats` say, if it may be relied on. */
  keep(
    { path: root, device }: ExactRoot,
    path: SourcePath,
    { stats, result, openedAt }: Omit<KeptFile, 'readAt'> & { readonly openedAt: number },
  ): void {
    if (stats.size > MOST_OF_ONE || stats.dev !== device) return;
    // A change in the same tick of the clock would not show.
    if (stats.ctimeMs > openedAt - TICK_MS) return;
    // On disk the path may be spelled in another way.
    if (path.segments.some(hasOtherSpellings)) return;
    const at = `${root}/${path.toString()}`;
    if (this.#once.get(at) === undefined) this.#once.set(at, true);
    else this.#files.set(at, { stats, result, readAt: openedAt });
  }

  /**
   * Looks at a path when all that has arrived by now has been read, so that its answers share one look: most
   * of the cost of one answer. A request after it has begun waits for a look of its own. `real`: where the
   * path leads, when that is known.
   */
  #look(at: string, real: string | undefined): Promise<Look> {
    const waiting = this.#looks.get(at);
    if (waiting !== undefined) return waiting;
    const look = new Promise<Look>((resolve) => {
      setImmediate(() => {
        this.#looks.delete(at);
        resolve(lookAt(at, real));
      });
    });
    this.#looks.set(at, look);
    return look;
  }
}
