import { randomUUID } from 'node:crypto';
import { orUndefined, StorageDeniedError } from '../../errors/errors.ts';
import {
  makeTemporaryFolder,
  readProcessMark,
  sweepTemporaryFolders,
} from '../../basics/files/temporary-folder.ts';
import { ifCode, systemCode } from '../../basics/files/system-errors.ts';
import { SourcePath } from '../../storage/source-path.ts';
import {
  HandleConfinement,
  PathConfinement,
  openRoot,
  type Confinement,
  type OpenFolder,
} from './confinement.ts';
import type { FolderWalker } from './folder-walker.ts';
import { isReserved, TEMP_PREFIX } from './names.ts';
import {
  changeTimes,
  closing,
  isExactAt,
  makeDirectory,
  readMountPoints,
  realPathOf,
  removeEmpty,
} from './system.ts';
import { emptyFolder } from './trees.ts';

/** Attempts to create the folder when other instances remove its parent as they end. */
const ATTEMPTS = 100;
const ELSEWHERE_PREFIX = 'stowage-area-';
/** The root may be read-only while folders in it are writable: a common layout of web hosts. */
const NOT_WRITABLE: ReadonlySet<string | undefined> = new Set(['EACCES', 'EPERM', 'EROFS']);

/** The right to use the area until `release`. */
export interface TempLease {
  readonly folder: OpenFolder;
  /** Whether it is on a file system of this machine that records every change immediately. */
  readonly isExact: boolean;
  /** Call it when no content of users is left in it. May be called twice; never rejects. */
  release(): Promise<void>;
}

const makeUnlessThere = (path: string | Buffer, mode: number): Promise<void> =>
  makeDirectory(path, mode).catch(ifCode('EEXIST'));

/**
 * The folder for files without a final name: `.stowage-tmp/<instance>` in the root or in a volume mounted
 * below it, on the same file system, so that a link or a rename can name a file. The instance's name
 * identifies the process, so that leftovers of a killed one can be distinguished from files in use. The
 * folder is created on first use and removed with the store; it is open only while it is used, so that a
 * volume can be unmounted. When the root is not writable, a folder in the system's temp directory is used.
 */
export class TempArea {
  readonly instance: string;
  readonly #confinement: Confinement;
  readonly #confinementOf: (root: string) => Confinement;
  /** Folder in the system's temp directory that is used instead of the one in the root. */
  #elsewhere: string | undefined;
  #isExact: boolean | undefined;
  #isMade = false;
  #users = 0;
  #opening: Promise<OpenFolder> | undefined;

  /** @param confinementOf creates a confinement to a folder outside of the root */
  constructor(confinement: Confinement, confinementOf: (root: string) => Confinement, instance: string) {
    this.#confinement = confinement;
    this.#confinementOf = confinementOf;
    this.instance = instance;
  }

  /** Leases the area, creating it when it is missing. @throws errors of the system */
  async lease(): Promise<TempLease> {
    this.#users += 1;
    const opening = (this.#opening ??= this.#open());
    try {
      const folder = await opening;
      const isExact = (this.#isExact ??= await isExactAt(folder.self));
      let isHeld = true;
      const release = async (): Promise<void> => {
        if (!isHeld) return;
        isHeld = false;
        this.#users -= 1;
        if (this.#users === 0) await this.#closeFolder();
      };
      return { folder, isExact, release };
    } catch (error) {
      if (this.#opening === opening) this.#opening = undefined;
      this.#users -= 1;
      throw error;
    }
  }

  /** Marks the folder as used for other machines, which cannot see this process. Never rejects. */
  async touch(): Promise<void> {
    if (!this.#isMade) return;
    const lease = await this.lease().catch(() => undefined);
    const now = Date.now() / 1000;
    if (lease !== undefined) await changeTimes(lease.folder.self, now, now).catch(() => undefined);
    await lease?.release();
  }

  /** Removes the area with all leftovers. The next start sweeps what cannot be removed. */
  async close(): Promise<void> {
    if (this.#isMade || this.#elsewhere !== undefined) await this.#remove().catch(() => undefined);
  }

  async #remove(): Promise<void> {
    const { folder } = await this.lease();
    this.#isMade = false;
    await emptyFolder(this.#confinement, folder).catch(() => undefined);
    await this.#closeFolder();
    if (this.#elsewhere !== undefined) await removeEmpty(this.#elsewhere).catch(() => undefined);
    await closing(this.#confinement.openRoot(), async (root) => {
      await removeEmpty(root.at(`${TEMP_PREFIX}/${this.instance}`));
      // Fails while other instances have folders in it.
      await removeEmpty(root.at(TEMP_PREFIX));
    });
  }

  async #closeFolder(): Promise<void> {
    const opening = this.#opening;
    this.#opening = undefined;
    await (await opening?.catch(() => undefined))?.close();
  }

  async #open(): Promise<OpenFolder> {
    if (this.#isMade) {
      const made = await this.#confinement.openAt([TEMP_PREFIX, this.instance]);
      if (typeof made === 'object') return made;
    }
    return closing(openRoot(this.#confinement), (root) =>
      this.#openIn(root).catch((error: unknown) => {
        if (NOT_WRITABLE.has(systemCode(error))) return this.#openElsewhere();
        if (systemCode(error) !== 'ENOTDIR') throw error;
        throw new StorageDeniedError({ detail: `${TEMP_PREFIX} in the root is not a folder`, cause: error });
      }),
    );
  }

  async #openIn(root: OpenFolder): Promise<OpenFolder> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.#openOrMake(root);
      } catch (error) {
        if (systemCode(error) !== 'ENOENT' || attempt === ATTEMPTS) throw error;
        await makeUnlessThere(root.at(TEMP_PREFIX), 0o777);
      }
    }
  }

  async #openOrMake(root: OpenFolder): Promise<OpenFolder> {
    return closing(this.#confinement.openChild(root, TEMP_PREFIX), async (area) => {
      try {
        // Other users cannot read unfinished files.
        if (!this.#isMade) await makeUnlessThere(area.at(this.instance), 0o700);
        this.#isMade = true;
        return await this.#confinement.openChild(area, this.instance);
      } catch (error) {
        // An administrator may have removed it.
        if (systemCode(error) === 'ENOENT') this.#isMade = false;
        throw error;
      }
    });
  }

  /**
   * Opens the area in the system's temp directory. Files are then copied to a reserved name beside their
   * target, unless it is on the same file system.
   */
  async #openElsewhere(): Promise<OpenFolder> {
    const known = this.#elsewhere;
    if (known === undefined) await sweepTemporaryFolders(ELSEWHERE_PREFIX);
    else {
      const folder = await this.#confinementOf(known)
        .openRoot()
        .catch(() => undefined);
      if (folder !== undefined) return folder;
    }
    this.#elsewhere = await makeTemporaryFolder(ELSEWHERE_PREFIX);
    this.#isExact = undefined;
    return this.#confinementOf(this.#elsewhere).openRoot();
  }
}

/** Time for which the list of mounts is cached: content for a volume mounted since is copied across. */
const CURRENT_MS = 1000;
const MOST_AREAS = 64;

/** Folders of a root that are mount points, where the system lists them. */
export const mountsBelow = async (root: string): Promise<readonly SourcePath[]> => {
  const [real, points] = await Promise.all([realPathOf(root), readMountPoints()]);
  const prefix = real.endsWith('/') ? real : `${real}/`;
  return points.flatMap((point) => {
    if (!point.startsWith(prefix)) return [];
    const names = point.slice(prefix.length).split('/');
    // Not every folder can be named by a source path.
    const path = orUndefined(() => names.reduce((way, name) => way.below(name), SourcePath.root));
    return path === undefined || path.segments.some(isReserved) ? [] : [path];
  });
};

const confinedBelow = (walker: FolderWalker, path: SourcePath): Confinement => ({
  holds: walker.confinement.holds,
  openRoot: () => walker.open(path),
  unheldRoot: () => undefined,
  openAt: (names) => walker.confinement.openAt([...path.segments, ...names]),
  openChild: (folder, name) => walker.confinement.openChild(folder, name),
});

/**
 * The temporary areas of a store: one in its root and one in each volume mounted below it, so that a link or
 * a rename can name a file there too, and a small root does not limit a large volume.
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

  /** The area on the file system of a folder, which need not exist yet. */
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

  /** @see TempArea.touch */
  async touch(): Promise<void> {
    await Promise.all([this.#main, ...this.#mounted.values()].map((area) => area.touch()));
  }

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

  readonly #confinementOf = (folder: string): Confinement =>
    this.#walker.confinement.holds ? new HandleConfinement(folder) : new PathConfinement(folder);
}
