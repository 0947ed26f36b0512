import { setImmediate as yieldToLoop } from 'node:timers/promises';
import { TimeLimit, withOwnSignal } from '../../basics/concurrency/abort.ts';
import { forEachAtOnce } from '../../basics/concurrency/queues.ts';
import type { Settings } from '../../config/settings.ts';
import { derivedStoreOf, type Source } from '../../sources/source.ts';
import type { Entry } from '../../storage/entry.ts';
import type { SourcePath } from '../../storage/source-path.ts';
import type { Icon } from './icon.ts';
import { openKeptFolder } from './kept-pictures.ts';
import { createPlanner, thumbnailOf } from './plan.ts';
import {
  ABSENT,
  ENTRIES_PER_SLICE,
  openThumbnailView,
  type ThumbnailView,
  type View,
  type ViewContext,
} from './thumbnail-view.ts';
import type { ThumbnailPaths, Thumbnails } from './thumbnails.ts';

/** Maximum number of waiting pieces; each is a folder. */
const MAX_WAITING = 100;
/** A client that lists a folder usually continues with the next page, or loads its pictures. */
const QUIET_MS = 2000;

interface Piece {
  readonly work: (signal: AbortSignal) => Promise<void>;
  readonly release: () => void;
}

/** Creates a backlog of background work: one piece at a time, each key once. No timer holds the process. */
export const createBacklog = () => {
  const waiting = new Map<string, Piece>();
  const closing = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> | undefined;

  const runAll = async (): Promise<void> => {
    for (const [key, { work, release }] of waiting) {
      try {
        await withOwnSignal(closing.signal, work);
      } catch {
        // The work reports its own failures; it rejects only when aborted.
      } finally {
        waiting.delete(key);
        release();
      }
      if (closing.signal.aborted) return;
    }
    running = undefined;
  };

  return {
    /**
     * Queues a piece of work, which starts after a short time without new pieces, so that requests have
     * priority. `release` is called when it has ended, or immediately when it is not queued: because the key
     * is already waiting, or too much is.
     */
    add: (key: string, work: Piece['work'], release: Piece['release']): void => {
      if (closing.signal.aborted || waiting.has(key) || waiting.size >= MAX_WAITING) return release();
      waiting.set(key, { work, release });
      clearTimeout(timer);
      timer = setTimeout(() => {
        running ??= runAll();
      }, QUIET_MS).unref();
    },
    /** Drops waiting work, aborts the running piece, and resolves when it has ended. */
    close: async (): Promise<void> => {
      clearTimeout(timer);
      closing.abort();
      await running;
      for (const { release } of waiting.values()) release();
      waiting.clear();
    },
  };
};

/** Limit of one listing; concurrent decoding is limited across all listings. */
const PARALLEL_PER_LISTING = 16;
/** Maximum number of entries that are drawn after a listing; the next listing continues from there. */
const MAX_LEFT = 5000;
/** Time that a listing waits for drawing programs; they continue in the background, with icons shown. */
const DRAWING_PATIENCE_MS = 2000;
/** Time that programs draw after one listing; the next one continues from there. */
const DRAWING_REST_MS = 120_000;

/** Shows every entry, and makes at most the source's quota of missing thumbnails, for the first ones. */
const showAll = async (view: ThumbnailView, settings: Settings, signal?: AbortSignal) => {
  let patience: TimeLimit | undefined;
  const untilImpatient = (): AbortSignal => {
    patience ??= new TimeLimit(DRAWING_PATIENCE_MS, signal);
    return patience.signal;
  };
  // Allocated once: each growth of an array of a million leaves a copy for the garbage collector.
  const views = new Array<View>(view.entries.length);
  const left: Entry[] = [];
  const makings: (() => Promise<void>)[] = [];
  for (let index = 0; index < view.entries.length; index += 1) {
    if (index % ENTRIES_PER_SLICE === ENTRIES_PER_SLICE - 1) await yieldToLoop();
    const found = view.viewOf(index);
    if (typeof found !== 'function') {
      views[index] = found;
      continue;
    }
    const isDrawn = view.isDrawn(index);
    views[index] = isDrawn || settings.thumbPlaceholder ? view.placeholder(index) : ABSENT;
    const leave = (): void => {
      const entry = left.length < MAX_LEFT ? view.entries.at(index) : undefined;
      if (entry !== undefined) left.push(entry);
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
    await forEachAtOnce(PARALLEL_PER_LISTING, makings, (make) => make());
  } finally {
    patience?.dispose();
  }
  return { views, left };
};

const makeRest =
  (context: ViewContext, source: Source, folder: SourcePath, left: readonly Entry[]) =>
  async (signal: AbortSignal): Promise<void> => {
    const view = await openThumbnailView(context, source, folder, left, signal);
    let drawingMs = 0;
    for (const index of left.keys()) {
      const found = view.viewOf(index);
      const isDrawn = view.isDrawn(index);
      if (typeof found !== 'function' || (isDrawn && drawingMs > DRAWING_REST_MS)) continue;
      const start = performance.now();
      await found();
      if (isDrawn) drawingMs += performance.now() - start;
      signal.throwIfAborted();
    }
  };

const keepIcons = async (view: ThumbnailView, views: readonly View[]): Promise<ReadonlySet<string>> => {
  const icons = new Map<string, Icon>();
  for (const shown of views) if (shown.kind === 'icon') icons.set(shown.icon.name, shown.icon);
  const kept = new Set<string>();
  await forEachAtOnce(PARALLEL_PER_LISTING, icons.values(), async (icon) => {
    if (await view.keep(icon)) kept.add(icon.name);
  });
  return kept;
};

/** The paths under which `show` creates the thumbnails of the entries. */
const namesOnDemand = (
  { settings }: Source,
  hasGenerator: boolean,
  mayShow: (entry: Entry) => boolean = () => true,
): ThumbnailPaths => {
  const planner = createPlanner(settings, hasGenerator);
  const inside = (name: string): string => `${settings.thumbFolderName}/${name}`;
  return (entry) => {
    if (entry.kind === 'file' && !mayShow(entry)) return inside(planner.defaultIcon(entry).name);
    const plan = planner.plan(entry);
    if (plan.kind === 'self') return entry.name;
    // Percent-encoded: browsers put the name into the URL unchanged.
    return inside(plan.kind === 'icon' ? plan.icon.name : encodeURIComponent(entry.name));
  };
};

/** @see Thumbnails.describe */
export const describeWith = (
  context: ViewContext,
  backlog: ReturnType<typeof createBacklog>,
): Thumbnails['describe'] => {
  const complained = new WeakSet<Settings>();
  return async (source, folder, entries, { signal, hold, mayShow }) => {
    const { settings } = source;
    if (!settings.createThumb || entries.length === 0) return () => undefined;
    if (settings.serve !== 'off') return namesOnDemand(source, context.svgGenerator !== undefined, mayShow);
    try {
      const view = await openThumbnailView(context, source, folder, entries, signal);
      const { views, left } = await showAll(view, settings, signal);
      if (left.length > 0 && hold !== undefined) {
        const key = context.memory.keyOf({ store: await derivedStoreOf(source), path: folder });
        backlog.add(key, makeRest(context, source, folder, left), hold());
      }
      const kept = await keepIcons(view, views);
      const inside = (name: string): string => `${settings.thumbFolderName}/${name}`;
      // The string is shared by all entries with the same icon.
      const icons = new Map([...kept].map((name) => [name, inside(name)]));
      return (entry, index) => {
        const shown = views[index] ?? ABSENT;
        if (shown.kind === 'made') return inside(shown.name);
        const icon = shown.kind === 'icon' ? icons.get(shown.icon.name) : undefined;
        return icon ?? (shown.kind === 'absent' ? undefined : entry.name);
      };
    } catch (error) {
      signal?.throwIfAborted();
      const level = complained.has(settings) ? 'debug' : 'warn';
      complained.add(settings);
      const details = { folder: folder.toString(), error };
      context.log[level]('The thumbnails of a folder are not available.', details);
      return ({ name }) => name;
    }
  };
};

/** @see Thumbnails.makeAll */
export const makeAllWith =
  (context: ViewContext): Thumbnails['makeAll'] =>
  async (source, folder, entries, signal, onEnd) => {
    const planner = createPlanner(source.settings, false);
    const wanted = entries.map((entry) => ({ entry, plan: planner.plan(entry) }));
    const names = new Set(wanted.flatMap(({ plan }) => (plan.kind === 'picture' ? [plan.name] : [])));
    const kept = await openKeptFolder(context, source, { folder, names }, signal);
    await forEachAtOnce(PARALLEL_PER_LISTING, wanted, async ({ entry, plan }) => {
      if (plan.kind !== 'picture') return onEnd(entry, 'current');
      signal.throwIfAborted();
      const outcome = await kept.ensure(thumbnailOf(source.settings, entry, plan));
      onEnd(entry, typeof outcome === 'string' ? outcome : 'failed');
    });
  };
