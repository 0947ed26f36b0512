import { type Calls, isRecord } from './calls.ts';
import type { FileBrowser } from './editor.ts';
import { plainPath } from './trash.ts';

/** Actions that are asked for by source, by their names in `permissions`. */
export type OwnAction =
  'FilesSearch' | 'TrashList' | 'TrashRestore' | 'TrashRemove' | 'TrashEmpty' | 'FileRemove' | 'FileUpload';

/** What is known of the sources: their titles, and what the person may do in them. */
export interface Sources {
  /** Names of the sources that were listed, in their order. */
  readonly names: () => readonly string[];
  readonly titleOf: (name: string) => string;
  /** A folder for people: `Photos / trip`; in scripts of both directions each part stays whole. */
  readonly folderText: (source: string, path: string) => string;
  /** Whether the connector has allowed the action in some folder of the source. */
  readonly allows: (action: OwnAction, source: string) => boolean;
  /** The sources in which the action is allowed. */
  readonly allowing: (action: OwnAction) => readonly string[];
  /** Asks the connector about a source that Jodit has not asked about. Never rejects. */
  readonly learn: (source: string) => Promise<void>;
  readonly onChange: (listener: () => void) => void;
}

/** Jodit's name for all sources; the connector takes it for the first one where it needs one. */
const DEFAULT = 'default';

/** Sources whose permissions are asked for when all of them are listed. */
const MOST_ASKED = 30;

const joined = (parts: readonly string[]): string =>
  parts.flatMap((part) => (part === '' ? [] : `\u2068${part}\u2069`)).join(' / ');

/** What may be done, by source, as far as it was asked for. */
class Allowed {
  /** Whether the connector knows a trash at all. */
  hasTrash = false;
  readonly #flags = new Map<string, Set<string>>();

  isKnown(source: string): boolean {
    return this.#flags.has(source);
  }

  /** Notes an answer to `permissions`. A right in one folder counts for the source. */
  note(source: string, answer: unknown): void {
    const flags = Object.entries(isRecord(answer) ? answer : {});
    this.hasTrash ||= flags.some(([flag]) => flag === 'allowTrashList');
    const known = this.#flags.get(source) ?? new Set();
    for (const [flag, isAllowed] of flags) if (isAllowed === true) known.add(flag);
    this.#flags.set(source, known);
  }

  has(source: string, action: OwnAction): boolean {
    return this.#flags.get(source)?.has(`allow${action}`) ?? false;
  }
}

/**
 * Follows what Jodit asks and is told of sources. Jodit asks for the permissions of the open folder alone;
 * with `all`, those of the other sources are asked for once, where the connector has a trash to list.
 */
export const watchSources = (
  { dataProvider, state }: FileBrowser,
  { ask }: Pick<Calls, 'ask'>,
  all: boolean,
): Sources => {
  const titles = new Map<string, string>();
  const allowed = new Allowed();
  const listeners: (() => void)[] = [];
  let first: string | undefined;

  const keyOf = (source: string): string =>
    source === '' || source === DEFAULT ? (first ?? DEFAULT) : source;
  const note = (source: string, answer: unknown): void => {
    allowed.note(source, answer);
    for (const listener of listeners) listener();
  };
  const learn = async (source: string): Promise<void> => {
    const key = keyOf(source);
    if (allowed.isKnown(key)) return;
    allowed.note(key, {});
    const answer = await ask({ action: 'permissions', source, path: '' }).catch(() => ({}));
    note(key, 'permissions' in answer ? answer.permissions : {});
  };
  const learnAll = async (names: readonly string[]): Promise<void> => {
    for (const name of names.slice(0, MOST_ASKED)) await learn(name);
  };

  let newest: readonly [source: string, answer: unknown] = [DEFAULT, {}];
  const permissions = dataProvider.permissions;
  dataProvider.permissions = async (path, source) => {
    const answer = await permissions(path, source);
    newest = [source, answer];
    note(keyOf(source), answer);
    return answer;
  };
  state.on('change.sources', () => {
    for (const { name, title } of state.sources) titles.set(name, title || name);
    const [source, answer] = newest;
    if (first === undefined && keyOf(source) === DEFAULT) {
      first = state.sources[0]?.name;
      note(keyOf(source), answer);
    }
    for (const listener of listeners) listener();
    if (all && allowed.hasTrash) void learnAll(state.sources.map(({ name }) => name));
  });

  const names = (): readonly string[] => [...titles.keys()];
  const titleOf = (name: string): string => titles.get(keyOf(name)) ?? name;
  return {
    names,
    titleOf,
    folderText: (source, path) => joined([titleOf(source), ...plainPath(path).split('/')]),
    allows: (action, source) => allowed.has(keyOf(source), action),
    allowing: (action) => {
      // Before the first list has come, the first source has no name.
      const known = titles.size === 0 ? [DEFAULT] : names();
      return known.filter((name) => allowed.has(name, action));
    },
    learn,
    onChange: (listener) => {
      listeners.push(listener);
    },
  };
};
