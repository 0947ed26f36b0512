import * as z from 'zod';
import { type ActionContext, defineAction } from './action.ts';
import { LeftOut, listingMessages, readOneOf, turnOf } from './listing/each-source.ts';
import { listingItemSchemaWith } from './listing/item.ts';
import { type SearchCursor, type SearchParameters, searchParameters } from './search/parameters.ts';
import {
  type FoundItem,
  SEARCH_KEY,
  SearchBudget,
  foundItems,
  searchSource,
} from './search/search-source.ts';
import { InvalidParametersError, NotFoundError, WrongKindError } from '../errors/errors.ts';
import type { Source } from '../sources/source.ts';

const itemSchema = listingItemSchemaWith({
  source: z.string().describe('Name of the source.'),
  path: z.string().describe('The folder, as listings write it: `/` at the root.'),
  url: z.string().optional().describe('The link of a file. In `signed` sources with a signature.'),
});

class Search {
  readonly #lists: Iterable<FoundItem>[] = [];
  #found = 0;
  readonly #context: ActionContext;
  readonly #search: SearchParameters;
  readonly #budget = new SearchBudget();
  #searched = 0;
  #failure: unknown;
  readonly leftOut: LeftOut;
  readonly #sources: readonly Source[];

  constructor(context: ActionContext, search: SearchParameters) {
    this.#context = context;
    this.#search = search;
    this.#sources = context.views.named(search.source);
    this.leftOut = new LeftOut(context, 'search', this.#sources);
  }

  /**
   * Returns the cursor of the next page, if there is one. @throws the first failure where no source could be
   * searched
   */
  async run(): Promise<SearchCursor | undefined> {
    const sources = this.#sources;
    const { cursor: sealed } = this.#search;
    const cursor = sealed === undefined ? undefined : this.#context.services.searchCursors.open(sealed);
    if (sealed !== undefined && cursor === undefined)
      throw new InvalidParametersError(['cursor: must be the one of a previous response']);
    const begin = cursor === undefined ? 0 : sources.findIndex(({ key }) => key === cursor.source);
    if (begin === -1) throw new InvalidParametersError(['cursor: must be of the same search']);
    for (const [index, source] of sources.slice(begin).entries()) {
      const isOver = index > 0 && (this.#room === 0 || this.#budget.isSpent(source.settings));
      if (isOver) return { source: source.key, position: undefined };
      const position = await this.#in(source, index === 0 ? cursor?.position : undefined);
      if (position !== undefined) return { source: source.key, position };
    }
    // The sources before the cursor have been searched.
    if (this.#searched === 0 && begin === 0) throw this.#failure;
    return undefined;
  }

  get #room(): number {
    return this.#search.limit - this.#found;
  }

  /** The items found; created while they are iterated. */
  *items(): Generator<FoundItem, void, undefined> {
    for (const list of this.#lists) yield* list;
  }

  /** Returns the position for the next page of this source. */
  async #in(source: Source, after: string | undefined): Promise<string | undefined> {
    const { signal, log } = this.#context;
    const search = this.#search;
    try {
      const { found, position, unreadable, items } = await readOneOf(
        this.#sources,
        source,
        this.#context,
        async (limited) => {
          const view = await this.#context.views.of(source, { signal: limited });
          view.require(SEARCH_KEY, search.path, 'folder');
          const wanted = { search, after, room: this.#room, budget: this.#budget, signal: limited };
          const page = await searchSource(this.#context.services, view, wanted);
          const details = search.mods.details ?? false;
          return { ...page, items: await foundItems(this.#context, view, page.found, details) };
        },
      );
      this.#lists.push(...items);
      this.#found += found.length;
      this.#searched += 1;
      if (unreadable > 0)
        log.warn('A search leaves out folders that cannot be read.', { source: source.name, unreadable });
      return position;
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof NotFoundError || error instanceof WrongKindError))
        this.leftOut.add(source, error);
      this.#failure ??= error;
      return undefined;
    }
  }
}

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
    const leave = await context.services.searches.take(context.signal, turnOf(first));
    try {
      const search = new Search(context, input);
      const cursor = await search.run();
      return {
        items: search.items(),
        cursor: cursor === undefined ? undefined : context.services.searchCursors.seal(cursor),
        messages: search.leftOut.messages(),
      };
    } finally {
      leave();
    }
  },
});
