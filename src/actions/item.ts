import { extensionOf, hasAllowedExtension } from '../content/extension.ts';
import { NotFoundError, WrongKindError } from '../errors/errors.ts';
import type { EntryKind, Stat } from '../storage/adapter.ts';
import type { SourcePath } from '../storage/source-path.ts';
import type { ActionContext } from './action.ts';
import type { OpenSource } from './open-source.ts';
import { requireReachable } from './reserved.ts';

/** An existing file or folder that the protocol shows. */
export interface Item {
  readonly path: SourcePath;
  readonly stat: Stat;
}

/** The extension that access rules judge an entry by; undefined for folders. */
export const ruleExtension = (path: SourcePath, kind: EntryKind): string | undefined =>
  kind === 'file' ? extensionOf(path.name) : undefined;

const WRONG_KIND: Readonly<Record<EntryKind, string>> = {
  file: 'This is a folder, not a file.',
  folder: 'This is a file, not a folder.',
};

/**
 * Looks up an entry as the listing would show it: reserved names, and files whose extension is not in `extensions`, are not there. Access
 * is not checked.
 * @throws NotFoundError
 */
export const findItem = async (
  { source, storage }: OpenSource,
  path: SourcePath,
  signal: AbortSignal,
): Promise<Item> => {
  requireReachable(source.settings, path);
  const stat = await storage.stat(path, { signal });
  // Listings leave such files out (`.env`, `id_rsa`), so every other action must not know them either.
  if (stat.kind === 'file' && !hasAllowedExtension(path.name, source.settings.extensions))
    throw new NotFoundError();
  return { path, stat };
};

/** @throws WrongKindError when the item is not of this kind */
export const requireKind = (item: Item, kind: EntryKind): void => {
  if (item.stat.kind !== kind) throw new WrongKindError(WRONG_KIND[kind]);
};

/**
 * The file or folder that an action was asked to work on. Access is judged before the store is asked, so that a denied request
 * does not learn what exists.
 * @throws AccessDeniedError, NotFoundError, WrongKindError
 */
export const requireItem = async (
  context: ActionContext,
  open: OpenSource,
  wanted: { readonly key: string; readonly path: SourcePath; readonly kind: EntryKind },
): Promise<Item> => {
  open.access.require(wanted.key, wanted.path, ruleExtension(wanted.path, wanted.kind));
  const item = await findItem(open, wanted.path, context.signal);
  requireKind(item, wanted.kind);
  return item;
};

/**
 * Makes sure that a folder exists before something is put into it: stores would create it in passing.
 * @throws NotFoundError, WrongKindError
 */
export const requireFolder = async (
  { source, storage }: OpenSource,
  path: SourcePath,
  signal: AbortSignal,
): Promise<void> => {
  requireReachable(source.settings, path);
  const { kind } = await storage.stat(path, { signal });
  if (kind !== 'folder') throw new WrongKindError('The path is a file, not a folder.');
};
