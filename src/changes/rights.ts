import { AlreadyExistsError } from '../errors/errors.ts';
import { isSameLocation } from '../storage/location.ts';
import type { SourcePath } from '../storage/source-path.ts';
import { ruleExtension } from '../view/item.ts';
import type { OpenSource } from '../view/open-source.ts';
import { itemKey, type KeysByKind, requireBothLocations, requireKeys, RESTORE_KEYS } from '../view/keys.ts';
import type { Change, Stage, Transfer } from './change.ts';
import { checkName } from './check-upload.ts';
import { fileTooLarge, withFileNameIf } from './uploaded-file.ts';

/** `MOVE`, `COPY` or `RENAME`. */
export const verbOf = ({ type }: Pick<Transfer, 'type'>): 'MOVE' | 'COPY' | 'RENAME' =>
  (({ move: 'MOVE', copy: 'COPY', rename: 'RENAME' }) as const)[type];

const requireFileKeys = ({ access }: OpenSource, keys: readonly string[], path: SourcePath): void => {
  for (const key of keys) access.require(key, path, ruleExtension(path, 'file'));
};

/** The rules of both sources. An item is not moved onto itself, also not through another source. */
const requireTransfer = (change: Transfer): void => {
  const { type, from, open, item, path: to } = change;
  const { kind } = item.stat;
  const key = itemKey(kind, verbOf(change));
  requireBothLocations({ from: from.access, to: open.access }, key, { from: item.path, to, kind });
  if (type === 'copy') return;
  const isItself =
    from.source === open.source
      ? item.path.equals(to)
      : isSameLocation({ storage: from.storage, path: item.path }, { storage: open.storage, path: to });
  if (isItself) throw new AlreadyExistsError();
};

/**
 * Checks the rules at the paths of a change themselves.
 * @throws AccessDeniedError; AlreadyExistsError for what would be moved onto itself; of files that come in also
 *   UnsafeNameError, TypeNotAllowedError and FileTooLargeError
 */
export const requireRights = async (change: Change): Promise<void> => {
  switch (change.type) {
    case 'makeFolder':
      change.open.access.require('FOLDER_CREATE', change.path);
      break;
    case 'remove':
      requireKeys(change.open.access, REMOVE_KEYS, change.path, change.kind);
      break;
    case 'move':
    case 'rename':
    case 'copy':
      requireTransfer(change);
      break;
    case 'restore':
      requireKeys(change.open.access, RESTORE_KEYS, change.path, change.record.kind);
      break;
    case 'edit':
      requireFileKeys(change.open, [change.key], change.path);
      break;
    case 'put':
      requireFileKeys(change.open, change.keys, change.path);
      break;
    case 'create': {
      const { open, path: folder, files, keys, isForm } = change;
      const { maxUploadFileSize } = open.source.settings;
      for (const { filename, staged } of files)
        await withFileNameIf(isForm, filename, () => {
          checkName(open, folder, filename, keys);
          // The edge stops at the largest limit of the sources; here the source's own holds.
          if (staged.size > maxUploadFileSize) throw fileTooLarge(filename, maxUploadFileSize);
        });
      break;
    }
    // What is in the trash was found by the rules for where it was.
    case 'erase':
    case 'emptyTrash':
    case 'document':
      break;
  }
};

const REMOVE_KEYS: KeysByKind = { file: ['FILE_REMOVE'], folder: ['FOLDER_REMOVE'] };

/** Refuses what the rules deny at the paths themselves. */
export const rights: Stage = async (_, change, next) => {
  await requireRights(change);
  return next(change);
};
