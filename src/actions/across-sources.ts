import { hasAllowedExtension } from '../content/extension.ts';
import { AccessDeniedError, TypeNotAllowedError } from '../errors/errors.ts';
import type { Entry, EntryKind } from '../storage/adapter.ts';
import { walkFolder } from '../storage/folders.ts';
import type { SourcePath } from '../storage/source-path.ts';
import {
  moveFileAcross,
  moveFolderAcross,
  transferFile,
  transferFolder,
  type StoredPlace,
} from '../storage/transfer.ts';
import type { ActionContext } from './action.ts';
import { ruleExtension } from './item.ts';
import type { OpenSource } from './open-source.ts';
import { itemKey, requireBothEnds } from './relocate.ts';
import { reservedNames } from './reserved.ts';

/** A file or folder on its way into another source. */
export interface Crossing {
  readonly verb: 'COPY' | 'MOVE';
  readonly kind: EntryKind;
  readonly from: OpenSource & { readonly path: SourcePath };
  readonly to: OpenSource & { readonly path: SourcePath };
}

const notAllowed = (name: string): TypeNotAllowedError =>
  new TypeNotAllowedError(`"${name}": the other source does not allow this file type.`);

/** Reserved names of either source do not cross: thumbnails are made anew, and nothing may get such a name. */
const crosses = ({ from, to }: Crossing): ((path: SourcePath, entry: Entry) => boolean) => {
  const isReservedHere = reservedNames(from.source.settings);
  const isReservedThere = reservedNames(to.source.settings);
  return (_path, { name }) => !isReservedHere(name) && !isReservedThere(name);
};

/** A move must not lose what does not cross, except thumbnails. */
const requireWholeMove = ({ verb, from }: Crossing, name: string): void => {
  const thumbnails = from.source.settings.thumbFolderName.toLowerCase();
  if (verb === 'MOVE' && name.toLowerCase() !== thumbnails) {
    throw new AccessDeniedError('The folder holds something that cannot leave its source.');
  }
};

/**
 * Judges all that a folder holds before any of it is copied: rules at both ends, types by the target's `extensions`.
 * @throws AccessDeniedError, TypeNotAllowedError
 */
const requireCrossable = async ({ signal }: ActionContext, crossing: Crossing): Promise<void> => {
  const { verb, from, to } = crossing;
  const includes = crosses(crossing);
  let left: SourcePath | undefined;
  for await (const { path, entry } of walkFolder(from.storage, from.path, { detail: 'names', signal })) {
    if (left?.contains(path) === true) continue;
    if (!includes(path, entry)) {
      requireWholeMove(crossing, entry.name);
      left = path;
      continue;
    }
    const target = to.path.join(from.path.relative(path));
    const keys = entry.kind === 'folder' ? [`FOLDER_${verb}`] : [`FILE_${verb}`, `FOLDER_${verb}`];
    for (const key of keys) {
      from.access.require(key, path, ruleExtension(path, entry.kind));
      to.access.require(key, target, ruleExtension(target, entry.kind));
    }
    if (entry.kind === 'file' && !hasAllowedExtension(entry.name, to.source.settings.extensions)) {
      throw notAllowed(entry.name);
    }
  }
};

const placeOf = ({ storage, path }: Crossing['from']): StoredPlace => ({ storage, path });

/**
 * Copies or moves an item into another source, streamed between the stores. The target's rules and extensions hold; nothing is replaced;
 * a moved item is removed only after the target is seen to be whole.
 * @throws AlreadyExistsError, AccessDeniedError, TypeNotAllowedError, and errors of either store
 */
export const cross = async (context: ActionContext, crossing: Crossing): Promise<void> => {
  const { verb, kind, from, to } = crossing;
  const { services, signal } = context;
  const access = { from: from.access, to: to.access };
  requireBothEnds(access, itemKey(kind, verb), { from: from.path, to: to.path, kind });
  if (kind === 'file') {
    if (!hasAllowedExtension(to.path.name, to.source.settings.extensions)) throw notAllowed(to.path.name);
    const run = verb === 'MOVE' ? moveFileAcross : transferFile;
    await run(placeOf(from), placeOf(to), { signal });
    if (verb === 'MOVE') await services.thumbnails.removed({ source: from.source, path: from.path });
    await services.thumbnails.changed({ source: to.source, path: to.path });
    return;
  }
  await requireCrossable(context, crossing);
  const run = verb === 'MOVE' ? moveFolderAcross : transferFolder;
  await run(placeOf(from), placeOf(to), { signal, includes: crosses(crossing) });
};
