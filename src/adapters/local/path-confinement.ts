import { sep } from 'node:path';
import { NotFoundError } from '../../errors/errors.ts';
import type { Confinement, OpenFolder } from './confinement.ts';
import { exactLstat, followedStat, type Name } from './system.ts';

interface Identity {
  readonly path: string;
  readonly dev: bigint;
  readonly ino: bigint;
}

const notADirectory = (path: string): NodeJS.ErrnoException =>
  Object.assign(new Error(`not a directory: ${path}`), { code: 'ENOTDIR' });

class PathFolder implements OpenFolder {
  readonly self: string;
  /** The root and every folder down to this one. */
  readonly chain: readonly Identity[];

  constructor(chain: readonly Identity[]) {
    this.chain = chain;
    this.self = chain.at(-1)?.path ?? '';
  }

  at(name: Name): Name {
    if (typeof name === 'string') return `${this.self}${sep}${name}`;
    return Buffer.concat([Buffer.from(`${this.self}${sep}`), name]);
  }

  async verify(): Promise<void> {
    for (const [index, { path, dev, ino }] of this.chain.entries()) {
      // The root may be a link of the administrator, nothing below it may.
      const now = await (index === 0 ? followedStat(path) : exactLstat(path)).catch(() => undefined);
      if (now?.isDirectory() !== true || now.dev !== dev || now.ino !== ino) {
        throw new NotFoundError({ detail: 'a folder was replaced while it was in use' });
      }
    }
  }

  async close(): Promise<void> {
    // Nothing is held.
  }
}

/**
 * For systems without handles of folders: every component is checked to be a real folder before an operation and to be the same one
 * after it. Narrower than handles: a swap that is undone within one operation is not seen, and one that is seen may have had its effect.
 */
export class PathConfinement implements Confinement {
  readonly holds = false;
  readonly #root: string;

  constructor(root: string) {
    this.#root = root;
  }

  async openRoot(): Promise<OpenFolder> {
    const stats = await followedStat(this.#root);
    if (!stats.isDirectory()) throw notADirectory(this.#root);
    return new PathFolder([{ path: this.#root, dev: stats.dev, ino: stats.ino }]);
  }

  async openChild(folder: OpenFolder, name: Name): Promise<OpenFolder> {
    if (!(folder instanceof PathFolder)) throw new TypeError('a folder of another confinement');
    const path = folder.at(name).toString();
    const stats = await exactLstat(path);
    if (!stats.isDirectory()) throw notADirectory(path);
    const child = new PathFolder([...folder.chain, { path, dev: stats.dev, ino: stats.ino }]);
    await child.verify();
    return child;
  }
}
