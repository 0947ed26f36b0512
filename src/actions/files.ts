import { z } from 'zod';
import { pathField, sourceField } from '../parameters/fields.ts';
import type { Source } from '../sources/source.ts';
import { defineAction, type ActionContext } from './action.ts';
import { forEachSource } from './listing/each-source.ts';
import { modsField } from './listing/fields.ts';
import { listingItems, listingItemSchema } from './listing/item.ts';
import { readPage } from './listing/page.ts';
import { sourceHeader, sourceHeaderShape } from './listing/source-header.ts';
import { visibleEntries } from './listing/visibility.ts';
import { openedSource } from './open-source.ts';
import { requireReachable } from './reserved.ts';
import { sourcesFor } from './select-source.ts';

const parameters = z.object({ source: sourceField, path: pathField, mods: modsField });

type FilesParameters = z.output<typeof parameters>;

const listSource = async (
  context: ActionContext,
  source: Source,
  { path, mods }: FilesParameters,
  signal: AbortSignal,
): Promise<object> => {
  const { settings } = source;
  requireReachable(settings, path);
  const { storage, access } = await openedSource(context, source);
  access.require('FILES', path);
  const entries = await readPage(
    storage,
    path,
    {
      isVisible: visibleEntries(settings, access, path, {
        folders: mods.withFolders ?? false,
        onlyImages: mods.onlyImages ?? false,
        filterWord: mods.filterWord,
      }),
      sortBy: mods.sortBy ?? settings.defaultSortBy,
      foldersPosition: mods.foldersPosition ?? 'default',
      offset: mods.offset ?? 0,
      limit: mods.limit ?? settings.countInChunk,
    },
    { largeListings: context.services.largeListings, signal },
  );
  const thumbs = await context.services.thumbnails.describe(source, path, entries, signal);
  return { ...sourceHeader(source, path), files: listingItems(settings, entries, thumbs) };
};

/** Lists a folder: in the named source, else in every source, each with its own page, order and quota of thumbnails. */
export const filesAction = defineAction({
  name: 'files',
  summary: 'Lists the files, and on request the folders, of a folder.',
  methods: ['GET', 'POST'],
  changes: false,
  takesFiles: false,
  parameters,
  result: z.object({
    sources: z.array(z.object({ ...sourceHeaderShape, files: z.array(listingItemSchema) })),
  }),
  run: async (context, input) => {
    context.access.require('FILES', input.path);
    const sources = await forEachSource(
      sourcesFor(context.sources, input.source),
      context.signal,
      (source, signal) => listSource(context, source, input, signal),
    );
    return { sources };
  },
});
