import type { SearchParameters } from './parameters.ts';
import type { ActionServices } from '../action.ts';
import { holdsWords } from '../../basics/content/file-name.ts';
import type { About } from '../../storage/about/about.ts';
import type { Entry } from '../../storage/entry.ts';
import type { SourcePath } from '../../storage/source-path.ts';
import type { FoundEntry, SourceView } from '../../view/source-view.ts';

export interface Group {
  readonly folder: SourcePath;
  readonly found: FoundEntry[];
  readonly entries: Entry[];
}

/** Groups consecutive entries of one folder, at most `most` in a group. */
export const groupsOf = (found: readonly FoundEntry[], most = Infinity): readonly Group[] => {
  const groups: Group[] = [];
  for (const one of found) {
    const last = groups.at(-1);
    const folder = one.path.parent;
    if (last !== undefined && last.found.length < most && last.folder.equals(folder)) {
      last.found.push(one);
      last.entries.push(one.entry);
    } else groups.push({ folder, found: [one], entries: [one.entry] });
  }
  return groups;
};

/** Files whose descriptions are read between two checks of the time. */
const AT_ONCE = 1000;

const textOf = ({ alt, title, caption, credit, tags = [] }: About): string =>
  [alt, title, caption, credit, ...tags].filter((text) => text !== undefined).join('\n');

/** Words and limit for the walk of a search: the walk itself compares names when only names are searched. */
export const walkedFor = (
  { query, in: where }: Pick<SearchParameters, 'query' | 'in'>,
  room: number,
): { readonly words: readonly string[]; readonly most: number } =>
  where === 'name' ? { words: query, most: room + 1 } : { words: [], most: Infinity };

/**
 * Yields the matching ones of the entries that a walk has found, group by group: all entries in a search by
 * name, which the walk has compared, else those whose description, or name and description, contains the
 * words. `position` is behind the examined entries; undefined when the walk has compared them. Costs one
 * request for each folder with files, and a read for each description that is not cached.
 * @throws errors of the store
 */
export async function* matching(
  { about }: Pick<ActionServices, 'about'>,
  view: SourceView,
  found: readonly FoundEntry[],
  { query, in: where }: Pick<SearchParameters, 'query' | 'in'>,
): AsyncGenerator<{ found: readonly FoundEntry[]; position: string | undefined }, void, undefined> {
  if (where === 'name') {
    yield { found, position: undefined };
    return;
  }
  const holds = holdsWords(query);
  for (const group of groupsOf(found, AT_ONCE)) {
    const abouts = await view.folder(group.folder).abouts(about, group.entries);
    const fitting = group.found.filter(({ entry: { name } }, index) => {
      const words = textOf(abouts[index] ?? {});
      return holds(where === 'all' ? `${name}\n${words}` : words);
    });
    yield { found: fitting, position: group.found.at(-1)?.position };
  }
}
