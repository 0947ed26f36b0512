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
