import type { Access } from '../access/access.ts';
import { AlreadyExistsError, IntoItselfError } from '../errors/errors.ts';
import type { EntryKind, StorageAdapter } from '../storage/adapter.ts';
import { moveFolder } from '../storage/folders.ts';
import type { SourcePath } from '../storage/source-path.ts';
import type { ActionContext } from './action.ts';
import { ruleExtension, type Item } from './item.ts';
import type { OpenSource } from './open-source.ts';
import { requireContents } from './require-contents.ts';

/** An item that gets another place in its source. */
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
export interface AccessOfEnds {
  readonly from: Access;
  readonly to: Access;
}

/** Judges both ends of a move, copy or rename. @throws AccessDeniedError */
export const requireBothEnds = (
  access: AccessOfEnds,
  key: string,
  ends: { readonly from: SourcePath; readonly to: SourcePath; readonly kind: EntryKind },
): void => {
  access.from.require(key, ends.from, ruleExtension(ends.from, ends.kind));
  access.to.require(key, ends.to, ruleExtension(ends.to, ends.kind));
};

const folded = (path: SourcePath): string => `${path.toString().toLowerCase()}/`;

/** Refuses to put a folder into itself, also under another spelling where the store folds case. @throws IntoItselfError */
export const requireOutside = (storage: StorageAdapter, folder: SourcePath, target: SourcePath): void => {
  const isInside = storage.capabilities.caseSensitive
    ? folder.contains(target)
    : folded(target).startsWith(folded(folder));
  if (isInside) throw new IntoItselfError();
};

/**
 * Gives a file or folder another place, with its thumbnail. Never replaces anything.
 * @throws AccessDeniedError at either end or for something inside a folder; AlreadyExistsError, also for its own place
 */
export const relocate = async (
  context: ActionContext,
  open: OpenSource,
  { verb, item, to }: Relocation,
): Promise<void> => {
  const { services, signal } = context;
  const { source, storage, access } = open;
  const { path: from, stat } = item;
  requireBothEnds({ from: access, to: access }, itemKey(stat.kind, verb), { from, to, kind: stat.kind });
  if (from.equals(to)) throw new AlreadyExistsError();
  if (stat.kind === 'folder') {
    await requireContents(context, open, { verb, from, to });
    // Thumbnails of what is inside travel inside.
    await moveFolder(storage, from, to, { signal });
  } else {
    await storage.moveFile(from, to, { createOnly: true, seen: stat, signal });
  }
  await services.thumbnails.moved({ source, path: from }, { source, path: to });
};
