import { randomUUID } from 'node:crypto';
import { readProcessMark } from '../../basics/files/process-mark.ts';
import { SourcePath } from '../../storage/source-path.ts';
import { type Confinement, HandleConfinement, PathConfinement } from './confinement.ts';
import type { FolderWalker } from './folder-walker.ts';
import { isReserved } from './names.ts';
import { readMountPoints, realPathOf } from './system.ts';
import { TempArea } from './temp-area.ts';

/** For so long the list of mounts counts: content for a volume that was mounted since is copied across. */
const CURRENT_MS = 1000;
const MOST_AREAS = 64;

/** Folders of a root that are mount points, where the system has a list of them. */
export const mountsBelow = async (root: string): Promise<readonly SourcePath[]> => {
  const [real, points] = await Promise.all([realPathOf(root), readMountPoints()]);
  const prefix = real.endsWith('/') ? real : `${real}/`;
  return points.flatMap((point) => {
    if (!point.startsWith(prefix)) return [];
    try {
      const path = point
        .slice(prefix.length)
        .split('/')
        .reduce((way, name) => way.below(name), SourcePath.root);
      return path.segments.some(isReserved) ? [] : [path];
    } catch {
      // No path can lead there.
      return [];
    }
  });
};

const confinedBelow = (walker: FolderWalker, path: SourcePath): Confinement => ({
  holds: walker.confinement.holds,
  openRoot: () => walker.open(path),
  unheldRoot: () => undefined,
  openChild: (folder, name) => walker.confinement.openChild(folder, name),
});

/**
 * The temporary areas of a store: one in its root and one in each volume that is mounted below it, so that a
 * link or a rename gives a file its name there too, and a small root does not limit a big volume.
 */
export class TempAreas {
  readonly instance: string;
  readonly #root: string;
  readonly #walker: FolderWalker;
  readonly #main: TempArea;
  readonly #mounted = new Map<string, TempArea>();
  #mounts: Promise<readonly SourcePath[]> = Promise.resolve([]);
  #readAt = Number.NEGATIVE_INFINITY;

  private constructor(root: string, walker: FolderWalker, instance: string) {
    this.#root = root;
    this.#walker = walker;
    this.instance = instance;
    this.#main = new TempArea(walker.confinement, this.#confinementOf, instance);
  }

  static async create(root: string, walker: FolderWalker): Promise<TempAreas> {
    return new TempAreas(root, walker, `${await readProcessMark()}-${randomUUID().slice(0, 8)}`);
  }

  /** The area on the file system of a folder, which need not be there yet. */
  async near(folder: SourcePath): Promise<TempArea> {
    if (folder.isRoot) return this.#main;
    const mounts = (await this.#currentMounts()).filter((mount) => mount.contains(folder));
    const [mount] = mounts.toSorted((one, other) => other.segments.length - one.segments.length);
    if (mount === undefined) return this.#main;
    const known = this.#mounted.get(mount.toString());
    if (known !== undefined || this.#mounted.size >= MOST_AREAS) return known ?? this.#main;
    const area = new TempArea(confinedBelow(this.#walker, mount), this.#confinementOf, this.instance);
    this.#mounted.set(mount.toString(), area);
    return area;
  }

  /** Removes the areas with all that is left in them. */
  async close(): Promise<void> {
    await Promise.all([this.#main, ...this.#mounted.values()].map((area) => area.close()));
  }

  #currentMounts(): Promise<readonly SourcePath[]> {
    const now = performance.now();
    if (now - this.#readAt > CURRENT_MS) {
      this.#readAt = now;
      this.#mounts = mountsBelow(this.#root).catch(() => []);
    }
    return this.#mounts;
  }

  /** Confines to a folder outside of the root. */
  readonly #confinementOf = (folder: string): Confinement =>
    this.#walker.confinement.holds ? new HandleConfinement(folder) : new PathConfinement(folder);
}
