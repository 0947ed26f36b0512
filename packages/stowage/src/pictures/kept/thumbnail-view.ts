import { setImmediate as yieldToLoop } from 'node:timers/promises';
import { BrokenImageError } from '../../errors/errors.ts';
import { derivedStoreOf, type Source } from '../../sources/source.ts';
import type { Entries, Entry } from '../../storage/entry.ts';
import type { Names } from '../../storage/records.ts';
import type { SourcePath } from '../../storage/source-path.ts';
import type { Icon } from './icon.ts';
import { type KeptContext, type KeptFolder, openKeptFolder } from './kept-pictures.ts';
import { createPlanner, hasVariants, type Plan, type Planner, thumbnailOf, variantOf } from './plan.ts';
import type { SvgGenerator, Thumbnails, Variants } from './thumbnails.ts';

export interface ViewContext extends KeptContext {
  readonly svgGenerator: SvgGenerator | undefined;
}

/** Entries that are processed before yielding to the event loop: some milliseconds of work. */
export const ENTRIES_PER_SLICE = 2000;

/** How an entry is shown: by itself, by a picture or icon in its thumbnail folder, or not yet. */
export type View =
  | { readonly kind: 'self'; readonly failure?: unknown }
  | { readonly kind: 'made'; readonly name: string }
  | { readonly kind: 'icon'; readonly icon: Icon; readonly failure?: unknown }
  | { readonly kind: 'absent' };

/** Shared by the many entries without a thumbnail. */
export const ABSENT: View = { kind: 'absent' };

/** Makes the picture of an entry. The signal ends the wait for it, as does that of the request. */
export type Making = (signal?: AbortSignal) => Promise<View>;

const settle = async (view: View | Making): Promise<View> => (typeof view === 'function' ? view() : view);

interface Seen extends ViewContext {
  readonly source: Source;
  readonly folder: SourcePath;
  readonly planner: Planner;
  /** Indexed like the entries. Absent for pictures of a long list: planning them again takes less memory. */
  readonly plans: readonly (Plan | undefined)[];
  readonly kept: KeptFolder;
}

/** Thumbnails and icons of the entries of a folder, as read by one request. */
export class ThumbnailView {
  readonly entries: Entries;
  readonly #seen: Seen;

  /** @see openThumbnailView */
  constructor(entries: Entries, seen: Seen) {
    this.entries = entries;
    this.#seen = seen;
  }

  /** How an entry is shown with the existing files; a function when something has to be made first. */
  viewOf(index: number): View | Making {
    const known = this.#seen.plans[index];
    // Avoids creating the entry in a very long list.
    if (known?.kind === 'icon' || known?.kind === 'self') return known;
    const entry = this.entries.at(index);
    if (entry === undefined) return ABSENT;
    const plan = known ?? this.#seen.planner.plan(entry);
    if (plan.kind === 'self') return plan;
    return plan.kind === 'picture' ? this.#picture(entry, plan) : this.#icon(entry, plan);
  }

  /** Whether a program draws the entry, which takes longer than scaling an image. */
  isDrawn(index: number): boolean {
    const plan = this.#seen.plans[index];
    return plan?.kind === 'picture' && plan.program !== undefined;
  }

  /** The icon of the entry's kind; `absent` when the source has no icons. */
  placeholder(index: number): View {
    const { source, planner } = this.#seen;
    const entry = this.entries.at(index);
    if (entry === undefined || !source.settings.generateSvgThumbs) return ABSENT;
    return { kind: 'icon', icon: planner.defaultIcon(entry) };
  }

  /** Stores the icon unless it exists; false when the store rejects it. */
  async keep({ name, svg }: Icon): Promise<boolean> {
    const { kept } = this.#seen;
    const item = { name, kind: 'file', size: undefined, modifiedAt: undefined } as const;
    return kept.has(name) || (await kept.put(name, item, async () => svg)) === 'made';
  }

  #picture(entry: Entry, plan: Extract<Plan, { kind: 'picture' }>): View | Making {
    const { kept, planner, source } = this.#seen;
    const { name, program } = plan;
    if (kept.isFresh(name, entry)) return { kind: 'made', name };
    const instead = (): View | Making => this.#icon(entry, planner.planIcon(entry));
    if (kept.isBroken(name, entry)) return instead();
    const picture = thumbnailOf(source.settings, entry, plan);
    return async (signal) => {
      const outcome = await kept.ensure(picture, signal);
      if (outcome === 'made' || outcome === 'current') return { kind: 'made', name };
      // A page cannot show a file that a program would draw.
      if (outcome !== 'broken' && program === undefined) return { kind: 'self', ...outcome };
      const icon = await settle(instead());
      return outcome !== 'broken' && icon.kind === 'icon' ? { ...icon, ...outcome } : icon;
    };
  }

  #icon(entry: Entry, plan: Plan): View | Making {
    if (plan.kind === 'item') return this.#itemIcon(entry, plan.name);
    return plan.kind === 'icon' ? plan : { kind: 'self' };
  }

  #itemIcon(entry: Entry, name: string): View | Making {
    const { kept, planner, svgGenerator } = this.#seen;
    const fallback: View = { kind: 'icon', icon: planner.defaultIcon(entry) };
    // The icon of a folder does not depend on its content, so its frequently changing date is ignored.
    const item = entry.kind === 'folder' ? { ...entry, modifiedAt: undefined, changedAt: undefined } : entry;
    if (kept.isFresh(name, item)) return { kind: 'made', name };
    if (svgGenerator === undefined || kept.isBroken(name, item)) return fallback;
    return async () => {
      const outcome = await kept.put(name, item, () => this.#generate(svgGenerator, entry));
      return outcome === 'made' ? { kind: 'made', name } : fallback;
    };
  }

  async #generate(generator: SvgGenerator, { name, kind, size }: Entry): Promise<string> {
    const { source, folder, log } = this.#seen;
    const { svgThumbWidth, svgThumbHeight } = source.settings;
    const path = folder.child(name).toString();
    const item = { path, isFile: kind === 'file', isDirectory: kind === 'folder', size };
    try {
      const svg: unknown = await generator(item, svgThumbWidth, svgThumbHeight);
      if (typeof svg === 'string') return svg;
      throw new TypeError('the icon generator did not return a string');
    } catch (error) {
      log.warn('The icon generator failed.', { path, error });
      throw new BrokenImageError({ cause: error });
    }
  }
}

/** Length from which the memory for each entry of a list matters. */
const LONG = 20_000;

/** Plans how entries are shown, and collects the names in the thumbnail folder that could show them. */
const planAll = async (
  planner: Planner,
  entries: Entries,
  isBroken: (name: string, entry: Entry) => boolean,
): Promise<Pick<Seen, 'plans'> & { readonly names: Names }> => {
  const plans = new Array<Plan | undefined>(entries.length);
  const names = new Set<string>();
  const add = (plan: Plan): void => {
    if (names.size > LONG) return;
    if (plan.kind === 'icon') names.add(plan.icon.name);
    else if (plan.kind !== 'self') names.add(plan.name);
  };
  let index = -1;
  for (const entry of entries) {
    index += 1;
    if (index % ENTRIES_PER_SLICE === ENTRIES_PER_SLICE - 1) await yieldToLoop();
    const plan = planner.plan(entry);
    add(plan);
    const isPicture = plan.kind === 'picture';
    if (!isPicture || plan.program !== undefined || entries.length <= LONG) plans[index] = plan;
    // An undrawable image needs an icon: that of its extension is always looked up, its own only when it will
    // be used.
    if (isPicture && (!planner.hasItemIcons || isBroken(plan.name, entry))) add(planner.planIcon(entry));
  }
  return { plans, names: names.size > LONG ? 'all' : names };
};

/** Reads the thumbnail folder for these entries, with one request; none when they need nothing. */
export const openThumbnailView = async (
  context: ViewContext,
  source: Source,
  folder: SourcePath,
  entries: Entries,
  signal: AbortSignal | undefined,
): Promise<ThumbnailView> => {
  const planner = createPlanner(source.settings, context.svgGenerator !== undefined);
  const store = await derivedStoreOf(source);
  const thumbs = folder.child(source.settings.thumbFolderName);
  const { plans, names } = await planAll(planner, entries, (name, entry) =>
    context.memory.isBroken({ store, path: thumbs.child(name) }, entry),
  );
  const kept = await openKeptFolder(context, source, { folder, names }, signal);
  return new ThumbnailView(entries, { ...context, source, folder, planner, plans, kept });
};

const MOST_NAME_BYTES = 255;

/** @see Thumbnails.variants */
export const variantsWith =
  (context: KeptContext): Thumbnails['variants'] =>
  async (source, folder, entries, signal) => {
    const { settings } = source;
    const found = new Map<Entry, Variants>();
    const images = entries.filter((entry) => hasVariants(settings, entry));
    let quota = settings.safeThumbsCountInOneTime;
    for (const [preset, form] of Object.entries(settings.imagePresets)) {
      const bytes = Buffer.byteLength(`/${settings.thumbFolderName}/${preset}/`) + MOST_NAME_BYTES;
      // No request could name the variants of a deeper folder.
      if (!folder.hasRoomFor({ segments: 3, bytes })) continue;
      const add = (entry: Entry, name: string): void => {
        const path = `${settings.thumbFolderName}/${preset}/${name}`;
        found.set(entry, { ...found.get(entry), [preset]: path });
      };
      if (settings.serve !== 'off') {
        // Percent-encoded: browsers put the name into the URL unchanged.
        for (const entry of images) add(entry, encodeURIComponent(entry.name));
        continue;
      }
      const variants = images.map((entry) => variantOf(settings, form, entry));
      const names = new Set(variants.map(({ name }) => name));
      const kept = await openKeptFolder(context, source, { folder, preset, names }, signal);
      const present = variants.map(async (variant) => {
        const { name, entry } = variant;
        if (kept.isFresh(name, entry)) return variant;
        // Undrawable pictures must not use up the quota.
        if (quota <= 0 || kept.isBroken(name, entry)) return undefined;
        quota -= 1;
        return (await kept.ensure(variant)) === 'made' ? variant : undefined;
      });
      for (const variant of await Promise.all(present)) if (variant) add(variant.entry, variant.name);
    }
    return entries.map((entry) => found.get(entry));
  };
