import { setImmediate as nextTurn } from 'node:timers/promises';
import { BrokenImageError, NotFoundError } from '../errors/errors.ts';
import type { Logger } from '../basics/log/logger.ts';
import type { Source } from '../sources/source.ts';
import type { Entry, StorageAdapter } from '../storage/adapter.ts';
import type { SourcePath } from '../storage/source-path.ts';
import type { Icon } from './icon.ts';
import { isKnownBroken, isMadeOf, versionOf, type ThumbnailCache, type Target } from './thumbnail-cache.ts';
import type { MakingRequest, Outcome, ThumbnailMaker } from './thumbnail-maker.ts';
import { createPlanner, specOf, type Plan, type Planner } from './thumbnail-plan.ts';
import type { SvgGenerator } from './thumbnails.ts';

/** What a thumbnail folder held when it was looked at: the wanted entries by name. */
export type ExistingThumbnails = ReadonlyMap<string, Entry>;

/** An empty file is what a power failure leaves of a thumbnail that was just written. */
const isThumbnail = ({ kind, size }: Entry): boolean => kind === 'file' && size !== 0;

/** Up to here a store that can is asked for single names; beyond it, one listing is the cheaper question. */
const MAX_NAMES = 500;

const fromNames = (entries: readonly (Entry | undefined)[]): ExistingThumbnails =>
  new Map(
    entries.flatMap((entry) => (entry !== undefined && isThumbnail(entry) ? [[entry.name, entry]] : [])),
  );

/**
 * Looks up names in a thumbnail folder with one question to the store: never one per image. A folder that
 * does not exist is empty. Errors are those of the store.
 */
export const readExisting = async (
  storage: StorageAdapter,
  folder: SourcePath,
  names: ReadonlySet<string>,
  signal: AbortSignal | undefined,
): Promise<ExistingThumbnails> => {
  if (names.size === 0) return new Map();
  try {
    if (storage.statMany && names.size <= MAX_NAMES) {
      return fromNames(await storage.statMany(folder, [...names], { signal, mayMiss: true }));
    }
    const existing = new Map<string, Entry>();
    for await (const page of storage.list(folder, { signal, mayJoin: true, mayMiss: true })) {
      for (const entry of page)
        if (isThumbnail(entry) && names.has(entry.name)) existing.set(entry.name, entry);
    }
    return existing;
  } catch (error) {
    if (error instanceof NotFoundError) return new Map();
    throw error;
  }
};

/** What a view of a folder works with. */
export interface FolderViewContext {
  readonly cache: ThumbnailCache;
  readonly maker: ThumbnailMaker;
  readonly log: Logger;
  readonly svgGenerator: SvgGenerator | undefined;
}

/** Entries looked at before other requests get their turn: some milliseconds of work. */
export const ENTRIES_PER_TURN = 2000;

/** How an entry is shown: a name in the folder, a picture or an icon in its thumbnail folder, or not yet. */
export type View =
  | { readonly kind: 'self' }
  | { readonly kind: 'made'; readonly name: string }
  | { readonly kind: 'icon'; readonly icon: Icon; readonly isFailure?: true }
  | { readonly kind: 'absent' };

/** Makes what shows an entry. The signal ends the wait for it, besides that of the request. */
export type Making = (signal?: AbortSignal) => Promise<View>;

/** One look at a folder by one request. */
export interface FolderView {
  /**
   * How the entry of this place in the listing is shown as things stand; a function when something has to be
   * made first.
   */
  look(index: number): View | Making;
  /** Whether a program draws the entry, which takes longer than to scale an image down. */
  isDrawn(index: number): boolean;
  /** The icon of the entry's kind; `absent` when the source has no icons. */
  placeholder(index: number): View;
  /** Makes sure that the icon is stored; false when the store does not take it. */
  keep(icon: Icon): Promise<boolean>;
}

interface FolderContext extends FolderViewContext {
  readonly source: Source;
  readonly storage: StorageAdapter;
  readonly folder: SourcePath;
  readonly thumbs: SourcePath;
  readonly planner: Planner;
  readonly existing: ExistingThumbnails;
  readonly request: MakingRequest;
}

const targetOf = ({ storage, thumbs }: FolderContext, name: string): Target => ({
  storage,
  path: thumbs.child(name),
});

const isFresh = (context: FolderContext, name: string, entry: Entry): boolean => {
  const made = context.existing.get(name);
  return made !== undefined && isMadeOf(context.cache, targetOf(context, name), made, entry);
};

const draw = async (context: FolderContext, generator: SvgGenerator, entry: Entry): Promise<string> => {
  const { svgThumbWidth, svgThumbHeight } = context.source.settings;
  const path = context.folder.child(entry.name).toString();
  const item = {
    path,
    isFile: entry.kind === 'file',
    isDirectory: entry.kind === 'folder',
    size: entry.size,
  };
  try {
    const svg: unknown = await generator(item, svgThumbWidth, svgThumbHeight);
    if (typeof svg === 'string') return svg;
    throw new TypeError('the icon generator did not return a string');
  } catch (error) {
    context.log.warn('The icon generator failed.', { path, error });
    throw new BrokenImageError({ cause: error });
  }
};

const showItem = (context: FolderContext, entry: Entry, name: string): View | (() => Promise<View>) => {
  const fallback: View = { kind: 'icon', icon: context.planner.defaultIcon(entry) };
  // The content of a folder does not show in its icon, so its date, which changes all the time, does not
  // count.
  const item = entry.kind === 'folder' ? { ...entry, modifiedAt: undefined, changedAt: undefined } : entry;
  if (isFresh(context, name, item)) return { kind: 'made', name };
  const { svgGenerator } = context;
  if (svgGenerator === undefined || isKnownBroken(context.cache, targetOf(context, name), item))
    return fallback;
  return async () => {
    const markup = { version: versionOf(item), draw: () => draw(context, svgGenerator, entry) };
    const outcome = await context.maker.content(targetOf(context, name), markup, context.request);
    return outcome === 'made' ? { kind: 'made', name } : fallback;
  };
};

const showIcon = (context: FolderContext, entry: Entry, plan: Plan): View | (() => Promise<View>) => {
  return plan.kind === 'item'
    ? showItem(context, entry, plan.name)
    : plan.kind === 'icon'
      ? plan
      : { kind: 'self' };
};

const settle = async (view: View | (() => Promise<View>)): Promise<View> =>
  typeof view === 'function' ? view() : view;

const showPicture = (
  context: FolderContext,
  entry: Entry,
  { name, format, program }: Extract<Plan, { kind: 'picture' }>,
): View | Making => {
  if (isFresh(context, name, entry)) return { kind: 'made', name };
  if (isKnownBroken(context.cache, targetOf(context, name), entry))
    return showIcon(context, entry, context.planner.planIcon(entry));
  const spec = specOf(context.source.settings, format);
  return async (signal = context.request.signal) => {
    const image = { path: context.folder.child(entry.name), entry, spec, program };
    const request = { ...context.request, signal };
    const outcome: Outcome = await context.maker.picture(targetOf(context, name), image, request);
    if (outcome === 'made') return { kind: 'made', name };
    // A page cannot show a file that a program would draw.
    if (outcome === 'failed' && program === undefined) return { kind: 'self' };
    const icon = await settle(showIcon(context, entry, context.planner.planIcon(entry)));
    return outcome === 'failed' && icon.kind === 'icon' ? { ...icon, isFailure: true } : icon;
  };
};

/** Plans for entries, and the names in the thumbnail folder that could show them. */
interface Wanted {
  readonly plans: readonly Plan[];
  readonly names: ReadonlySet<string>;
}

const planAll = async (
  { planner, isBroken }: { planner: Planner; isBroken: (name: string, entry: Entry) => boolean },
  entries: readonly Entry[],
): Promise<Wanted> => {
  const plans: Plan[] = [];
  const names = new Set<string>();
  const add = (plan: Plan): void => {
    if (plan.kind === 'icon') names.add(plan.icon.name);
    else if (plan.kind !== 'self') names.add(plan.name);
  };
  for (const [index, entry] of entries.entries()) {
    if (index % ENTRIES_PER_TURN === ENTRIES_PER_TURN - 1) await nextTurn();
    const plan = planner.plan(entry);
    plans.push(plan);
    add(plan);
    if (plan.kind !== 'picture') continue;
    // An image that cannot be shown needs an icon: that of its extension is asked for in any case, one of its
    // own only when it will be used.
    if (!planner.hasItemIcons || isBroken(plan.name, entry)) add(planner.planIcon(entry));
  }
  return { plans, names };
};

/**
 * Looks into the thumbnail folder for what these entries need: one question to the store, none when they need
 * nothing. Errors are those of the store.
 */
export const openFolderView = async (
  shared: FolderViewContext,
  source: Source,
  folder: SourcePath,
  entries: readonly Entry[],
  signal: AbortSignal | undefined,
): Promise<FolderView> => {
  const { settings } = source;
  const planner = createPlanner(settings, shared.svgGenerator !== undefined);
  const storage = await source.storage();
  const thumbs = folder.child(settings.thumbFolderName);
  const request: MakingRequest = { since: shared.cache.turn(), signal };
  const isBroken = (name: string, entry: Entry): boolean =>
    isKnownBroken(shared.cache, { storage, path: thumbs.child(name) }, entry);
  const { plans, names } = await planAll({ planner, isBroken }, entries);
  const existing = await readExisting(storage, thumbs, names, signal);
  const context: FolderContext = { ...shared, source, storage, folder, thumbs, planner, existing, request };
  return {
    look: (index) => {
      const [entry, plan] = [entries[index], plans[index]];
      if (entry === undefined || plan === undefined) return { kind: 'absent' };
      return plan.kind === 'picture' ? showPicture(context, entry, plan) : showIcon(context, entry, plan);
    },
    isDrawn: (index) => {
      const plan = plans[index];
      return plan?.kind === 'picture' && plan.program !== undefined;
    },
    placeholder: (index) => {
      const entry = entries[index];
      if (entry === undefined || !settings.generateSvgThumbs) return { kind: 'absent' };
      return { kind: 'icon', icon: planner.defaultIcon(entry) };
    },
    keep: async ({ name, svg }) => {
      if (existing.has(name)) return true;
      const markup = { version: name, draw: () => Promise.resolve(svg) };
      return (await shared.maker.content(targetOf(context, name), markup, request)) === 'made';
    },
  };
};
