import { isRefusal } from '../errors/errors.ts';
import { type About, isNothing } from '../storage/about/about.ts';
import type { StoreLocation } from '../storage/location.ts';
import type { SourcePath } from '../storage/source-path.ts';
import type { SourceView } from '../view/source-view.ts';
import { storeOf } from '../view/writable.ts';
import type { Change, Done, Passage, Stage, Stored, Transfer } from './change.ts';

const at = (view: SourceView, path: SourcePath): StoreLocation => ({ storage: storeOf(view), path });

/**
 * Of a file that has new content: its words stay. What it says about itself counts where it has none. A new file has
 * lost what was said about an older one of its name when it got that.
 */
const wordsOfStored = async (
  { services: { about: all } }: Passage,
  change: Extract<Change, { type: 'create' | 'replace' | 'edit' }>,
  { path, replaced, texts }: Stored,
): Promise<About | undefined> => {
  const location = at(change.open, path);
  // An edit of a stored picture under another name is a copy of it.
  const original = change.type === 'edit' && change.sent === undefined ? change.from : undefined;
  if (!replaced && original !== undefined) {
    await all.copied(at(change.open, original), location);
    return undefined;
  }
  if (texts === undefined) return replaced ? all.read(location) : undefined;
  const { after } = await all.patch(location, (about) => (isNothing(about) ? texts : {}));
  return after;
};

const followByWords = async (passage: Passage, change: Change, done: Done): Promise<About | undefined> => {
  const { about: all } = passage.services;
  if (change.type === 'create' || change.type === 'replace' || change.type === 'edit')
    return wordsOfStored(passage, change, done as Stored);
  if (change.type === 'put') return undefined;
  // Those about what a folder holds travel inside, or have been taken into the other source with it.
  if (change.type === 'remove' && change.kind === 'file')
    await all.set(at(change.open, done.path), undefined);
  else if (change.type === 'restore' && change.record.kind === 'file')
    await all.set(at(change.open, done.path), change.record.about);
  else if ('item' in change && change.item.kind === 'file') {
    const { type, from, open, item } = change;
    await all[type === 'copy' ? 'copied' : 'moved'](at(from, item.path), at(open, done.path));
  }
  return done.about;
};

const followTransfer = async (
  { services: { thumbnails: all } }: Passage,
  { type, from: { source: old }, open: { source }, item: { path: from, stat } }: Transfer,
  { path }: Done,
): Promise<void> => {
  if (old === source) {
    await all[type === 'copy' ? 'copied' : 'moved']({ source, path: from, stat }, { source, path });
    return;
  }
  // Those of what is inside a folder are made anew there, and removed here with their originals.
  if (stat.kind === 'folder') return;
  if (type !== 'copy') await all.removed({ source: old, path: from });
  await all.changed({ source, path });
};

const followByThumbnails = async (passage: Passage, change: Change, done: Done): Promise<void> => {
  const { thumbnails: all } = passage.services;
  const { path } = done;
  if ('item' in change) await followTransfer(passage, change, done);
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

/** Words before thumbnails: these show what the words say matters. */
const follow = async (passage: Passage, change: Change, done: Done): Promise<Done> => {
  let { about } = done;
  try {
    about = await followByWords(passage, change, done);
  } catch (error) {
    passage.log.warn('The words about a file could not follow it.', { path: done.path.toString(), error });
  }
  await followByThumbnails(passage, change, done);
  return { ...done, about };
};

/**
 * The words of a file whose move has failed without its store saying that it did nothing: it may lie under either
 * name, or both, and has its words there.
 */
const keepWords = async (passage: Passage, change: Change, error: unknown): Promise<void> => {
  if (!('item' in change) || change.type === 'copy' || change.item.kind === 'folder' || isRefusal(error))
    return;
  const { from, open, item, path } = change;
  try {
    if ((await storeOf(open).stat(path)).kind === 'file')
      await passage.services.about.copied(at(from, item.path), at(open, path));
  } catch {
    // It has not come, as far as anybody can tell.
  }
};

/** Words that an older file has left under a name that new content is to get. */
const leftWords = async (
  { services, log }: Passage,
  change: Change,
): Promise<(() => Promise<void>) | undefined> => {
  // What the service keeps for itself needs no key, and has no words.
  if (change.type !== 'put' || change.keys.length === 0) return undefined;
  const failed = (error: unknown): void => {
    log.warn('The words about an older file could not be removed.', { error });
  };
  try {
    const forget = await services.about.left(at(change.open, change.path));
    return forget && (() => forget().catch(failed));
  } catch (error) {
    failed(error);
    return undefined;
  }
};

/**
 * Lets words, thumbnails, variants and icons follow what has happened; of what is inside a moved folder they travel
 * inside. Their failures are logged and never reach the client.
 */
export const following: Stage = async (passage, change, next) => {
  const forget = await leftWords(passage, change);
  try {
    return await next(change);
  } catch (error) {
    await keepWords(passage, change, error);
    throw error;
  } finally {
    if (forget !== undefined && passage.done.some((done) => !(done as Stored).replaced)) await forget();
    for (const [index, done] of passage.done.entries())
      passage.done[index] = await follow(passage, change, done);
  }
};
