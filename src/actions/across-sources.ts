import { hasAllowedExtension } from '../content/extension.ts';
import { AccessDeniedError } from '../errors/errors.ts';
import { hasThumbnailFolder } from '../images/thumbnail-name.ts';
import type { Entry, EntryKind } from '../storage/adapter.ts';
import { copyFileTo, copyTree, type CopyTreeOptions } from '../storage/copy-tree.ts';
import { moveFileTo, moveTree } from '../storage/move-tree.ts';
import type { SourcePath } from '../storage/source-path.ts';
import type { ActionContext } from './action.ts';
import { incomingContent, incomingName } from './incoming-policy.ts';
import { requireFolder, ruleExtension } from './item.ts';
import type { OpenSource } from './open-source.ts';
import { itemKey, requireBothLocations } from './relocate.ts';
import { reservedNames } from './reserved.ts';

/** A file or folder on its way into another source. */
export interface Transfer {
  readonly verb: 'COPY' | 'MOVE';
  readonly kind: EntryKind;
  readonly from: OpenSource & { readonly path: SourcePath };
  /** With the name that the item may have there: see `incomingName`. */
  readonly to: OpenSource & { readonly path: SourcePath };
}

const isThumbnailFolder = ({ from }: Transfer, { kind, name }: Entry): boolean => {
  const { settings } = from.source;
  return (
    hasThumbnailFolder(settings) &&
    kind === 'folder' &&
    name.toLowerCase() === settings.thumbFolderName.toLowerCase()
  );
};

/**
 * Checks everything that a folder holds before any of it is copied, and gives it the name that it may have in
 * the other source. What its own source does not show does not leave it: a copy leaves it out, a move, which
 * would have to leave it behind, is refused. Thumbnails are made anew.
 * @throws AccessDeniedError, TypeNotAllowedError, FileTooLargeError, UnsafeNameError
 */
const nameInOtherSource = (transfer: Transfer): NonNullable<CopyTreeOptions['nameFor']> => {
  const { verb, from, to } = transfer;
  const isReservedHere = reservedNames(from.source.settings);
  const isReservedThere = reservedNames(to.source.settings);
  const isShown = ({ kind, name }: Entry): boolean =>
    !isReservedHere(name) &&
    !isReservedThere(name) &&
    (kind === 'folder' || hasAllowedExtension(name, from.source.settings.extensions));
  return (path, entry, targetFolder) => {
    if (!isShown(entry)) {
      if (verb === 'COPY' || isThumbnailFolder(transfer, entry)) return undefined;
      throw new AccessDeniedError('The folder holds something that cannot leave its source.');
    }
    const name = incomingName(to.source.settings, entry);
    const target = targetFolder.below(name);
    const keys = entry.kind === 'folder' ? [`FOLDER_${verb}`] : [`FILE_${verb}`, `FOLDER_${verb}`];
    for (const key of keys) {
      from.access.require(key, path, ruleExtension(path, entry.kind));
      to.access.require(key, target, ruleExtension(target, entry.kind));
    }
    return name;
  };
};

/**
 * Copies or moves an item into another source, streamed between the stores. The rules of both sources hold,
 * and the target's settings about names, types, sizes and content as for an upload; nothing is replaced; what
 * a move removes is unchanged and whole at the target.
 * @throws AlreadyExistsError, AccessDeniedError, TypeNotAllowedError, FileTooLargeError, MovedInPartError,
 *   and errors of either store
 */
export const transferItem = (context: ActionContext, transfer: Transfer): Promise<void> => {
  const { verb, from, to } = transfer;
  if (verb === 'COPY') return transferAllowed(context, transfer);
  return context.services.locations.hold([from, to], context, async (hasWaited) => {
    // Stores make a missing folder in passing.
    if (hasWaited) await requireFolder(to, to.path.parent, context.signal, 'destination folder');
    await transferAllowed(context, transfer);
  });
};

const transferAllowed = async (context: ActionContext, transfer: Transfer): Promise<void> => {
  const { verb, kind, from, to } = transfer;
  const { services, signal } = context;
  const access = { from: from.access, to: to.access };
  requireBothLocations(access, itemKey(kind, verb), { from: from.path, to: to.path, kind });
  const source = { storage: from.storage, path: from.path };
  const target = { storage: to.storage, path: to.path };
  const options = { signal, contentFor: incomingContent(context, to.source.settings) };
  if (kind === 'folder') {
    const treeOptions = {
      ...options,
      nameFor: nameInOtherSource(transfer),
      derivedOf: (path: SourcePath) => services.thumbnails.pathsOf({ source: from.source, path }),
    };
    await (verb === 'MOVE' ? moveTree : copyTree)(source, target, treeOptions);
    return;
  }
  await (verb === 'MOVE' ? moveFileTo : copyFileTo)(source, target, options);
  if (verb === 'MOVE') await services.thumbnails.removed({ source: from.source, path: from.path });
  await services.thumbnails.changed({ source: to.source, path: to.path });
};
