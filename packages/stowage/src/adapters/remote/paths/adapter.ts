import type { Readable } from 'node:stream';
import { ListedNames } from '../../support/listed-names.ts';
import {
  AlreadyExistsError,
  StorageDeniedError,
  UnsupportedError,
  WrongKindError,
} from '../../../errors/errors.ts';
import { isStale, isTempName } from '../core/temporary.ts';
import type {
  Entry,
  ListOptions,
  OperationOptions,
  PutOptions,
  ReadOptions,
  ReadResult,
  RemoveFileOptions,
  Stat,
  StorageAdapter,
  StorageCapabilities,
  StoreIdentity,
  WriteOptions,
} from '../../../storage/adapter.ts';
import { consumeContent } from '../../../storage/content.ts';
import { isSegment, type SourcePath } from '../../../storage/source-path.ts';
import { moveFile, moveFolder, removeEmptyFolder, removeFile, removeFolder } from './change.ts';
import { putFile } from './write.ts';
import { isSayable, type ListedEntry, type PathSession } from './session.ts';
import type { PathStore } from './store.ts';

/** The storage port on a store of paths. */
export class PathAdapter<Session extends PathSession> implements StorageAdapter {
  readonly identity: StoreIdentity;
  readonly #store: PathStore<Session>;
  readonly #declared: StorageCapabilities;

  /** @param declared what holds until the server has shown more */
  constructor(store: PathStore<Session>, identity: StoreIdentity, declared: StorageCapabilities) {
    this.#store = store;
    this.identity = identity;
    this.#declared = declared;
  }

  /** What the server decides about new names, and whether it folds letter case, only trials show. */
  get capabilities(): StorageCapabilities {
    const { decidesNames, letterCase } = this.#store;
    return { ...this.#declared, atomicCreate: decidesNames, caseSensitive: letterCase.isSensitive };
  }

  async stat(path: SourcePath, options: OperationOptions = {}): Promise<Stat> {
    await this.#store.prepare(path, options);
    return this.#store.run(options, async (session) => {
      const stat = await this.#store.stat(session, path);
      await this.#store.learnCase(session, path, options);
      return stat;
    });
  }

  async checkRoot(options: OperationOptions = {}): Promise<void> {
    await this.#store.run(options, (session) => this.#store.requireRoot(session));
  }

  async *list(folder: SourcePath, options: ListOptions = {}): AsyncIterable<readonly Entry[]> {
    await this.#store.prepare(folder, options);
    const { letterCase, spellings } = this.#store;
    const names = new ListedNames<Entry>(folder, spellings);
    const aliases: Entry[] = [];
    let [omitted, known]: [number, Entry | undefined] = [0, undefined];
    /** Those whose names can only be their own; the others wait until letter case is known. */
    const own = (page: readonly Entry[]): readonly Entry[] =>
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

  async read(path: SourcePath, options: ReadOptions = {}): Promise<ReadResult> {
    await this.#store.prepare(path, options);
    return this.#store.read(path, options);
  }

  async write(path: SourcePath, content: Readable, options: WriteOptions = {}): Promise<Stat> {
    return consumeContent(content, options, async (chunks) => {
      if (options.ifMatch !== undefined) throw new UnsupportedError({ detail: 'ifMatch on writes' });
      if (path.isRoot) throw options.createOnly === true ? new AlreadyExistsError() : new WrongKindError();
      await this.#store.prepare(path, options, true);
      return putFile(this.#store, path, options, (session, temp) =>
        this.#store.writeNew(session, temp, chunks, options.derived === true),
      );
    });
  }

  async makeFolder(path: SourcePath, options: OperationOptions = {}): Promise<void> {
    await this.#store.prepare(path, options, true);
    await this.#store.run(options, (session) => this.#store.makeFolder(session, path));
  }

  async removeFile(path: SourcePath, options: RemoveFileOptions = {}): Promise<void> {
    await this.#store.prepare(path, options);
    await removeFile(this.#store, path, options);
  }

  async removeEmptyFolder(path: SourcePath, options: OperationOptions = {}): Promise<void> {
    await this.#store.prepare(path, options);
    await removeEmptyFolder(this.#store, path, options);
  }

  async removeFolder(path: SourcePath, options: OperationOptions = {}): Promise<void> {
    await this.#store.prepare(path, options);
    await removeFolder(this.#store, path, options);
  }

  async copyFile(from: SourcePath, to: SourcePath, options: PutOptions = {}): Promise<void> {
    await this.#store.prepare(from, options);
    await this.#store.prepare(to, options, true);
    await this.#store.copyFile({ from, to }, options);
  }

  async moveFile(from: SourcePath, to: SourcePath, options: PutOptions = {}): Promise<void> {
    await this.#store.prepare(from, options);
    await this.#store.prepare(to, options, true);
    await moveFile(this.#store, { from, to }, options);
  }

  async moveFolder(from: SourcePath, to: SourcePath, options: OperationOptions = {}): Promise<void> {
    await this.#store.prepare(from, options);
    await this.#store.prepare(to, options, true);
    if (from.isRoot) throw new StorageDeniedError({ detail: 'the root is not moved' });
    await moveFolder(this.#store, { from, to }, options);
  }

  async close(): Promise<void> {
    await this.#store.close();
  }

  /** An entry that can be shown, and its name on the server. Removes what a killed process has left. */
  #shown(
    folder: SourcePath,
    { written, found }: ListedEntry,
  ): readonly [readonly [Entry, string]] | undefined {
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

  /** @param isNeeded whether something waits for it, so that more than a look may be spent */
  async #learnCase(path: SourcePath, options: OperationOptions, isNeeded: boolean): Promise<void> {
    const store = this.#store;
    const learn = async (): Promise<void> => {
      await store.run(options, (session) => store.learnCase(session, path, options));
      if (isNeeded && !store.letterCase.isKnown) await store.tryLetterCase(options);
    };
    if (store.letterCase.isKnown) return;
    // The listing is whole without it.
    await learn().catch(() => options.signal?.throwIfAborted());
  }
}
