import { setImmediate as nextTurn } from 'node:timers/promises';
import { TimeLimit } from '../basics/concurrency/time-limit.ts';
import type { Settings } from '../config/settings.ts';
import type { Logger } from '../basics/log/logger.ts';
import type { Source } from '../sources/source.ts';
import type { Entry } from '../storage/adapter.ts';
import {
  ENTRIES_PER_TURN,
  openFolderView,
  type FolderView,
  type FolderViewContext,
  type View,
} from './folder-view.ts';
import { iconNamed, type Icon } from './icon.ts';
import { createImagePool, type ImagePool } from './image-pool.ts';
import { createFollowers } from './thumbnail-followers.ts';
import { createBacklog, type Backlog } from './thumbnail-backlog.ts';
import { createThumbnailCache } from './thumbnail-cache.ts';
import { createPreviews } from './previews/create-previews.ts';
import { createThumbnailMaker } from './thumbnail-maker.ts';
import { createPlanner } from './thumbnail-plan.ts';
import type { SourcePath } from '../storage/source-path.ts';
import type { SvgGenerator, Thumbnails } from './thumbnails.ts';
import { createUploadedThumbnails } from './uploaded-thumbnails.ts';
import { createVariants } from './variants.ts';

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

/** Entries of a listing that are made after it: the next listing goes on from there. */
const MAX_LEFT = 5000;

/**
 * Runs tasks, at most `limit` at a time, and gives their results in order. Rejects as soon as one does; the
 * others run to their end.
 */
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

/** How the entries are shown, and those that the quota has left out. */
interface Views {
  readonly views: readonly View[];
  readonly left: readonly Entry[];
}

/** How long a listing waits for programs that draw; then it shows icons, and they draw after it. */
const DRAWING_PATIENCE_MS = 2000;
/** How long programs draw after one listing; the next one goes on from there. */
const DRAWING_REST_MS = 120_000;

/**
 * Shows every entry, making at most the source's quota of new thumbnails: the first ones in the order of the
 * listing.
 */
const showAll = async (
  view: FolderView,
  { settings }: Source,
  entries: readonly Entry[],
  signal?: AbortSignal,
): Promise<Views> => {
  let patience: TimeLimit | undefined;
  const untilImpatient = (): AbortSignal => {
    patience ??= new TimeLimit(DRAWING_PATIENCE_MS, signal);
    return patience.signal;
  };
  const views: View[] = [];
  const left: Entry[] = [];
  const makings: (() => Promise<void>)[] = [];
  for (let index = 0; index < entries.length; index += 1) {
    if (index % ENTRIES_PER_TURN === ENTRIES_PER_TURN - 1) await nextTurn();
    const found = view.look(index);
    if (typeof found !== 'function') {
      views.push(found);
      continue;
    }
    const isDrawn = view.isDrawn(index);
    views.push(isDrawn || settings.thumbPlaceholder ? view.placeholder(index) : { kind: 'absent' });
    const leave = (): void => {
      const entry = entries[index];
      if (entry !== undefined && left.length < MAX_LEFT) left.push(entry);
    };
    if (makings.length >= settings.safeThumbsCountInOneTime) {
      leave();
      continue;
    }
    makings.push(async () => {
      try {
        views[index] = await found(isDrawn ? untilImpatient() : signal);
      } catch (error) {
        if (!isDrawn || patience?.isOver !== true || signal?.aborted === true) throw error;
        leave();
      }
    });
  }
  try {
    await sideBySide(makings, PARALLEL_PER_LISTING);
  } finally {
    patience?.dispose();
  }
  return { views, left };
};

/** Makes what a listing has left out, one thumbnail after the other. */
const makeRest =
  (context: FolderViewContext, source: Source, folder: SourcePath, entries: readonly Entry[]) =>
  async (signal: AbortSignal): Promise<void> => {
    const view = await openFolderView(context, source, folder, entries, signal);
    let drawingMs = 0;
    for (let index = 0; index < entries.length; index += 1) {
      const found = view.look(index);
      const isDrawn = view.isDrawn(index);
      if (typeof found !== 'function' || (isDrawn && drawingMs > DRAWING_REST_MS)) continue;
      const start = performance.now();
      await found();
      if (isDrawn) drawingMs += performance.now() - start;
      signal.throwIfAborted();
    }
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

/** The paths under which `show` makes what stands for the entries. */
const namesOnDemand = (
  { settings }: Source,
  entries: readonly Entry[],
  hasGenerator: boolean,
  mayShow: (entry: Entry) => boolean = () => true,
): readonly string[] => {
  const planner = createPlanner(settings, hasGenerator);
  const inside = (name: string): string => `${settings.thumbFolderName}/${name}`;
  return entries.map((entry) => {
    if (entry.kind === 'file' && !mayShow(entry)) return inside(planner.defaultIcon(entry).name);
    const plan = planner.plan(entry);
    if (plan.kind === 'self') return entry.name;
    // Percent escapes: browsers put the name into the URL as it is.
    return inside(plan.kind === 'icon' ? plan.icon.name : encodeURIComponent(entry.name));
  });
};

const showWith =
  (context: FolderViewContext): Thumbnails['show'] =>
  async (source, folder, entry, signal) => {
    const view = await openFolderView(context, source, folder, [entry], signal);
    const found = view.look(0);
    const shown = typeof found === 'function' ? await found() : found;
    if (shown.kind === 'icon') return { kind: 'icon', svg: shown.icon.svg };
    if (shown.kind !== 'made') return { kind: 'self' };
    return { kind: 'stored', path: folder.child(source.settings.thumbFolderName).child(shown.name) };
  };

const makeAllWith =
  (context: FolderViewContext): Thumbnails['makeAll'] =>
  async (source, folder, pictures, signal, onEnd) => {
    const view = await openFolderView(context, source, folder, pictures, signal);
    let failure: Error | undefined;
    const make = async (picture: Entry, index: number): Promise<void> => {
      const found = view.look(index);
      if (typeof found !== 'function') return onEnd(picture, 'current');
      signal.throwIfAborted();
      const made = await found();
      const isBroken = made.kind === 'icon' && made.isFailure !== true;
      onEnd(picture, made.kind === 'made' ? 'made' : isBroken ? 'broken' : 'failed');
    };
    // Waits for all of them: what ends before the others have would leave them behind.
    const makings = pictures.map((picture, index) => async () => {
      await make(picture, index).catch((error: Error) => (failure ??= error));
    });
    await sideBySide(makings, PARALLEL_PER_LISTING);
    if (failure !== undefined) throw failure;
  };

const describeWith = (context: FolderViewContext, backlog: Backlog): Thumbnails['describe'] => {
  const complained = new WeakSet<Settings>();
  return async (source, folder, entries, { signal, hold, mayShow }) => {
    if (!source.settings.createThumb || entries.length === 0) return entries.map(() => undefined);
    if (source.settings.serve !== 'off')
      return namesOnDemand(source, entries, context.svgGenerator !== undefined, mayShow);
    try {
      const view = await openFolderView(context, source, folder, entries, signal);
      const { views, left } = await showAll(view, source, entries, signal);
      if (left.length > 0 && hold !== undefined) {
        const key = context.cache.keyOf({ storage: await source.storage(), path: folder });
        backlog.add(key, makeRest(context, source, folder, left), hold());
      }
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
      const level = complained.has(source.settings) ? 'debug' : 'warn';
      complained.add(source.settings);
      context.log[level]('The thumbnails of a folder are not available.', {
        folder: folder.toString(),
        error,
      });
      return entries.map(({ name }) => name);
    }
  };
};

/** The thumbnails of one connector. */
export const createThumbnails = (options: ThumbnailsOptions): Thumbnails => {
  const { log, svgGenerator, pool = createImagePool() } = options;
  const cache = createThumbnailCache();
  const maker = createThumbnailMaker({ pool, previews: createPreviews(log), cache, log });
  const followers = createFollowers({ maker, cache, log, hasGenerator: svgGenerator !== undefined });
  const backlog = createBacklog();
  const context: FolderViewContext = { cache, maker, log, svgGenerator };
  return {
    describe: describeWith(context, backlog),
    show: showWith(context),
    makeAll: makeAllWith(context),
    iconNamed: ({ settings: { svgThumbWidth: width, svgThumbHeight: height } }, name) =>
      iconNamed(name, { width, height }),
    ...createVariants({ cache, maker }),
    close: () => backlog.close(),
    ...followers,
    ...createUploadedThumbnails({ pool, cache, maker, changed: followers.changed }),
  };
};
