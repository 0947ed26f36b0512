import type { Settings } from '../config/settings.ts';
import { NotFoundError, UnsafePathError } from '../errors/errors.ts';
import type { Arrival, KnownWays, NameEvent, NameHistory } from '../storage/moved/name-events.ts';
import type { SourcePath } from '../storage/source-path.ts';
import type { Item } from './item.ts';
import type { SourceView } from './source-view.ts';
import type { SourceViews } from './source-views.ts';

const DAY_MS = 24 * 60 * 60 * 1000;

/** Names whose history is read for one question, those of long chains in deep folders, and steps that are taken. */
const MOST_NAMES = 4096;
const MOST_STEPS = 4096;
const AT_ONCE = 8;
/** Of a way that is longer, its beginning and each so manieth step is kept in mind. */
const LONG_WAY = 32;

/** An event of a name, or of a folder above it. */
interface Step extends NameEvent {
  readonly about: SourcePath;
}

/** What has happened to a name and to the folders above it, the oldest first. */
interface Past {
  readonly steps: readonly Step[];
  /** Of what happened until then not all is known. */
  readonly since: number;
}

/**
 * Where a way ends: at what has gone it; nowhere, because that was removed, or is not known any more; or
 * nothing of the name has gone this way.
 */
type End = Item | 'gone' | 'absent';

const isOwn = (step: Step, path: SourcePath): boolean => step.about.segments.length === path.segments.length;

/** Something has arrived here on the way. */
interface Passed extends Pick<Arrival, 'path' | 'at'> {
  readonly ways: KnownWays;
  /** It went on by itself, or has on the way that was known from here. */
  hasOwnStep: boolean;
}

const wayFrom = ({ path, at }: Pick<Arrival, 'path' | 'at'>): string => `${String(at)} ${path.toString()}`;

/** Whether something new has taken the name, by itself or inside a folder. */
const isTaking = (step: Step, path: SourcePath): boolean => {
  if (step.type !== 'came') return false;
  const { holds = [] } = step;
  return isOwn(step, path) || holds === 'all' || holds.includes(step.about.relative(path).toString());
};

/** How long a source remembers; undefined: it does not. */
export const memoryOf = ({
  serve,
  redirectMoved,
}: Pick<Settings, 'serve' | 'redirectMoved'>): Settings['redirectMoved'] =>
  serve === 'off' ? undefined : redirectMoved;

/** The search for what had one name. Histories are read once; of long ways the next search reads only what is new. */
class Search {
  readonly #views: SourceViews;
  readonly #passed: Passed[] = [];
  readonly #read = new Map<string, Promise<NameHistory>>();
  #steps = 0;

  constructor(views: SourceViews) {
    this.#views = views;
  }

  /** Tries the last thing that had the name, then what had it before where that was none of this name. */
  async latest(view: SourceView, path: SourcePath): Promise<Item | undefined> {
    const { steps } = await this.#past(view, path);
    for (const step of [...steps].reverse()) {
      if (isTaking(step, path)) return undefined;
      const end = step.type === 'came' ? 'absent' : await this.#follow(view, step, path);
      this.#keepWays();
      if (typeof end === 'object') return end;
      if (end === 'gone' || isOwn(step, path)) return undefined;
    }
    return undefined;
  }

  /** From where something has come at a time: on by the next event, and so to where it is. */
  async #from(view: SourceView, path: SourcePath, at: number): Promise<End> {
    const { knownWays: ways } = view.source;
    const passed: Passed = { ways, path, at, hasOwnStep: false };
    this.#passed.push(passed);
    const known = this.#isForgotten(view, passed) ? undefined : ways.get(wayFrom(passed));
    if (known !== undefined) {
      passed.hasOwnStep = known.hasOwnStep;
      const end = await this.#from(view, known.path, known.at);
      return end === 'absent' && known.hasOwnStep ? 'gone' : end;
    }
    const { steps, since } = await this.#past(view, path);
    if (since > at) return 'gone';
    const next = steps.find((step) => step.at > at);
    if (next === undefined) return this.#look(view, path);
    // Whatever has it now is another one.
    if (next.type === 'came') return 'absent';
    passed.hasOwnStep = isOwn(next, path);
    const end = await this.#follow(view, next, path);
    return end === 'absent' && passed.hasOwnStep ? 'gone' : end;
  }

  /** Keeps in mind how far a long way has led within each source, also where it has been too long. */
  #keepWays(): void {
    const way = [...this.#passed.splice(0).entries()].reverse();
    let end: Passed | undefined;
    let hasOwnStep = false;
    for (const [index, passed] of way) {
      if (end === undefined || end.ways !== passed.ways) {
        end = passed;
        hasOwnStep = false;
        continue;
      }
      hasOwnStep ||= passed.hasOwnStep;
      if (way.length > LONG_WAY && index % LONG_WAY === 0)
        passed.ways.set(wayFrom(passed), { path: end.path, at: end.at, hasOwnStep });
    }
  }

  async #follow(view: SourceView, step: Step, path: SourcePath): Promise<End> {
    const { to } = step;
    if (to === undefined || this.#isForgotten(view, to)) return isOwn(step, path) ? 'gone' : 'absent';
    const next = this.#views.named(undefined).find(({ name }) => name === to.source);
    this.#steps += 1;
    if (next === undefined || this.#read.size >= MOST_NAMES || this.#steps > MOST_STEPS) return 'gone';
    try {
      const target = to.path.join(step.about.relative(path)).requireBounded();
      // A forged record may say that it arrived before it left: time never goes back, or it would go round for ever.
      return await this.#from(await this.#views.of(next), target, Math.max(step.at, to.at));
    } catch (error) {
      if (error instanceof UnsafePathError) return 'absent';
      throw error;
    }
  }

  /** The clocks of instances may differ by a day; what comes from further ahead is forged. */
  #isForgotten({ source }: SourceView, { at }: Pick<Arrival, 'at'>): boolean {
    const { days = 0 } = memoryOf(source.settings) ?? {};
    const age = Date.now() - at;
    return age > days * DAY_MS || age < -DAY_MS;
  }

  async #look(view: SourceView, path: SourcePath): Promise<End> {
    try {
      return await view.look(path);
    } catch (error) {
      if (error instanceof NotFoundError) return 'absent';
      throw error;
    }
  }

  async #past(view: SourceView, path: SourcePath): Promise<Past> {
    if (memoryOf(view.source.settings) === undefined) return { steps: [], since: 0 };
    const steps: Step[] = [];
    let since = 0;
    const names = path.ancestry();
    for (let start = 0; start < names.length; start += AT_ONCE) {
      const some = names.slice(start, start + AT_ONCE);
      const histories = await Promise.all(some.map((about) => this.#history(view, about)));
      for (const [index, about] of some.entries()) {
        const history = histories[index];
        if (history === undefined) continue;
        since = Math.max(since, history.since);
        for (const event of history.events)
          if (event.kind === 'folder' || about === path) steps.push({ ...event, about });
      }
    }
    return { steps: steps.sort((one, other) => one.at - other.at), since };
  }

  #history(view: SourceView, about: SourcePath): Promise<NameHistory> {
    const key = JSON.stringify([view.source.name, about.toString()]);
    let history = this.#read.get(key);
    if (history === undefined) this.#read.set(key, (history = view.history(about)));
    return history;
  }
}

/**
 * Where a path leads now at which nothing lies: what had this name last, and has another by a rename, a move or
 * by being restored, itself or with a folder above it. Undefined where something lies there, where that was
 * removed, where the source does not remember it (any more), and where no listing would show it; access rules
 * are not asked. Costs a look at the path, one question to the store for the name and for each folder above
 * it, and the same for each step of the way; at most some thousands.
 * @throws errors of the stores
 */
export const presentOf = async (
  views: SourceViews,
  view: SourceView,
  path: SourcePath,
): Promise<Item | undefined> => {
  if (memoryOf(view.source.settings) === undefined || path.isRoot) return undefined;
  const item = await new Search(views).latest(view, path);
  return item !== undefined && (await view.isFree(path)) ? item : undefined;
};
