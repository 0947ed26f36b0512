import { setMaxListeners } from 'node:events';
import { createSlots, type Slots } from '../../basics/concurrency/queues.ts';
import { extensionOf } from '../../basics/content/file-type.ts';
import type { Settings } from '../../config/settings.ts';
import { NotFoundError, WrongKindError } from '../../errors/errors.ts';
import type { Entry } from '../../storage/entry.ts';
import { missing } from '../../view/folder-view.ts';
import type { FoundEntry, SourceView } from '../../view/source-view.ts';
import type { ActionContext, ActionServices } from '../action.ts';
import { detailsOf, type ListingItem, listingItems } from '../listing/item.ts';
import { isOfStore } from '../listing/each-source.ts';
import { lacksVersion } from '../listing/page.ts';
import type { SearchParameters } from './parameters.ts';
import { type Group, groupsOf, matching, walkedFor } from './search-about.ts';

const SEARCHES_AT_ONCE = 8;
const SEARCHES_MAY_WAIT = 4000;
/** A store that hangs, or has many searches, must not block searches of other sources. */
const SHARE = { slots: SEARCHES_AT_ONCE - 2, waiting: SEARCHES_MAY_WAIT / 4 };

/** Slots of searches, shared by sources rather than by clients: a search's own limits bound its cost. */
export const createSearchSlots = (): Slots => createSlots(SEARCHES_AT_ONCE, SEARCHES_MAY_WAIT, SHARE);

export const SEARCH_KEY = 'FILES_SEARCH';

/** Time and entries that one request has spent on walking. */
export class SearchBudget {
  readonly #begun = performance.now();
  #entries = 0;

  spend(entries: number): void {
    this.#entries += entries;
  }

  /** Milliseconds that the walk of a source may still take; negative when the time is over. */
  timeLeft({ searchLimits }: Settings): number {
    return this.#begun + searchLimits.seconds * 1000 - performance.now();
  }

  /** Whether the time is over at a position from which the search can continue. */
  isOverAt(settings: Settings, position: string | undefined): position is string {
    return position !== undefined && this.timeLeft(settings) <= 0;
  }

  isSpent(settings: Settings): boolean {
    return this.#entries >= settings.searchLimits.entries || this.timeLeft(settings) <= 0;
  }
}

export interface SourceFindings {
  readonly found: readonly FoundEntry[];
  /** Where the search continues; undefined when all of the source has been searched. */
  readonly position: string | undefined;
  /** Folders that the store does not let the service read. */
  readonly unreadable: number;
}

type Test = (entry: Entry) => boolean;

const typeTest = ({ imageExtensions }: Settings, type: SearchParameters['type']): Test => {
  if (type === undefined) return () => true;
  if (type === 'folder') return ({ kind }) => kind === 'folder';
  const images = new Set(imageExtensions);
  return ({ name, kind }) => kind === 'file' && images.has(extensionOf(name) ?? '') === (type === 'image');
};

/** A value that the store does not report matches no bounds. */
const factsTest = ({ modifiedAfter, modifiedBefore, minBytes, maxBytes }: SearchParameters): Test => {
  const isWithin = (value: number | undefined, has: (known: number) => boolean): boolean =>
    value !== undefined && has(value);
  return ({ size, modifiedAt }) =>
    (modifiedAfter === undefined || isWithin(modifiedAt, (time) => time >= modifiedAfter)) &&
    (modifiedBefore === undefined || isWithin(modifiedAt, (time) => time < modifiedBefore)) &&
    (minBytes === undefined || isWithin(size, (bytes) => bytes >= minBytes)) &&
    (maxBytes === undefined || isWithin(size, (bytes) => bytes <= maxBytes));
};

export interface SourceSearch {
  readonly search: SearchParameters;
  readonly after: string | undefined;
  /** Maximum number of results; at least one. */
  readonly room: number;
  readonly budget: SearchBudget;
  readonly signal: AbortSignal;
}

/** Whether a failure, after some progress, ends the search with the results so far; else it is thrown. */
const requireEnd = (error: unknown, hasMoved: boolean, late: AbortSignal): void => {
  if (error instanceof NotFoundError || error instanceof WrongKindError) throw missing('folder', error);
  if (!hasMoved || !(late.aborted || isOfStore(error))) throw error;
};

/**
 * Searches a source until it has enough results or the budget is spent, but always makes progress. When the
 * store fails after some progress, the search ends with its results: the next page reports the failure if it
 * persists.
 * @throws NotFoundError where the folder is missing or the role may list nothing in it, errors of the store,
 *   the signal's reason
 */
export const searchSource = async (
  services: Pick<ActionServices, 'about'>,
  view: SourceView,
  { search, after, room, budget, signal }: SourceSearch,
): Promise<SourceFindings> => {
  const { settings } = view.source;
  // Checked before the store is read, so that a denied search does not reveal which folders exist.
  if (!view.mayList(search.path)) throw missing('folder');
  const { path: folder } = view.folder(search.path);
  const isAboutFacts = [search.modifiedAfter, search.modifiedBefore, search.minBytes, search.maxBytes].some(
    (bound) => bound !== undefined,
  );
  const late = new AbortController();
  const either = AbortSignal.any([signal, late.signal]);
  // Every folder that is being listed adds a listener; only some are listed at a time.
  setMaxListeners(0, either);
  const [hasType, hasFacts] = [typeTest(settings, search.type), factsTest(search)];
  const found: FoundEntry[] = [];
  let unreadable = 0;
  let position = after;
  let hasMoved = false;
  const timer = setTimeout(() => hasMoved && late.abort(), Math.max(0, budget.timeLeft(settings)));
  const pages = view.walk(folder, {
    key: SEARCH_KEY,
    after,
    detail: isAboutFacts ? 'full' : 'names',
    ...walkedFor(search, room),
    isWanted: (entry) => hasType(entry) && hasFacts(entry),
    onUnreadable: () => (unreadable += 1),
    signal: either,
  });
  try {
    for await (const page of pages) {
      for await (const part of matching(services, view, page.found, search)) {
        const left = room - found.length;
        found.push(...part.found.slice(0, left));
        if (part.found.length > left) return { found, position: found.at(-1)?.position, unreadable };
        if (budget.isOverAt(settings, part.position)) return { found, position: part.position, unreadable };
      }
      budget.spend(page.seen);
      if (page.position === '') break;
      position = page.position;
      hasMoved = true;
      if (budget.isSpent(settings)) return { found, position, unreadable };
    }
    return { found, position: undefined, unreadable };
  } catch (error) {
    signal.throwIfAborted();
    requireEnd(error, hasMoved, late.signal);
    return { found, position, unreadable };
  } finally {
    clearTimeout(timer);
  }
};

export type FoundItem = ListingItem & {
  readonly source: string;
  readonly path: string;
  readonly url: string | undefined;
};

/** Time for which items are gathered without yielding to the event loop. */
const STRETCH_MS = 2;

/** Reads the details of a group's items, which are created while they are written. */
const itemsOf = async (
  { services, signal }: ActionContext,
  view: SourceView,
  { folder: path, entries: found }: Pick<Group, 'folder' | 'entries'>,
  isDetailed: boolean,
): Promise<Iterable<FoundItem>> => {
  const { source } = view;
  const { settings } = source;
  const folder = view.folder(path);
  const isPartial = found.some(
    (entry) => entry.modifiedAt === undefined || (isDetailed && lacksVersion(entry)),
  );
  const entries = isPartial ? await folder.described(found) : found;
  const { links } = services;
  const described = { signal, mayShow: (entry: Entry) => folder.item(entry).opensBy() };
  // A search draws no thumbnails; items have one only where a link is enough.
  const thumbs =
    settings.serve === 'off'
      ? () => undefined
      : await services.thumbnails.describe(source, path, entries, described);
  const details = isDetailed
    ? await detailsOf(services.pictureSizes, source, path, entries, signal)
    : undefined;
  const abouts = await folder.abouts(services.about, entries);
  const items = listingItems(folder, entries, thumbs, { links, details: details?.of, abouts });
  return {
    *[Symbol.iterator]() {
      let index = 0;
      for (const item of items) {
        const entry = entries[index];
        index += 1;
        const linked = entry && folder.item(entry);
        const url = linked?.kind === 'file' && linked.opensBy() ? links.to(linked) : undefined;
        yield Object.assign(item, { source: source.name, path: path.toString() || '/', url });
      }
    },
  };
};

/**
 * The results of a source in the form of listing items, in the order of the search. The items are created
 * lazily, so that many concurrent searches do not block the event loop.
 */
export const foundItems = async (
  context: ActionContext,
  view: SourceView,
  found: readonly FoundEntry[],
  isDetailed: boolean,
): Promise<readonly Iterable<FoundItem>[]> => {
  const lists: Iterable<FoundItem>[] = [];
  const { signal, services } = context;
  let end = 0;
  for (const group of groupsOf(found)) {
    if (performance.now() >= end) {
      await services.yieldToLoop();
      signal.throwIfAborted();
      end = performance.now() + STRETCH_MS;
    }
    lists.push(await itemsOf(context, view, group, isDetailed));
  }
  return lists;
};
