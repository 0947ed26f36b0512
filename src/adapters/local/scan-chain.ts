import * as fs from 'node:fs';
import { O_PATH } from './handle-confinement.ts';

// Times of a rename are those of a clock that ticks a few hundred times a second; this is many ticks.
const QUIET_NS = 200_000_000n;
// ext2-4, XFS, btrfs, tmpfs, overlayfs: file systems of this machine, whose folders show immediately that a name in them changed.
const PROMPT_FILE_SYSTEMS: ReadonlySet<number> = new Set([
  0xef53, 0x58465342, 0x9123683e, 0x01021994, 0x794c7630,
]);

/** Where the entries of a folder can be looked at, for as long as `stillThere` says so afterwards. */
export interface LookupBase {
  readonly base: string;
  /** To be asked after looking: whether all that was seen by `base` lies in the folder. */
  readonly stillThere: () => boolean;
}

const notADirectory = (): Error => Object.assign(new Error('not a directory'), { code: 'ENOTDIR' });

const sameFolder = (path: string, expected: fs.BigIntStats): boolean => {
  const now = fs.lstatSync(path, { bigint: true, throwIfNoEntry: false });
  return now?.isDirectory() === true && now.ino === expected.ino && now.dev === expected.dev;
};

/**
 * The folders from a root down to one of its folders, for the scanning thread, which may wait for the disk.
 *
 * Looking at an entry through a handle (`/proc/self/fd/N/name`) costs twice as much as by its plain path, and a plain path could be led
 * astray by somebody who swaps a folder for a link and back. So the plain path is used only where such a swap would show: every folder of
 * the chain has been quiet for a while before, has its change time afterwards still, and the path led to it before. Renaming anything in a
 * folder sets its change time. Otherwise the handle is used.
 */
export class ScanChain {
  readonly #paths: string[];
  readonly #handles: number[] = [];
  readonly #opened: fs.BigIntStats[] = [];
  readonly #useHandles: boolean;
  #prompt = false;

  /** @throws errors of the system; ENOTDIR for a link or a file */
  constructor(root: string, diskNames: readonly string[], useHandles: boolean) {
    this.#useHandles = useHandles;
    this.#paths = [fs.realpathSync(root)];
    for (const name of diskNames) this.#paths.push(`${this.#paths.at(-1)}/${name}`);
    try {
      for (const [index, path] of this.#paths.entries()) this.#openNext(path, diskNames[index - 1]);
      this.#prompt = this.#isPrompt();
    } catch (error) {
      this.close();
      throw error;
    }
  }

  /** The folder itself, for reading its names. */
  get self(): string {
    return this.#useHandles ? this.#handlePath : (this.#paths.at(-1) ?? '');
  }

  /** The cheapest safe way to look at entries now. */
  safeBase(): LookupBase {
    const base = this.#paths.at(-1) ?? '';
    if (!this.#useHandles) return { base, stillThere: () => this.#leadsHere() };
    const before = this.#prompt ? this.#quietTimes() : undefined;
    if (before === undefined || !this.#leadsHere()) return this.handleBase();
    return { base, stillThere: () => this.#changeTimes().every((time, index) => time === before[index]) };
  }

  /** The way that no swap can lead astray. Without handles there is none: whatever was seen is then not used. */
  handleBase(): LookupBase {
    if (!this.#useHandles) return { base: this.self, stillThere: () => this.#leadsHere() };
    return { base: this.#handlePath, stillThere: () => true };
  }

  close(): void {
    for (const handle of this.#handles.splice(0)) fs.closeSync(handle);
  }

  get #handlePath(): string {
    return `/proc/self/fd/${this.#handles.at(-1)}`;
  }

  #openNext(path: string, name: string | undefined): void {
    if (!this.#useHandles) {
      const stats = fs.lstatSync(path, { bigint: true });
      if (!stats.isDirectory()) throw notADirectory();
      this.#opened.push(stats);
      return;
    }
    const flags = O_PATH | fs.constants.O_DIRECTORY | fs.constants.O_NOFOLLOW;
    const handle = fs.openSync(name === undefined ? path : `${this.#handlePath}/${name}`, flags);
    this.#handles.push(handle);
    this.#opened.push(fs.fstatSync(handle, { bigint: true }));
  }

  #leadsHere(): boolean {
    return this.#paths.every((path, index) => {
      const opened = this.#opened[index];
      return opened !== undefined && sameFolder(path, opened);
    });
  }

  #isPrompt(): boolean {
    if (!this.#useHandles || this.#opened.some((stats) => stats.dev !== this.#opened[0]?.dev)) return false;
    return PROMPT_FILE_SYSTEMS.has(fs.statfsSync(this.#handlePath).type);
  }

  /** Change times of the folders in which a rename would change where the path leads: all but the last. */
  #changeTimes(): bigint[] {
    return this.#handles.slice(0, -1).map((handle) => fs.fstatSync(handle, { bigint: true }).ctimeNs);
  }

  #quietTimes(): bigint[] | undefined {
    const times = this.#changeTimes();
    const latest = BigInt(Date.now()) * 1_000_000n - QUIET_NS;
    return times.every((time) => time < latest) ? times : undefined;
  }
}
