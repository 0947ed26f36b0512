import type { Access } from '../access/access.ts';
import type { EntryKind } from '../storage/entry.ts';
import type { SourcePath } from '../storage/source-path.ts';
import { ruleExtension } from './item.ts';

/** The access keys that an action needs, by what it acts on: all of a list. */
export type KeysByKind = Readonly<Record<EntryKind, readonly string[]>>;

/** The same keys for files and folders. */
export const forBoth = (...keys: readonly string[]): KeysByKind => ({ file: keys, folder: keys });

/** @throws AccessDeniedError where one of the keys is denied for the file or folder */
export const requireKeys = (access: Access, keys: KeysByKind, path: SourcePath, kind: EntryKind): void => {
  for (const key of keys[kind]) access.require(key, path, ruleExtension(path, kind));
};

/** Whether parts of a folder may fare otherwise than the folder, by any of the keys. */
export const mayDiffer = (access: Access, keys: readonly string[], folder: SourcePath): boolean =>
  keys.some((key) => access.dependsOnItem(key, folder) || !access.allows(key, folder));

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

/** What something from the trash needs where it comes back: the keys of making it too. */
export const RESTORE_KEYS: KeysByKind = {
  file: ['TRASH_RESTORE', 'FILE_UPLOAD'],
  folder: ['TRASH_RESTORE', 'FOLDER_CREATE'],
};
