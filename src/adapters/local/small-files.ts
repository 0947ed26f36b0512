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
  readonly #once = new LRUCache<string, true>({ max: MOST_ONCE });

  /** The file at a path below the root; undefined when it has to be read. Never rejects. */
  async find(root: ExactRoot, path: SourcePath): Promise<ReadResult | undefined> {
    const at = `${root.path}/${path.toString()}`;
    const kept = this.#files.get(at);
    if (kept === undefined) return undefined;
    if (Date.now() - kept.readAt < KEPT_MS) {
      // In the root itself there is no folder on the way that could be a link by now.
      const real = `${root.real}/${path.toString()}`;
      const way = path.segments.length === 1 ? real : realPathOf(at);
      const looks = await Promise.all([exactLstat(at), way]).catch(() => undefined);
      if (looks !== undefined && isSame(looks[0], kept.stats) && looks[1] === real) return kept.result;
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
}
