import { setImmediate as nextTurn } from 'node:timers/promises';
import { BrokenImageError } from '../errors/errors.ts';
import type { Logger } from '../log/logger.ts';
import type { Source } from '../sources/source.ts';
import type { Entry, StorageAdapter } from '../storage/adapter.ts';
import type { SourcePath } from '../storage/source-path.ts';
import type { Icon } from './icon.ts';
import type { SvgGenerator } from './svg-generator.ts';
import { versionOf, type Ledger, type Target } from './thumbnail-ledger.ts';
import type { Customer, Outcome, ThumbnailMaker } from './thumbnail-maker.ts';
import { createPlanner, type Plan, type Planner } from './thumbnail-plan.ts';
import { readShelf, type Shelf } from './thumbnail-shelf.ts';

/** What a view of a folder works with. */
export interface FolderViewContext {
  readonly ledger: Ledger;
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
  | { readonly kind: 'icon'; readonly icon: Icon }
  | { readonly kind: 'absent' };

/** One look at a folder by one request. */
export interface FolderView {
  /** How the entry of this place in the listing is shown as things stand; a function when something has to be made first. */
  look(index: number): View | (() => Promise<View>);
  /** Makes sure that the icon is stored; false when the store does not take it. */
  keep(icon: Icon): Promise<boolean>;
}

interface Scene extends FolderViewContext {
  readonly source: Source;
  readonly storage: StorageAdapter;
  readonly folder: SourcePath;
  readonly thumbs: SourcePath;
  readonly planner: Planner;
  readonly shelf: Shelf;
  readonly customer: Customer;
}

const targetOf = ({ storage, thumbs }: Scene, name: string): Target => ({
  storage,
  path: thumbs.child(name),
});

/** A thumbnail older than its item is stale, unless it is the one that was made of this very item: some dates lie in the future. */
const isFresh = (scene: Scene, name: string, entry: Entry): boolean => {
  const made = scene.shelf.get(name);
  if (made === undefined) return false;
  if (made.modifiedAt === undefined || entry.modifiedAt === undefined) return true;
  if (made.modifiedAt >= entry.modifiedAt) return true;
  const row = scene.ledger.find(targetOf(scene, name));
  return row?.outcome === 'made' && row.version === versionOf(entry) && row.modifiedAt === made.modifiedAt;
};

const isKnownBroken = (ledger: Ledger, target: Target, entry: Entry): boolean => {
  const row = ledger.find(target);
  return row?.outcome === 'broken' && row.version === versionOf(entry);
};

const draw = async (scene: Scene, generator: SvgGenerator, entry: Entry): Promise<string> => {
  const { svgThumbWidth, svgThumbHeight } = scene.source.settings;
  const path = scene.folder.child(entry.name).toString();
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
    scene.log.warn('The icon generator failed.', { path, error });
    throw new BrokenImageError({ cause: error });
  }
};

const lookAtItem = (scene: Scene, entry: Entry, name: string): View | (() => Promise<View>) => {
  const fallback: View = { kind: 'icon', icon: scene.planner.defaultIcon(entry) };
  // What is inside a folder does not show in its icon, so its date, which changes all the time, does not count.
  const item = entry.kind === 'folder' ? { ...entry, modifiedAt: undefined } : entry;
  if (isFresh(scene, name, item)) return { kind: 'made', name };
  const { svgGenerator } = scene;
  if (svgGenerator === undefined || isKnownBroken(scene.ledger, targetOf(scene, name), item)) return fallback;
  return async () => {
    const markup = { version: versionOf(item), draw: () => draw(scene, svgGenerator, entry) };
    const outcome = await scene.maker.markup(targetOf(scene, name), markup, scene.customer);
    return outcome === 'made' ? { kind: 'made', name } : fallback;
  };
};

const lookAtIcon = (scene: Scene, entry: Entry, plan: Plan): View | (() => Promise<View>) => {
  return plan.kind === 'item'
    ? lookAtItem(scene, entry, plan.name)
    : plan.kind === 'icon'
      ? plan
      : { kind: 'self' };
};

const settle = async (view: View | (() => Promise<View>)): Promise<View> =>
  typeof view === 'function' ? view() : view;

const lookAtPicture = (
  scene: Scene,
  entry: Entry,
  { name, format }: Extract<Plan, { kind: 'picture' }>,
): View | (() => Promise<View>) => {
  if (isFresh(scene, name, entry)) return { kind: 'made', name };
  if (isKnownBroken(scene.ledger, targetOf(scene, name), entry))
    return lookAtIcon(scene, entry, scene.planner.planIcon(entry));
  const { thumbSize, quality } = scene.source.settings;
  const spec = { size: thumbSize, quality, format };
  return async () => {
    const image = { path: scene.folder.child(entry.name), entry, spec };
    const outcome: Outcome = await scene.maker.picture(targetOf(scene, name), image, scene.customer);
    if (outcome === 'made') return { kind: 'made', name };
    return outcome === 'broken'
      ? settle(lookAtIcon(scene, entry, scene.planner.planIcon(entry)))
      : { kind: 'self' };
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
    // An image that cannot be shown needs an icon: that of its extension is asked for in any case, one of its own only when it will be used.
    if (!planner.hasItemIcons || isBroken(plan.name, entry)) add(planner.planIcon(entry));
  }
  return { plans, names };
};

/**
 * Looks into the thumbnail folder for what these entries need: one question to the store, none when they need nothing.
 * Errors are those of the store.
 */
export const openFolderView = async (
  context: FolderViewContext,
  source: Source,
  folder: SourcePath,
  entries: readonly Entry[],
  signal: AbortSignal | undefined,
): Promise<FolderView> => {
  const { settings } = source;
  const planner = createPlanner(settings, context.svgGenerator !== undefined);
  const storage = await source.storage();
  const thumbs = folder.child(settings.thumbFolderName);
  const customer: Customer = { since: context.ledger.turn(), signal };
  const isBroken = (name: string, entry: Entry): boolean =>
    isKnownBroken(context.ledger, { storage, path: thumbs.child(name) }, entry);
  const { plans, names } = await planAll({ planner, isBroken }, entries);
  const shelf = await readShelf(storage, thumbs, names, signal);
  const scene: Scene = { ...context, source, storage, folder, thumbs, planner, shelf, customer };
  return {
    look: (index) => {
      const [entry, plan] = [entries[index], plans[index]];
      if (entry === undefined || plan === undefined) return { kind: 'absent' };
      return plan.kind === 'picture' ? lookAtPicture(scene, entry, plan) : lookAtIcon(scene, entry, plan);
    },
    keep: async ({ name, svg }) => {
      if (shelf.has(name)) return true;
      const markup = { version: name, draw: () => Promise.resolve(svg) };
      return (await context.maker.markup(targetOf(scene, name), markup, customer)) === 'made';
    },
  };
};
