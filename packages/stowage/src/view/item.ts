import type { Settings } from '../config/settings.ts';
import { extensionOf, hasAllowedExtension } from '../basics/content/extension.ts';
import { NotFoundError, WrongKindError } from '../errors/errors.ts';
import type { EntryKind, Stat } from '../storage/entry.ts';
import type { SourcePath } from '../storage/source-path.ts';
import type { OpenSource } from './open-source.ts';
import { reservedNames } from './reserved.ts';

/** An existing file or folder that the protocol shows. */
export interface Item {
  readonly path: SourcePath;
  readonly stat: Stat;
}

/** The extension that access rules evaluate for an entry; undefined for folders. */
export const ruleExtension = (path: SourcePath, kind: EntryKind): string | undefined =>
  kind === 'file' ? extensionOf(path.name) : undefined;

const WRONG_KIND: Readonly<Record<EntryKind, string>> = {
  file: 'This is a folder, not a file.',
  folder: 'This is a file, not a folder.',
};

/** Says which of the things that a request names is missing. */
export const missing = (
  what: EntryKind | 'file or folder' | 'destination folder' | 'parent folder',
  cause?: unknown,
): NotFoundError => new NotFoundError({ message: `The ${what} was not found.`, cause });

/**
 * What lies at a path; undefined where nothing lies, where nothing may be seen, or where the path leads
 * through a file.
 */
const statOf = async (
  { source, storage }: Pick<OpenSource, 'source' | 'storage'>,
  path: SourcePath,
  signal: AbortSignal,
): Promise<Stat | undefined> => {
  if (path.segments.some(reservedNames(source.settings))) return undefined;
  try {
    return await storage.stat(path, { signal });
  } catch (error) {
    if (error instanceof NotFoundError || error instanceof WrongKindError) return undefined;
    throw error;
  }
};

/**
 * Looks up an entry as the listing would show it: reserved names, and files whose extension is not in
 * `extensions`, are not there. Access is not checked. `kind` is what the request takes it for.
 * @throws NotFoundError, which says whether the item or its folder is missing
 */
export const findItem = async (
  open: Pick<OpenSource, 'source' | 'storage'>,
  path: SourcePath,
  signal: AbortSignal,
  kind?: EntryKind,
): Promise<Item> => {
  const stat = await statOf(open, path, signal);
  if (stat === undefined) {
    const parent = await statOf(open, path.parent, signal);
    if (parent?.kind === 'folder') throw missing(kind ?? 'file or folder');
    throw missing(kind === 'folder' ? 'parent folder' : 'folder');
  }
  // Listings leave such files out (`.env`, `id_rsa`), so no other action may find them either.
  if (stat.kind === 'file' && !hasAllowedExtension(path.name, open.source.settings.extensions)) {
    throw missing(kind ?? 'file or folder');
  }
  return { path, stat };
};

/**
 * Refuses the path of a file that no listing shows, without asking the store: for callers that open the file
 * at once.
 * @throws NotFoundError
 */
export const requireShownFile = (settings: Settings, path: SourcePath): void => {
  const isShown =
    !path.segments.some(reservedNames(settings)) && hasAllowedExtension(path.name, settings.extensions);
  if (!isShown) throw missing('file');
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

/** @throws WrongKindError when the item is not of this kind */
export const requireKind = (item: Item, kind: EntryKind): void => {
  if (item.stat.kind !== kind) throw new WrongKindError(WRONG_KIND[kind]);
};

/**
 * The file or folder that an action was asked to work on. Access is checked before the store is asked, so
 * that a denied request does not learn what exists.
 * @throws AccessDeniedError, NotFoundError, WrongKindError
 */
export const requireItem = async (
  context: { readonly signal: AbortSignal },
  open: OpenSource,
  wanted: { readonly key: string; readonly path: SourcePath; readonly kind: EntryKind },
): Promise<Item> => {
  open.access.require(wanted.key, wanted.path, ruleExtension(wanted.path, wanted.kind));
  const item = await findItem(open, wanted.path, context.signal, wanted.kind);
  requireKind(item, wanted.kind);
  return item;
};

/**
 * Makes sure that a folder exists before something is put into it: stores would create it in passing.
 * @throws NotFoundError, also where a file has the path
 */
export const requireFolder = async (
  open: OpenSource,
  path: SourcePath,
  signal: AbortSignal,
  what: 'folder' | 'destination folder' = 'folder',
): Promise<void> => {
  if ((await statOf(open, path, signal))?.kind !== 'folder') throw missing(what);
};
