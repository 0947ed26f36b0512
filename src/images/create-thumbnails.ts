import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Logger } from '../log/logger.ts';
import type { Source } from '../sources/source.ts';
import type { Entry } from '../storage/adapter.ts';
import {
  ENTRIES_PER_TURN,
  openFolderView,
  type FolderView,
  type FolderViewContext,
  type View,
} from './folder-view.ts';
import type { Icon } from './icon.ts';
import { createImagePool, type ImagePool } from './image-pool.ts';
import { createFollowers } from './thumbnail-followers.ts';
import { createThumbnailCache } from './thumbnail-cache.ts';
import { createThumbnailMaker } from './thumbnail-maker.ts';
import type { SvgGenerator, Thumbnails } from './thumbnails.ts';

/** What thumbnails are made with. */
export interface ThumbnailsOptions {
  readonly log: Logger;
  /** Where pictures are decoded. Default: a pool of its own. */
  readonly pool?: ImagePool | undefined;
  /** Draws icons in place of the default ones. */
  readonly svgGenerator?: SvgGenerator | undefined;
}

/** Of one listing; what is decoded at the same time is bounded over all of them. */
const PARALLEL_PER_LISTING = 16;

/** Runs tasks, at most `limit` at a time, and gives their results in order. Rejects as soon as one does; the others run to their end. */
const sideBySide = async <Result>(
  tasks: readonly (() => Promise<Result>)[],
  limit: number,
): Promise<Result[]> => {
  const results = new Array<Result>(tasks.length);
  const rest = tasks.entries();
  const worker = async (): Promise<void> => {
    for (const [index, task] of rest) results[index] = await task();
  };
  await Promise.all(Array.from({ length: Math.min(limit, tasks.length) }, worker));
  return results;
};

/** Shows every entry, making at most the source's quota of new thumbnails: the first ones in the order of the listing. */
const showAll = async (
  view: FolderView,
  source: Source,
  entries: readonly Entry[],
): Promise<readonly View[]> => {
  const views: View[] = [];
  const makings: (() => Promise<void>)[] = [];
  for (let index = 0; index < entries.length; index += 1) {
    if (index % ENTRIES_PER_TURN === ENTRIES_PER_TURN - 1) await nextTurn();
    const found = view.look(index);
    views.push(typeof found === 'function' ? { kind: 'absent' } : found);
    if (typeof found !== 'function' || makings.length >= source.settings.safeThumbsCountInOneTime) continue;
    makings.push(async () => {
      views[index] = await found();
    });
  }
  await sideBySide(makings, PARALLEL_PER_LISTING);
  return views;
};

/** Stores the icons that are needed and returns the names of those that are there. */
const keepIcons = async (view: FolderView, views: readonly View[]): Promise<ReadonlySet<string>> => {
  const icons = new Map<string, Icon>();
  for (const shown of views) if (shown.kind === 'icon') icons.set(shown.icon.name, shown.icon);
  const kept = await sideBySide(
    [...icons.values()].map((icon) => async () => ((await view.keep(icon)) ? [icon.name] : [])),
    PARALLEL_PER_LISTING,
  );
  return new Set(kept.flat());
};

const describeWith = (context: FolderViewContext): Thumbnails['describe'] => {
  const complained = new WeakSet<Source>();
  return async (source, folder, entries, signal) => {
    if (!source.settings.createThumb || entries.length === 0) return entries.map(() => undefined);
    try {
      const view = await openFolderView(context, source, folder, entries, signal);
      const views = await showAll(view, source, entries);
      const kept = await keepIcons(view, views);
      const inside = (name: string): string => `${source.settings.thumbFolderName}/${name}`;
      // One text for the many entries that share an icon.
      const icons = new Map([...kept].map((name) => [name, inside(name)]));
      return entries.map(({ name }, index) => {
        const shown = views[index];
        if (shown?.kind === 'made') return inside(shown.name);
        const icon = shown?.kind === 'icon' ? icons.get(shown.icon.name) : undefined;
        return icon ?? (shown?.kind === 'absent' ? undefined : name);
      });
    } catch (error) {
      signal?.throwIfAborted();
      const level = complained.has(source) ? 'debug' : 'warn';
      complained.add(source);
      context.log[level]('The thumbnails of a folder are not available.', {
        folder: folder.toString(),
        error,
      });
      return entries.map(({ name }) => name);
    }
  };
};

/** The thumbnails of one connector. Holds no threads or handles, and timers only while somebody waits: there is nothing to close. */
export const createThumbnails = (options: ThumbnailsOptions): Thumbnails => {
  const { log, svgGenerator, pool = createImagePool() } = options;
  const cache = createThumbnailCache();
  const maker = createThumbnailMaker(pool, cache, log);
  return {
    describe: describeWith({ cache, maker, log, svgGenerator }),
    ...createFollowers({ maker, log, hasGenerator: svgGenerator !== undefined }),
  };
};
