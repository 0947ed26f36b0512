import type { Readable } from 'node:stream';
import { ListedNames } from '../../support/spellings.ts';
import * as errors from '../../../errors/errors.ts';
import { isStale, isTempName, newTempName } from '../core/temporary.ts';
import type * as port from '../../../storage/adapter.ts';
import { consumeContent } from '../../../storage/content.ts';
import { isSameVersion } from '../../../storage/entry.ts';
import { isSegment, type SourcePath } from '../../../storage/source-path.ts';
import {
  isSayable,
  type ListedEntry,
  type Names,
  type PathSession,
  refusalOf,
  removeTemporary,
  removeTree,
  staleIn,
} from './session.ts';
import type { PathStore } from './store.ts';
import { isElsewhere, putFile, requireFree, requireWritable } from './write.ts';

/** Longest time until a change with a lost response becomes visible on the server. */
const LATE_MS = 60_000;

/** The storage port for a store with paths. */
export class PathAdapter<Session extends PathSession> implements port.StorageAdapter {
  readonly identity: port.StoreIdentity;
  readonly #store: PathStore<Session>;
  readonly #declared: port.StorageCapabilities;

  /** @param declared capabilities until the server has shown more */
  constructor(store: PathStore<Session>, identity: port.StoreIdentity, declared: port.StorageCapabilities) {
    this.#store = store;
    this.identity = identity;
    this.#declared = declared;
  }

  /** Atomic creation and letter case are known only after trials. */
  get capabilities(): port.StorageCapabilities {
    const { decidesNames, letterCase } = this.#store;
    return { ...this.#declared, atomicCreate: decidesNames, caseSensitive: letterCase.isSensitive };
  }

  async stat(path: SourcePath, options: port.OperationOptions = {}): Promise<port.Stat> {
    await this.#store.prepare(path, options);
    return this.#store.run(options, async (session) => {
      const stat = await this.#store.stat(session, path);
      await this.#store.learnCase(session, path, options);
      return stat;
    });
  }

  async checkRoot(options: port.OperationOptions = {}): Promise<void> {
    await this.#store.run(options, (session) => this.#store.requireRoot(session));
  }

  async *list(folder: SourcePath, options: port.ListOptions = {}): AsyncIterable<readonly port.Entry[]> {
    await this.#store.prepare(folder, options);
    const { letterCase, spellings } = this.#store;
    const names = new ListedNames<port.Entry>(folder, spellings);
    const aliases: port.Entry[] = [];
    let [omitted, known]: [number, port.Entry | undefined] = [0, undefined];
    /** Entries whose names cannot be aliases; the others wait until letter case is known. */
    const own = (page: readonly port.Entry[]): readonly port.Entry[] =>
      page.filter((entry) => {
        if (!letterCase.isAlias(entry.name)) return true;
        if (letterCase.isKnown) omitted += 1;
        else aliases.push(entry);
        return false;
      });
    for await (const batch of this.#store.entries(folder, options)) {
      const shown = batch.flatMap((one) => this.#shown(folder, one) ?? []);
      omitted += batch.length - shown.length - batch.filter(({ written }) => isTempName(written)).length;
      const page = own(
        shown.flatMap(([entry, written]) => (names.pass(entry.name, written, entry) ? [entry] : [])),
      );
      known ??= page[0];
      if (page.length > 0) yield page;
    }
    const rest = own(names.rest());
    if (rest.length > 0) yield rest;
    known ??= aliases[0];
    if (known !== undefined) await this.#learnCase(folder.below(known.name), options, aliases.length > 0);
    if (aliases.length > 0 && letterCase.isSensitive) yield aliases;
    else omitted += aliases.length;
    if (omitted > 0) options.onOmitted?.(omitted);
  }

  async read(path: SourcePath, options: port.ReadOptions = {}): Promise<port.ReadResult> {
    await this.#store.prepare(path, options);
    return this.#store.read(path, options);
  }

  async write(path: SourcePath, content: Readable, options: port.WriteOptions = {}): Promise<port.Stat> {
    return consumeContent(content, options, async (chunks) => {
      requireWritable(path, options);
      await this.#store.prepare(path, options, true);
      return putFile(this.#store, path, options, (session, temp) =>
        this.#store.writeNew(session, temp, chunks, options.derived === true),
      );
    });
  }

  async makeFolder(path: SourcePath, options: port.OperationOptions = {}): Promise<void> {
    await this.#store.prepare(path, options, true);
    await this.#store.run(options, (session) => this.#store.makeFolder(session, path));
  }

  async removeFile(path: SourcePath, options: port.RemoveFileOptions = {}): Promise<void> {
    const { ifUnchanged } = options;
    const store = this.#store;
    await store.prepare(path, options);
    await store.change(path, options, async (session) => {
      const found = await store.stat(session, path);
      if (found.kind === 'folder') throw new errors.WrongKindError();
      if (ifUnchanged !== undefined && !isSameVersion(found, ifUnchanged))
        throw new errors.ChangedMeanwhileError();
      await session.unlink(path);
      store.spellings.forget(path);
    });
  }

  /** The server decides whether the folder is empty. */
  async removeEmptyFolder(path: SourcePath, options: port.OperationOptions = {}): Promise<void> {
    const store = this.#store;
    await store.prepare(path, options);
    await store.run(options, async (session) => {
      await this.#requireFolder(session, path);
      const refusalToRemove = (): Promise<unknown> =>
        session.rmdir(path).catch((error: unknown) => {
          if (!store.isPlainRefusal(error)) throw error;
          return error;
        });
      const refusal = await refusalToRemove();
      if (refusal === undefined) return;
      const stale = await staleIn(session, path);
      for (const one of stale) await removeTemporary(session, one);
      if (stale.length > 0 && (await refusalToRemove()) === undefined) return;
      throw new errors.NotEmptyError({ cause: refusal });
    });
  }

  /**
   * Hides a folder in one step, and then removes it with all its contents. Leftovers that the server does not
   * remove become visible again, under the old name or a numbered one.
   */
  async removeFolder(path: SourcePath, options: port.OperationOptions = {}): Promise<void> {
    const store = this.#store;
    await store.prepare(path, options);
    if (path.isRoot) throw rootStays();
    const hidden = path.parent.below(newTempName());
    try {
      await this.#hide({ from: path, to: hidden }, options);
    } catch (error) {
      if (!(error instanceof errors.UnsupportedError)) throw error;
      // AWS Transfer renames no folders: it is removed where it is, and not in part.
      return store.change(path, options, (session) =>
        removeTree(session.unbound(), path, session.pathOf(path)),
      );
    }
    try {
      // The folder is already gone for all clients: the removal is not aborted any more.
      await store.run({}, (session) =>
        removeTree(session, hidden, session.pathOf(hidden)).catch(errors.ifMissing),
      );
    } catch (error) {
      const task = (): Promise<boolean> => store.showAgain({ from: hidden, to: path }, 'folder');
      if (!(await task())) store.leftovers.later(0, task);
      throw store.isPlainRefusal(error)
        ? new errors.StorageDeniedError({ detail: 'the server keeps something in the folder', cause: error })
        : error;
    }
  }

  async copyFile(from: SourcePath, to: SourcePath, options: port.PutOptions = {}): Promise<void> {
    await this.#store.prepare(from, options);
    await this.#store.prepare(to, options, true);
    await this.#store.copyFile({ from, to }, options);
  }

  async moveFile(from: SourcePath, to: SourcePath, options: port.PutOptions = {}): Promise<void> {
    const [store, names, isNew] = [this.#store, { from, to }, options.createOnly === true];
    await store.prepare(from, options);
    await store.prepare(to, options, true);
    await store.change([from, to], options, async (session) => {
      if (!(await isElsewhere(store, session, names, options))) return;
      requireFree(await store.find(session, to), isNew);
      await store.ensureFolder(session, to.parent);
      await (isNew ? store.moveToNewName(session, names, 'file') : store.moveOver(session, names));
      store.spellings.forget(from);
    });
  }

  async moveFolder(from: SourcePath, to: SourcePath, options: port.OperationOptions = {}): Promise<void> {
    const store = this.#store;
    await store.prepare(from, options);
    await store.prepare(to, options, true);
    if (from.isRoot) throw new errors.StorageDeniedError({ detail: 'the root is not moved' });
    await store.change([from, to], options, async (session) => {
      if ((await store.stat(session, from)).kind === 'file') throw new errors.WrongKindError();
      if (to.isRoot || (await store.find(session, to)) !== undefined) throw new errors.AlreadyExistsError();
      await store.ensureFolder(session, to.parent);
      await store.moveToNewName(session, { from, to }, 'folder');
      store.spellings.forget(from);
    });
  }

  async close(): Promise<void> {
    await this.#store.close();
  }

  /** @throws NotFoundError, WrongKindError, StorageDeniedError (the root) */
  async #requireFolder(session: Session, path: SourcePath): Promise<void> {
    if (path.isRoot) throw rootStays();
    if ((await this.#store.stat(session, path)).kind === 'file') throw new errors.WrongKindError();
  }

  /**
   * Renames a folder to a hidden name. After a lost response, a lookup shows whether that happened. A rename
   * that takes effect only later is undone.
   */
  async #hide({ from, to }: Names, options: port.OperationOptions): Promise<void> {
    const store = this.#store;
    let isAsked = false;
    const hiding = store.change(from, options, async (session) => {
      await this.#requireFolder(session, from);
      isAsked = true;
      await session.rename({ from, to });
    });
    await hiding.catch(async (error: unknown) => {
      if (!isAsked || refusalOf(error) !== undefined) throw error;
      const looking = store.run({}, async (session) => (await session.lookUp(to)) !== undefined);
      const isHidden = await looking.catch(() => undefined);
      if (isHidden === true) return;
      const since = isHidden === undefined ? 0 : Date.now() + LATE_MS;
      store.leftovers.later(since, () => store.showAgain({ from: to, to: from }, 'folder'));
      throw error;
    });
  }

  /** A visible entry, and its name on the server. Removes leftovers of killed processes. */
  #shown(
    folder: SourcePath,
    { written, found }: ListedEntry,
  ): readonly [readonly [port.Entry, string]] | undefined {
    const { kind, size, modifiedAt } = found;
    if (isTempName(written)) {
      if (isStale(written, modifiedAt, undefined))
        this.#store.leftovers
          .removed({ path: folder.below(written), kind: kind === 'folder' ? 'folder' : 'file' })
          .catch(() => undefined);
      return undefined;
    }
    const name = written.normalize('NFC');
    if (kind === 'other' || !isSegment(name) || !isSayable(name)) return undefined;
    return [[{ name, kind, size, modifiedAt }, written]];
  }

  /** @param isNeeded a caller depends on the result, so more requests than a lookup may be spent */
  async #learnCase(path: SourcePath, options: port.OperationOptions, isNeeded: boolean): Promise<void> {
    const store = this.#store;
    const learn = async (): Promise<void> => {
      await store.run(options, (session) => store.learnCase(session, path, options));
      if (isNeeded && !store.letterCase.isKnown) await store.tryLetterCase(options);
    };
    if (store.letterCase.isKnown) return;
    // The listing is complete without it.
    await learn().catch(() => options.signal?.throwIfAborted());
  }
}

const rootStays = (): Error => new errors.StorageDeniedError({ detail: 'the root is not removed' });
