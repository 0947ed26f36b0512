import { randomUUID } from 'node:crypto';
import type { Access } from '../access/access.ts';
import { withFileSuffix, withFolderSuffix } from '../content/file-name.ts';
import { AlreadyExistsError, MovedInPartError, NotFoundError } from '../errors/errors.ts';
import type { EntryKind, StorageAdapter } from '../storage/adapter.ts';
import { moveFolder } from '../storage/folders.ts';
import { isSameLocation } from '../storage/location.ts';
import type { SourcePath } from '../storage/source-path.ts';
import type { ActionContext } from './action.ts';
import { announce, report } from './changes.ts';
import { findItem, requireFolder, ruleExtension, type Item } from './item.ts';
import { isFree } from './naming.ts';
import { renamedName } from './new-name.ts';
import type { OpenSource } from './open-source.ts';
import { requireContents } from './require-contents.ts';
import { moving } from './room.ts';

/** An item that gets another path in its source. */
export interface Relocation {
  readonly verb: 'MOVE' | 'RENAME';
  readonly item: Item;
  readonly to: SourcePath;
}

/** `FILE_MOVE`, `FOLDER_COPY`…: the key follows what the item really is. */
export const itemKey = <Verb extends string>(
  kind: EntryKind,
  verb: Verb,
): `FILE_${Verb}` | `FOLDER_${Verb}` => (kind === 'file' ? `FILE_${verb}` : `FOLDER_${verb}`);

/** What the role may do where something comes from, and where it goes to. */
export interface AccessToBoth {
  readonly from: Access;
  readonly to: Access;
}

/** Checks the rules where an item is and where it goes. @throws AccessDeniedError */
export const requireBothLocations = (
  access: AccessToBoth,
  key: string,
  paths: { readonly from: SourcePath; readonly to: SourcePath; readonly kind: EntryKind },
): void => {
  access.from.require(key, paths.from, ruleExtension(paths.from, paths.kind));
  access.to.require(key, paths.to, ruleExtension(paths.to, paths.kind));
};

/**
 * Finds an item of either kind. `check` decides by what it is, and by `expected` when nothing is there, so
 * that a denied request does not learn what exists.
 * @throws NotFoundError, and what `check` throws
 */
export const findChecked = async (
  open: OpenSource,
  path: SourcePath,
  expected: EntryKind,
  signal: AbortSignal,
  check: (kind: EntryKind) => void,
): Promise<Item> => {
  let item: Item;
  try {
    item = await findItem(open, path, signal);
  } catch (error) {
    if (error instanceof NotFoundError) check(expected);
    throw error;
  }
  check(item.stat.kind);
  return item;
};

const moveItem = (
  storage: StorageAdapter,
  kind: EntryKind,
  from: SourcePath,
  to: SourcePath,
  signal?: AbortSignal,
): Promise<void> =>
  kind === 'folder'
    ? moveFolder(storage, from, to, { signal })
    : storage.moveFile(from, to, { createOnly: true, signal });

/** A name that nobody has, and that listings show: what a crash leaves under it is not out of reach. */
const interimName = (kind: EntryKind, name: string): string => {
  const suffix = `-${randomUUID().slice(0, 8)}`;
  return kind === 'file' ? withFileSuffix(name, suffix) : withFolderSuffix(name, suffix);
};

/**
 * Changes the letter case of a name in a store that ignores it, where the item itself has the new name
 * already: by way of a name that nobody has. Once the item has that one, the signal no longer counts; when a
 * step fails, the item gets its old name back.
 * @throws MovedInPartError with the name that the item has, where it could not get its old one back
 */
const changeLetterCase = async (
  storage: StorageAdapter,
  kind: EntryKind,
  from: SourcePath,
  to: SourcePath,
  signal: AbortSignal,
): Promise<void> => {
  const between = from.parent.child(interimName(kind, from.name));
  try {
    await moveItem(storage, kind, from, between, signal);
    await moveItem(storage, kind, between, to);
  } catch (error) {
    // Also after the first step, whose answer may be lost.
    try {
      await moveItem(storage, kind, between, from);
    } catch (cause) {
      if (!(await isFree({ storage, signal: undefined }, between).catch(() => false)))
        throw new MovedInPartError({ message: `The item is called "${between.name}" now.`, cause });
    }
    throw error;
  }
};

/**
 * Gives a file or folder another path, unless the host, when it is to be asked, wants another name: then that
 * path is the result.
 */
const relocateOnce = async (
  context: ActionContext,
  open: OpenSource,
  { verb, item, to }: Relocation,
  isAsked: boolean,
): Promise<SourcePath | undefined> => {
  const { services, signal } = context;
  const { source, storage, access } = open;
  const { path: from, stat } = item;
  const { kind } = stat;
  requireBothLocations({ from: access, to: access }, itemKey(kind, verb), { from, to, kind });
  if (from.equals(to)) throw new AlreadyExistsError();
  const [origin, target] = [
    { storage, path: from },
    { storage, path: to },
  ];
  const change = { type: `${kind}.moved`, source, path: to, from, bytes: stat.size } as const;
  const run = isSameLocation(origin, target) && from.parent.equals(to.parent) ? changeLetterCase : moveItem;
  const other = await services.locations.hold([origin, target], { signal }, async (hasWaited) => {
    // Stores make a missing folder in passing.
    if (hasWaited) await requireFolder(open, to.parent, signal, 'destination folder');
    // Thumbnails of what is inside a folder travel inside.
    if (kind === 'folder') await requireContents(context, open, { verb, from, to });
    const changed = isAsked ? undefined : await announce(context, change);
    const name =
      changed === undefined ? to.name : renamedName(source.settings, { kind, name: from.name }, changed);
    // What is held and checked is the first name.
    if (name !== to.name) return to.parent.child(name);
    await moving(context, open, () => run(storage, kind, from, to, signal));
    await services.thumbnails.moved({ source, path: from, stat }, { source, path: to });
    return undefined;
  });
  if (other === undefined) await report(context, change);
  return other;
};

/**
 * Gives a file or folder another path, or the name there that the host wants, with its thumbnail. Never
 * replaces anything.
 * @throws AccessDeniedError at either location or for something inside a folder; AlreadyExistsError, also for
 *   its own name; for names of the host what `renamedName` throws
 */
export const relocate = async (
  context: ActionContext,
  open: OpenSource,
  relocation: Relocation,
): Promise<void> => {
  const to = await relocateOnce(context, open, relocation, false);
  if (to !== undefined) await relocateOnce(context, open, { ...relocation, to }, true);
};
