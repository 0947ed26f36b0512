import type { TimeSlice } from '../basics/concurrency/time-slice.ts';
import { ifMissing, orUndefined, UnsafePathError } from '../errors/errors.ts';
import type { Arrival, NameEvent, NameHistory } from '../storage/moved/name-events.ts';
import type { SourcePath } from '../storage/source-path.ts';
import type { Item } from './folder-view.ts';
import type { SourceView } from './source-view.ts';
import type { SourceViews } from './source-views.ts';

const DAY_MS = 24 * 60 * 60 * 1000;

const AT_ONCE = 8;
const MOST_READ = 4096;
/** Minimum limit of redirect steps. The limit is twice the number of recorded renames, if that is larger. */
const LEAST_BOUND = 4096;
/** Steps whose records are read one by one before all records are listed. */
const SHORT_WAY = 8;

interface Step extends NameEvent {
  readonly about: SourcePath;
}

interface Past {
  readonly steps: readonly Step[];
  /** History before this time is incomplete. */
  readonly since: number;
}

/** End of a chain of redirects: the item, `gone` (removed, expired), or `absent`: no such step. */
type End = Item | 'gone' | 'absent';

/** The path of a name after a step of it, or of a parent folder; undefined when it is too long. */
const pathAfter = ({ about, to }: Step, path: SourcePath): SourcePath | undefined =>
  orUndefined(() => to?.path.join(about.relative(path)).requireBounded(), UnsafePathError);

const isOwn = (step: Step, path: SourcePath): boolean => step.about.segments.length === path.segments.length;

/** Whether a new item has taken the name, by itself or inside a folder. */
const isTaking = (step: Step, path: SourcePath): boolean => {
  if (step.type !== 'came') return false;
  const { holds = [] } = step;
  return isOwn(step, path) || holds === 'all' || holds.includes(step.about.relative(path).toString());
};

class Search {
  readonly #views: SourceViews;
  readonly #slice: TimeSlice;
  readonly #read = new Map<string, Promise<NameHistory>>();
  #steps = 0;
  /** Steps that were not in memory. */
  #stepsRead = 0;

  constructor(views: SourceViews, slice: TimeSlice) {
    this.#views = views;
    this.#slice = slice;
  }

  /** Follows the last item that had the name; an earlier one if the later steps concern another name. */
  async latest(view: SourceView, path: SourcePath): Promise<Item | undefined> {
    const { steps } = await this.#past(view, path);
    for (const step of [...steps].reverse()) {
      if (isTaking(step, path)) return undefined;
      const end = step.type === 'came' ? 'absent' : await this.#follow(view, step, path);
      if (typeof end === 'object') return end;
      if (end === 'gone') return undefined;
    }
    return undefined;
  }

  /** Follows the events, one after the other, to the current item of a name. */
  async #follow(from: SourceView, first: Step, name: SourcePath): Promise<End> {
    let [view, step, path] = [from, first, name];
    let hasOwnStep = false;
    for (;;) {
      hasOwnStep ||= isOwn(step, path);
      const { to } = step;
      const target = pathAfter(step, path);
      if (to === undefined || target === undefined || this.#isForgotten(view, to))
        return hasOwnStep ? 'gone' : 'absent';
      const source = this.#views.named(undefined).find(({ name: other }) => other === to.source);
      if (source === undefined || !(await this.#mayStep(view))) return 'gone';
      // Time must not run backwards: a forged record that arrived before it left would cause an endless loop.
      const at = Math.max(step.at, to.at);
      [view, path] = [await this.#views.of(source), target];
      const { since, next } = await this.#after(view, path, at);
      if (since > at) return 'gone';
      const end = next === undefined ? await this.#lookUp(view, path) : 'absent';
      // Any later arrival at the path is another item.
      if (next?.type !== 'left') return end === 'absent' && hasOwnStep ? 'gone' : end;
      step = next;
    }
  }

  /** Counts a step. Returns false when the limit is exceeded. */
  async #mayStep({ source }: SourceView): Promise<boolean> {
    this.#steps += 1;
    if (this.#slice.due) await this.#slice.rest();
    return this.#steps <= Math.max(LEAST_BOUND, 2 * (source.settings.redirectMoved?.entries ?? 0));
  }

  /** The next event at a path after an arrival. Past departures never change: cached records suffice. */
  async #after(view: SourceView, path: SourcePath, at: number) {
    const nextIn = ({ steps }: Past): Step | undefined => steps.find((step) => step.at > at);
    const { movedRecords } = view.source;
    const known = async (): Promise<{ readonly since: number; readonly next: Step } | undefined> => {
      if (at >= movedRecords.certainUntil) return undefined;
      const past = await this.#past(view, path, true);
      const next = nextIn(past);
      return next === undefined || next.at >= movedRecords.certainUntil ? undefined : { ...past, next };
    };
    const certain =
      (await known()) ??
      (this.#stepsRead >= SHORT_WAY && (await view.stepFarther()) ? await known() : undefined);
    if (certain !== undefined) return certain;
    this.#stepsRead += 1;
    const past = await this.#past(view, path);
    return { ...past, next: nextIn(past) };
  }

  /** Whether a record is expired or forged: clocks may differ by a day; later times are forged. */
  #isForgotten({ source }: SourceView, { at }: Pick<Arrival, 'at'>): boolean {
    const { days = 0 } = source.settings.redirectMoved ?? {};
    const age = Date.now() - at;
    return age > days * DAY_MS || age < -DAY_MS;
  }

  async #lookUp(view: SourceView, path: SourcePath): Promise<End> {
    return (await view.lookUp(path).catch(ifMissing)) ?? 'absent';
  }

  async #past(view: SourceView, path: SourcePath, mayBeOld = false): Promise<Past> {
    if (view.source.settings.redirectMoved === undefined) return { steps: [], since: 0 };
    const steps: Step[] = [];
    let since = 0;
    const names = path.ancestry();
    for (let start = 0; start < names.length; start += AT_ONCE) {
      const some = names.slice(start, start + AT_ONCE);
      const histories = await Promise.all(some.map((about) => this.#history(view, about, mayBeOld)));
      for (const [index, about] of some.entries()) {
        const history = histories[index];
        if (history === undefined) continue;
        since = Math.max(since, history.since);
        for (const event of history.events)
          if (event.kind === 'folder' || about === path) steps.push({ ...event, about });
      }
    }
    // At the same time a name inside a folder that has moved may have changed: that step is the exact one.
    const depth = ({ about }: Step): number => about.segments.length;
    return { steps: steps.sort((one, other) => one.at - other.at || depth(other) - depth(one)), since };
  }

  async #history(view: SourceView, about: SourcePath, mayBeOld: boolean): Promise<NameHistory> {
    const known = mayBeOld ? view.knownHistory(about) : undefined;
    if (known !== undefined) return known;
    const key = JSON.stringify([view.source.name, about.toString()]);
    let history = this.#read.get(key);
    if (this.#read.size > MOST_READ) this.#read.clear();
    if (history === undefined) this.#read.set(key, (history = view.history(about)));
    return history;
  }
}

/**
 * The current item for a path that is free: the last item of this name, when it was renamed, moved or
 * restored, itself or with a parent folder. Undefined where the path is in use, the item was removed, its
 * history is not recorded or has expired, or no listing would show it. Does not check access rules. Costs one
 * request for the path, one for the name and each parent folder, and the same for each step; beyond a few
 * steps all records are listed and read together.
 * @throws errors of the stores
 */
export const presentOf = async (
  views: SourceViews,
  view: SourceView,
  path: SourcePath,
): Promise<Item | undefined> => {
  if (view.source.settings.redirectMoved === undefined || path.isRoot) return undefined;
  const item = await new Search(views, view.slice()).latest(view, path);
  return item !== undefined && (await view.isFree(path)) ? item : undefined;
};
