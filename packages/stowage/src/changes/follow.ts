import { isRefusal, MovedInPartError } from '../errors/errors.ts';
import { type About, type AboutPatch, isNothing, patched } from '../storage/about/about.ts';
import type { StoreLocation } from '../storage/location.ts';
import type { SourcePath } from '../storage/source-path.ts';
import type { SourceView } from '../view/source-view.ts';
import { storeOf } from '../view/writable.ts';
import type { Change, Done, StageContext, Stage, Stored, Transfer } from './change.ts';

const at = (view: SourceView, path: SourcePath): StoreLocation => ({ storage: storeOf(view), path });

/** Whether the folder of a path may hold descriptions of files; true where the store fails to say so. */
const mayHaveAbouts = async (
  { services }: StageContext,
  view: SourceView,
  { parent }: SourcePath,
  how?: Parameters<SourceView['mayHaveAbouts']>[1],
): Promise<boolean> =>
  services.about.isWrittenLately(storeOf(view), parent) || view.mayHaveAbouts(parent, how).catch(() => true);

/** The description of a file. @throws errors of the store */
export const aboutOf = async (
  context: StageContext,
  view: SourceView,
  path: SourcePath,
): Promise<About | undefined> =>
  (await mayHaveAbouts(context, view, path, { isSure: true }))
    ? context.services.about.read(at(view, path))
    : undefined;

/** Sets the description of a new item. */
export const setAbout = async (
  context: StageContext,
  view: SourceView,
  path: SourcePath,
  about: About | undefined,
): Promise<void> => {
  if (about !== undefined || (await mayHaveAbouts(context, view, path)))
    await context.services.about.set(at(view, path), about);
};

/** Moves the description of a moved file. Reads it after the move, so that none written during it is lost. */
const moveAbout = async (context: StageContext, { from, open, item }: Transfer, path: SourcePath) => {
  if (await mayHaveAbouts(context, from, item.path, { isNow: true }))
    await context.services.about.moved(at(from, item.path), at(open, path));
  else if (from.source !== open.source || !item.path.parent.equals(path.parent))
    await setAbout(context, open, path, undefined);
};

/** The focal point of a picture follows when it is cropped or rotated. */
const movedFocus =
  (change: Change) =>
  ({ focalPoint }: About): AboutPatch =>
    change.type !== 'edit' || change.pointAfter === undefined || focalPoint === undefined
      ? {}
      : { focalPoint: change.pointAfter(focalPoint) ?? null };

/** The stored file of which a change makes a copy, or a picture under another name. */
const originalOf = (change: Change): { readonly view: SourceView; readonly path: SourcePath } | undefined => {
  if (change.type === 'copy' && change.item.kind === 'file')
    return { view: change.from, path: change.item.path };
  if (change.type !== 'edit' || change.isOver || change.sent !== undefined || change.from === undefined)
    return undefined;
  return { view: change.open, path: change.from };
};

/** The description of the original of a copy, read before: afterwards its name may belong to another file. */
const aboutToCopy = async (context: StageContext, change: Change): Promise<About | undefined> => {
  const original = originalOf(change);
  return (
    original &&
    aboutOf(context, original.view, original.path).catch((error: unknown) => {
      context.log.warn('The description of a file could not be read for its copy.', { error });
      return undefined;
    })
  );
};

/**
 * The description of a file with new content: an existing one stays, else it gets the texts of its metadata. A
 * new file starts without that of an older file of the same name, which was removed when it got the name.
 */
const aboutOfStored = async (
  context: StageContext,
  change: Extract<Change, { type: 'create' | 'replace' | 'edit' }>,
  { path, replaced, texts }: Stored,
  copied: About | undefined,
): Promise<About | undefined> => {
  const { open } = change;
  if (!replaced && originalOf(change) !== undefined) {
    await setAbout(context, open, path, copied && patched(copied, movedFocus(change)(copied)));
    return undefined;
  }
  if (texts === undefined) {
    const about = replaced ? await aboutOf(context, open, path) : undefined;
    if (about === undefined || isNothing(movedFocus(change)(about))) return about;
    return (await context.services.about.patch(at(open, path), movedFocus(change))).after;
  }
  const patch = (about: About): About => (isNothing(about) ? texts : {});
  return (await context.services.about.patch(at(open, path), patch)).after;
};

const followByAbout = async (
  context: StageContext,
  change: Change,
  done: Done,
  copied: About | undefined,
): Promise<About | undefined> => {
  if (change.type === 'create' || change.type === 'replace' || change.type === 'edit')
    return aboutOfStored(context, change, done as Stored, copied);
  if (change.type === 'put') return undefined;
  // Descriptions of the contents of a folder move inside it, or have been copied into the other source with it.
  // That of a restored file is set before its trash record is removed.
  if (change.type === 'remove' && change.kind === 'file')
    await setAbout(context, change.open, done.path, undefined);
  else if ('item' in change && change.item.kind === 'file') {
    if (change.type === 'copy') await setAbout(context, change.open, done.path, copied);
    else await moveAbout(context, change, done.path);
  }
  return done.about;
};

const followTransfer = async (
  { services: { thumbnails: all } }: StageContext,
  { type, from: { source: old }, open: { source }, item: { path: from, stat } }: Transfer,
  { path }: Done,
): Promise<void> => {
  if (old === source) {
    await all[type === 'copy' ? 'copied' : 'moved']({ source, path: from, stat }, { source, path });
    return;
  }
  // Thumbnails of the contents of a folder are made anew there, and removed here with their originals.
  if (stat.kind === 'folder') return;
  if (type !== 'copy') await all.removed({ source: old, path: from });
  await all.changed({ source, path });
};

const followByThumbnails = async (context: StageContext, change: Change, done: Done): Promise<void> => {
  const { thumbnails: all } = context.services;
  const { path } = done;
  if ('item' in change) await followTransfer(context, change, done);
  else if (change.type === 'remove') await all.removed({ source: change.open.source, path });
  else if (change.type === 'restore') await all.changed({ source: change.open.source, path });
  else if (change.type === 'describe' && done.isFocusMoved === true)
    await all.changed({ source: change.open.source, path });
  else if (change.type === 'create' || change.type === 'replace' || change.type === 'edit') {
    const { source } = change.open;
    const { stat, replaced, thumbnail } = done as Stored;
    if (replaced) await all.changed({ source, path });
    if (thumbnail !== undefined) await all.keep({ source, path, stat }, thumbnail);
  }
};

/** The description first, then thumbnails, which depend on its focal point. */
const follow = async (context: StageContext, change: Change, done: Done, copied: About | undefined) => {
  let { about } = done;
  try {
    about = await followByAbout(context, change, done, copied);
  } catch (error) {
    context.log.warn('The description of a file could not follow it.', { path: done.path.toString(), error });
  }
  await followByThumbnails(context, change, done);
  return { ...done, about };
};

/**
 * Copies the description of a file whose move failed with unknown outcome: the file may be at either path, or
 * at both, and needs its description there. Unless it was certainly copied, the target may be an older file: it
 * keeps its description, and gets none if its size is different.
 */
const keepAbout = async (context: StageContext, change: Change, error: unknown): Promise<void> => {
  if (!('item' in change) || change.type === 'copy' || change.item.kind === 'folder' || isRefusal(error))
    return;
  const { from, open, item, path } = change;
  const { about } = context.services;
  const target = at(open, path);
  try {
    const { kind, size } = await target.storage.stat(path);
    const isCopy =
      error instanceof MovedInPartError ||
      (size === item.stat.size && (await about.read(target)) === undefined);
    if (kind === 'file' && isCopy) await about.copied(at(from, item.path), target);
  } catch {
    // The file is not at the target, as far as can be known.
  }
};

/** Finds a description left under a name that new content will get. Returns the function that removes it. */
const leftAbout = async (context: StageContext, change: Change) => {
  // Internal files of the service need no access key and have no description.
  if (change.type !== 'put' || change.keys.length === 0) return undefined;
  const { services, log } = context;
  const failed = (error: unknown): void => {
    log.warn('The description of an older file could not be removed.', { error });
  };
  const { open, path } = change;
  try {
    if (!(await mayHaveAbouts(context, open, path))) return undefined;
    const forget = await services.about.left(at(open, path));
    return forget && (() => forget().catch(failed));
  } catch (error) {
    failed(error);
    return undefined;
  }
};

/**
 * Lets descriptions, thumbnails, variants and icons follow a change; those inside a moved folder move with it.
 * Failures are logged and never reach the client.
 */
export const following: Stage = async (context, change, next) => {
  const [forget, copied] = [await leftAbout(context, change), await aboutToCopy(context, change)];
  try {
    return await next(change);
  } catch (error) {
    await keepAbout(context, change, error);
    throw error;
  } finally {
    if (forget !== undefined && context.done.some((done) => !(done as Stored).replaced)) await forget();
    for (const [index, done] of context.done.entries())
      context.done[index] = await follow(context, change, done, copied);
  }
};
