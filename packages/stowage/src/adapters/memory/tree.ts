import * as errors from '../../errors/errors.ts';
import type { SourcePath } from '../../storage/source-path.ts';

/** Limits the bytes in memory. */
export const createBudget = (maxBytes: number) => {
  let used = 0;
  return {
    /** @throws StorageFullError when fewer bytes are left. */
    take: (bytes: number): void => {
      if (used + bytes > maxBytes)
        throw new errors.StorageFullError({ detail: `the memory store holds ${maxBytes} bytes` });
      used += bytes;
    },
    give: (bytes: number): void => {
      used -= bytes;
    },
  };
};

export type Budget = ReturnType<typeof createBudget>;

/** A file. Its bytes are never changed, only replaced, so that running reads keep their content. */
export interface FileNode {
  readonly kind: 'file';
  readonly bytes: Buffer;
  readonly modifiedAt: number;
  readonly etag: string;
}

interface FolderNode {
  readonly kind: 'folder';
  readonly children: Map<string, Node>;
  readonly modifiedAt: number;
}

export type Node = FileNode | FolderNode;

// Memory of an entry besides its content: its name, its object and its slot in the map, estimated generously.
const ENTRY_BYTES = 256;
const entryCost = (name: string): number => ENTRY_BYTES + name.length * 2;

const makeNode = (modifiedAt: number): FolderNode => ({ kind: 'folder', children: new Map(), modifiedAt });

/**
 * Folders and files as nested maps. Every method is synchronous and therefore atomic. The tree takes the cost
 * of entries from the budget, writers take the bytes of files; the tree gives both back.
 */
export class Tree {
  readonly #budget: Budget;
  readonly #root: FolderNode;
  readonly #now: () => number;

  constructor(budget: Budget, now: () => number) {
    this.#budget = budget;
    this.#now = now;
    this.#root = makeNode(now());
  }

  find(path: SourcePath): Node | undefined {
    let node: Node | undefined = this.#root;
    for (const segment of path.segments) {
      node = node?.kind === 'folder' ? node.children.get(segment) : undefined;
    }
    return node;
  }

  /** @throws NotFoundError */
  get(path: SourcePath): Node {
    const node = this.find(path);
    if (node === undefined) throw new errors.NotFoundError();
    return node;
  }

  /** @throws NotFoundError, WrongKindError */
  getFile(path: SourcePath): FileNode {
    const node = this.get(path);
    if (node.kind !== 'file') throw new errors.WrongKindError();
    return node;
  }

  /** @throws NotFoundError, WrongKindError */
  getFolder(path: SourcePath): FolderNode {
    const node = this.get(path);
    if (node.kind !== 'folder') throw new errors.WrongKindError();
    return node;
  }

  /**
   * Stores a file under its name, replacing an existing file.
   * @throws AlreadyExistsError, WrongKindError (a folder has the name, or a file is where a folder must be)
   */
  putFile(path: SourcePath, file: FileNode, createOnly: boolean): void {
    const old = this.find(path);
    if (old !== undefined && createOnly) throw new errors.AlreadyExistsError();
    if (old?.kind === 'folder') throw new errors.WrongKindError();
    const parent = this.#makeFolders(path.parent);
    if (old === undefined) this.#budget.take(entryCost(path.name));
    else this.#budget.give(old.bytes.length);
    parent.children.set(path.name, file);
  }

  /** @throws AlreadyExistsError, WrongKindError (a file is where a folder must be) */
  makeFolder(path: SourcePath): void {
    if (this.find(path) !== undefined) throw new errors.AlreadyExistsError();
    this.#makeFolders(path);
  }

  /** Removes an entry and its contents. @throws NotFoundError, WrongKindError, StorageDeniedError (root) */
  remove(path: SourcePath, kind: Node['kind']): void {
    const node = this.get(path);
    if (node.kind !== kind) throw new errors.WrongKindError();
    if (path.isRoot) throw new errors.StorageDeniedError({ detail: 'the root cannot be removed' });
    this.#detach(path);
    this.#giveBack(node);
  }

  /** Moves a file or folder. @throws AlreadyExistsError, NotFoundError, WrongKindError, IntoItselfError */
  move(from: SourcePath, to: SourcePath, kind: Node['kind'], createOnly: boolean): void {
    const node = kind === 'file' ? this.getFile(from) : this.getFolder(from);
    const old = this.find(to);
    if (old !== undefined && createOnly) throw new errors.AlreadyExistsError();
    if (old === node) return;
    if (kind === 'folder' && from.contains(to)) throw new errors.IntoItselfError();
    if (old?.kind === 'folder') throw new errors.WrongKindError();
    const parent = this.#makeFolders(to.parent);
    if (old === undefined) this.#budget.take(entryCost(to.name));
    else this.#budget.give(old.bytes.length);
    this.#detach(from);
    parent.children.set(to.name, node);
  }

  #detach(path: SourcePath): void {
    this.getFolder(path.parent).children.delete(path.name);
    this.#budget.give(entryCost(path.name));
  }

  #giveBack(node: Node): void {
    if (node.kind === 'file') return this.#budget.give(node.bytes.length);
    for (const [name, child] of node.children) {
      this.#budget.give(entryCost(name));
      this.#giveBack(child);
    }
  }

  #makeFolders(path: SourcePath): FolderNode {
    let folder = this.#root;
    for (const segment of path.segments) {
      let child = folder.children.get(segment);
      if (child === undefined) {
        this.#budget.take(entryCost(segment));
        child = makeNode(this.#now());
        folder.children.set(segment, child);
      }
      if (child.kind !== 'folder') throw new errors.WrongKindError();
      folder = child;
    }
    return folder;
  }
}
