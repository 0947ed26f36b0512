import * as z from 'zod';
import { type ActionContext, type ActionData, defineAction } from './action.ts';
import { createLeftOut, listingMessages, readOneOf, turnOf } from './listing/each-source.ts';
import { listingItemSchemaWith } from './listing/item.ts';
import { type SearchCursor, type SearchParameters, searchParameters } from './search/parameters.ts';
import {
  type FoundItem,
  SEARCH_KEY,
  SearchBudget,
  foundItems,
  searchSource,
} from './search/search-source.ts';
import { inSlot } from '../basics/concurrency/queues.ts';
import { InvalidParametersError, NotFoundError, WrongKindError } from '../errors/errors.ts';
import type { Source } from '../sources/source.ts';

const itemSchema = listingItemSchemaWith({
  source: z.string().describe('Name of the source.'),
  path: z.string().describe('The folder, as listings write it: `/` at the root.'),
  url: z.string().optional().describe('The link of a file. In `signed` sources with a signature.'),
});

/** The items of all lists; created while they are iterated. */
function* itemsOf(lists: readonly Iterable<FoundItem>[]): Generator<FoundItem, void, undefined> {
  for (const list of lists) yield* list;
}

/** Searches one source after the other. @throws the first failure where no source could be searched */
const search = async (context: ActionContext, input: SearchParameters): Promise<ActionData> => {
  const { services, signal, log, views } = context;
  const sources = views.named(input.source);
  const leftOut = createLeftOut(context, 'search', sources);
  const budget = new SearchBudget();
  const lists: Iterable<FoundItem>[] = [];
  let [room, searched] = [input.limit, 0];
  let failure: unknown;

  const read = async (source: Source, after: string | undefined, limited: AbortSignal) => {
    const view = await views.of(source, { signal: limited });
    view.require(SEARCH_KEY, input.path, 'folder');
    const page = await searchSource(services, view, { search: input, after, room, budget, signal: limited });
    return { ...page, items: await foundItems(context, view, page.found, input.mods.details ?? false) };
  };
  /** Returns the position for the next page of this source. */
  const searchIn = async (source: Source, after: string | undefined): Promise<string | undefined> => {
    try {
      const page = await readOneOf(sources, source, context, (limited) => read(source, after, limited));
      const { found, position, unreadable, items } = page;
      lists.push(...items);
      room -= found.length;
      searched += 1;
      if (unreadable > 0)
        log.warn('A search leaves out folders that cannot be read.', { source: source.name, unreadable });
      return position;
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof NotFoundError || error instanceof WrongKindError)) leftOut.add(source, error);
      failure ??= error;
      return undefined;
    }
  };
  const searchFrom = async (cursor: SearchCursor | undefined): Promise<SearchCursor | undefined> => {
    const begin = cursor === undefined ? 0 : sources.findIndex(({ key }) => key === cursor.source);
    if (begin === -1) throw new InvalidParametersError(['cursor: must be of the same search']);
    for (const [index, source] of sources.slice(begin).entries()) {
      const isOver = index > 0 && (room === 0 || budget.isSpent(source.settings));
      const position = isOver
        ? undefined
        : await searchIn(source, index === 0 ? cursor?.position : undefined);
      if (isOver || position !== undefined) return { source: source.key, position };
    }
    // The sources before the cursor have been searched.
    if (searched === 0 && begin === 0) throw failure;
    return undefined;
  };

  const begun = input.cursor === undefined ? undefined : services.searchCursors.open(input.cursor);
  if (input.cursor !== undefined && begun === undefined)
    throw new InvalidParametersError(['cursor: must be the one of a previous response']);
  const next = await searchFrom(begun);
  const cursor = next && services.searchCursors.seal(next);
  return { items: itemsOf(lists), cursor, messages: leftOut.messages() };
};

/**
 * Finds files and folders by their names, or files by their descriptions: in the named source, else in every
 * source that has the folder, one after the other. Hidden entries are not found.
 */
export const filesSearchAction = defineAction({
  name: 'filesSearch',
  ofShown: true,
  load: 'listings',
  summary:
    'Finds files and folders by their names, or by their descriptions, in a folder and everything ' +
    'below it.',
  changes: false,
  parameters: searchParameters,
  result: z.object({
    items: z.array(itemSchema),
    cursor: z
      .string()
      .optional()
      .describe(
        'Present if there are more results: send it with the same parameters. A response with a cursor may ' +
          'be empty.',
      ),
    messages: listingMessages,
  }),
  run: async (context, input) => {
    const [first] = context.views.named(input.source);
    if (first === undefined) return { items: [] };
    return inSlot(context.services.searches, context.signal, turnOf(first), () => search(context, input));
  },
});
