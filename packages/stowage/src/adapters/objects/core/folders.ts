import { forEachAtOnce, inParallel } from '../../../basics/concurrency/queues.ts';
import * as errors from '../../../errors/errors.ts';
import type { OperationOptions } from '../../../storage/adapter.ts';
import { digestOf, isKeyTooLong, versionOf } from './keys.ts';
import { hasBelow } from './lookup.ts';
import type { ListedObject, ObjectFacts, Objects, ObjectToRemove } from './objects.ts';
import { folderRemoval, type Removals } from './change.ts';

const COPIES_AT_ONCE = 16;
// Without conditional removals, a replacement by another process between the last check and the removal is
// lost: small steps keep that time short.
const REMOVALS_WITHOUT_VERSIONS = 100;
const REMAINS = 'The folder was copied, but not all of the old one could be removed.';

/** A folder to create: the key of its object, and the key of a file of the same name. */
export interface NewFolder {
  readonly key: string;
  readonly file: string;
}

const isLeft = ({ reserved }: ListedObject): boolean => reserved === 'left';

/** A transfer of a folder: key prefixes of the source and of the target, each with a trailing slash. */
interface Transfer {
  readonly from: string;
  readonly to: string;
  /** Versions of the source that have been copied. */
  readonly copied: Set<string>;
  /** Versions of the created copies. */
  readonly made: Set<string>;
}

/** Start of a page of a listing. `after`: the last key of the previous page. */
interface Page {
  readonly prefix: string;
  readonly size: number;
  readonly after: string | undefined;
}

/** Operations on whole folders: on all objects with the prefix, also those that no path can name. */
export class Folders {
  readonly #objects: Objects;
  readonly #removals: Removals;
  /** Identifies a listed object for removal: only its listed version, where the service decides that. */
  readonly #seen = ({ key, etag }: ListedObject): ObjectToRemove =>
    this.#objects.decides.remove ? { key, etag } : { key };

  constructor(objects: Objects, removals: Removals) {
    this.#objects = objects;
    this.#removals = removals;
  }

  /** Creates a folder where neither a file nor a folder has the name. @throws AlreadyExistsError */
  async make({ key, file }: NewFolder, options: OperationOptions): Promise<void> {
    await this.#objects.learn?.(options);
    await this.#objects.locks.hold(key, options, async () => {
      const [found, below] = await Promise.all([
        this.#objects.find(file, options),
        hasBelow(this.#objects, key, options),
      ]);
      if (found !== undefined || below) throw new errors.AlreadyExistsError();
      options.signal?.throwIfAborted();
      // Without the signal: only a completed request shows whether the object must be removed.
      await this.#objects.putFolder(key, true, {});
      if (options.signal?.aborted === true) await this.#objects.remove(key, {});
      options.signal?.throwIfAborted();
    });
  }

  /**
   * Copies a folder at the service, 16 objects at a time. When a copy fails, also because others have stored
   * an object in the target, nothing of the copy remains.
   * @throws AlreadyExistsError and the errors of copying
   */
  async copy(from: string, to: NewFolder, options: OperationOptions): Promise<void> {
    await this.#objects.locks.hold(`${to.key}*`, options, () => this.#copyAll(from, to, options));
  }

  /**
   * Moves a folder: copies it, and removes exactly the copied versions from the source after all copies have
   * succeeded. Objects that are added or changed in the source meanwhile stay there. From the first removal
   * on the signal is ignored, since until the last one both folders are incomplete. When removals fail, the
   * target is complete; when the service has denied all of them, nothing of the copy remains.
   * @throws MovedInPartError when objects stay, AlreadyExistsError, and the errors of copying and removing
   */
  async move(from: string, to: NewFolder, options: OperationOptions): Promise<void> {
    await this.#objects.locks.hold(`${to.key}*`, options, async () => {
      const transfer = await this.#copyAll(from, to, options);
      const remover = folderRemoval(this.#removals);
      const isCopied = (object: ListedObject): boolean => transfer.copied.has(versionOf(object));
      const left = await this.#removeVersions(from, isCopied, remover).catch(async (cause: unknown) => {
        const isDenied = cause instanceof errors.StorageDeniedError && remover.removed === 0;
        const isWhole = isDenied && (await this.#isWhole(transfer).catch(() => false));
        if (isWhole && (await this.#undo(transfer))) throw cause;
        throw new errors.MovedInPartError({ message: REMAINS, cause });
      });
      if (left === 0) return;
      const [items, they] = left === 1 ? ['1 item', 'it was'] : [`${left} items`, 'they were'];
      throw new errors.MovedInPartError(
        `${items} stayed in the old folder: ${they} added or changed during the move.`,
      );
    });
  }

  /**
   * Removes a folder's objects, 1,000 per request; with conditional removals in their listed versions. Takes
   * no signal: a folder that is removed in part has no event.
   * @throws NotFoundError when there are none; ChangedMeanwhileError when an object was replaced and stays;
   * StorageDeniedError, StorageUnavailableError
   */
  async remove(folder: string): Promise<void> {
    const remover = folderRemoval(this.#removals);
    let isFound = false;
    for await (const { objects } of this.#objects.pages(folder, {})) {
      isFound ||= objects.length > 0;
      await remover.remove(objects.map(this.#seen));
    }
    remover.check();
    if (remover.changed > 0)
      throw new errors.ChangedMeanwhileError({ details: { removed: remover.removed } });
    if (!isFound) throw new errors.NotFoundError();
  }

  /**
   * Removes the object of a folder that has no other keys, except for reservations that are left, which go as
   * well. Objects that are added meanwhile stay.
   * @throws NotEmptyError, NotFoundError
   */
  async removeEmpty(folder: string, options: OperationOptions): Promise<void> {
    let found: ListedObject | undefined;
    let hasLeft = false;
    for await (const { objects } of this.#objects.pages(folder, options, { size: 2 })) {
      if (objects.some((object) => object.key !== folder && !isLeft(object)))
        throw new errors.NotEmptyError();
      hasLeft ||= objects.some(isLeft);
      found ??= objects[0];
    }
    if (found === undefined) throw new errors.NotFoundError();
    if (hasLeft) await this.#removeVersions(folder, isLeft);
    await this.#objects.remove(folder, options, this.#seen(found).etag);
  }

  /** Creates the object of a folder that existed only because of a key that was just removed. */
  async keep(folder: string, options: OperationOptions): Promise<void> {
    if (!(await hasBelow(this.#objects, folder, options)))
      await this.#objects.putFolder(folder, false, options);
  }

  async #copyAll(from: string, to: NewFolder, options: OperationOptions): Promise<Transfer> {
    await this.make(to, options);
    const transfer: Transfer = { from, to: to.key, copied: new Set(), made: new Set() };
    try {
      await inParallel(COPIES_AT_ONCE, async (add) => {
        for await (const { objects } of this.#objects.pages(from, options)) {
          for (const object of objects) {
            options.signal?.throwIfAborted();
            // The target folder's own object was created before, empty like this one.
            const isMade = object.key === from && object.size === 0;
            // A reservation in use stays: the copy of another process may be there before the removal.
            const isDone = object.reserved === undefined ? isMade : isLeft(object);
            if (isDone) transfer.copied.add(versionOf(object));
            else if (object.reserved === undefined) await add(() => this.#copyOne(transfer, object, options));
          }
        }
      });
      options.signal?.throwIfAborted();
      return transfer;
    } catch (error) {
      await this.#undo(transfer);
      throw error;
    }
  }

  async #copyOne(transfer: Transfer, object: ListedObject, options: OperationOptions): Promise<void> {
    const { key: from, size = 0, etag, storageClass } = object;
    const to = transfer.to + from.slice(transfer.from.length);
    if (isKeyTooLong(to)) throw new errors.UnsafePathError('The path is too long.');
    // An object with content that another tool stored for the folder itself replaces the created one.
    const createOnly = from !== transfer.from;
    // The folder was created for this copy: one lookup detects objects that others have added since.
    const isCheckedFree = createOnly && !this.#objects.decides.copy;
    if (isCheckedFree && (await this.#objects.find(to, options)) !== undefined)
      throw new errors.AlreadyExistsError();
    try {
      const copy = { from, to, size, etag, storageClass, createOnly, isCheckedFree };
      const made = await this.#objects.copy(copy, options);
      transfer.made.add(digestOf(to, made ?? (await this.#objects.find(to, options))?.etag));
      transfer.copied.add(versionOf(object));
    } catch (error) {
      // Removed by others after it was listed: there is nothing to copy.
      if (error instanceof errors.NotFoundError && (await this.#objects.find(from, options)) === undefined)
        return;
      // The key was free, so an object after a lost response is this copy.
      const found =
        error instanceof errors.AlreadyExistsError
          ? undefined
          : await this.#objects.find(to, {}).catch(() => undefined);
      if (found?.size === size) transfer.made.add(digestOf(to, found.etag));
      throw error;
    }
  }

  /** Removes only what a failed transfer created in its target. Never rejects; false when copies stay. */
  async #undo({ to, made }: Transfer): Promise<boolean> {
    try {
      await this.#removeVersions(to, ({ key, etag }) => made.has(digestOf(key, etag)));
    } catch {
      return false;
    }
    // The remaining objects belong to others; the caller gets the first error.
    await this.removeEmpty(to, {}).catch(() => undefined);
    return true;
  }

  /** Whether all originals are there. After a lost response the copies may be the only objects left. */
  async #isWhole({ from, copied }: Transfer): Promise<boolean> {
    let found = 0;
    for await (const { objects } of this.#objects.pages(from, {}))
      found += objects.filter((object) => copied.has(versionOf(object))).length;
    return found === copied.size;
  }

  /** Removes the objects below a prefix that `isOurs` accepts. Returns how many stay. */
  async #removeVersions(
    prefix: string,
    isOurs: (object: ListedObject) => boolean,
    remover = folderRemoval(this.#removals),
  ): Promise<number> {
    const isDecided = this.#objects.decides.remove;
    const size = isDecided ? 1000 : REMOVALS_WITHOUT_VERSIONS;
    let left = 0;
    let after: string | undefined;
    for await (const { objects } of this.#objects.pages(prefix, {}, { size })) {
      const ours = objects.filter(isOurs);
      left += objects.length - ours.length;
      if (isDecided) await remover.remove(ours.map(this.#seen));
      else left += await this.#removeSeenAgain(remover, ours, { prefix, size, after });
      after = objects.at(-1)?.key ?? after;
    }
    remover.check();
    return left + remover.changed;
  }

  /**
   * Removes objects of one page where the service has no conditional removal: those that this process is not
   * writing, if another lookup shows them unchanged. Returns how many stay.
   */
  async #removeSeenAgain(
    remover: ReturnType<typeof folderRemoval>,
    objects: readonly ListedObject[],
    page: Page,
  ): Promise<number> {
    const keys = objects.map(({ key }) => key);
    return this.#objects.locks.holdFree(keys, async (held) => {
      const free = objects.filter(({ key }) => held.has(key));
      const now = await this.#lookAgain(free, page);
      const isSame = ({ key, etag, size }: ListedObject): boolean =>
        now.get(key)?.etag === etag && now.get(key)?.size === size;
      const same = free.filter(isSame);
      await remover.remove(same.map(({ key }) => ({ key })));
      const gone = free.filter(({ key }) => !now.has(key));
      return objects.length - same.length - gone.length;
    });
  }

  /** The objects that still exist, nearly always found with one listing. */
  async #lookAgain(objects: readonly ListedObject[], { prefix, size, after }: Page) {
    const found = new Map<string, ObjectFacts>();
    if (objects.length === 0) return found;
    const how = after === undefined ? { size } : { size, after };
    for await (const page of this.#objects.pages(prefix, {}, how)) {
      for (const object of page.objects) found.set(object.key, object);
      if (found.size > 0) break;
    }
    // The page may have shifted, and not every service can start after a key.
    const missing = objects.filter(({ key }) => !found.has(key));
    await forEachAtOnce(COPIES_AT_ONCE, missing, async ({ key }) => {
      const facts = await this.#objects.find(key, {});
      if (facts !== undefined) found.set(key, facts);
    });
    return found;
  }
}
