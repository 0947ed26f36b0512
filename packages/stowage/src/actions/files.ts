import * as z from 'zod';
import { variantSizesOf } from '../pictures/kept/sizes.ts';
import { pathField, sourceField } from '../parameters/fields.ts';
import { type ActionContext, defineAction } from './action.ts';
import { listingMessages, listSources, sourceHeader, sourceHeaderShape } from './listing/each-source.ts';
import { detailsOf } from './listing/details.ts';
import { modsField } from './listing/fields.ts';
import { listingItems, listingItemSchema } from './listing/item.ts';
import type { ListingSlot } from './listing/large-listings.ts';
import { readPage } from './listing/page.ts';
import type { SourceView } from '../view/source-view.ts';

const totalField = z.int().optional().describe('With `mods[details]`: visible entries of the whole folder.');

const parameters = z.object({ source: sourceField, path: pathField, mods: modsField });

type FilesParameters = z.output<typeof parameters>;

const listSource = async (
  { services, log, holdSources }: ActionContext,
  view: SourceView,
  { path, mods }: FilesParameters,
  signal: AbortSignal,
  slot: ListingSlot,
): Promise<object> => {
  const { source } = view;
  const { settings } = source;
  const folder = view.folder(path);
  const { entries, total } = await readPage(
    folder,
    {
      wanted: {
        folders: mods.withFolders ?? false,
        onlyImages: mods.onlyImages ?? false,
        filterWord: mods.filterWord,
      },
      sortBy: mods.sortBy ?? settings.defaultSortBy,
      foldersPosition: mods.foldersPosition ?? 'default',
      offset: mods.offset ?? 0,
      limit: mods.limit ?? settings.countInChunk,
      versions: mods.details ?? false,
    },
    slot,
    { onOmitted: services.omittedEntries.reporter(log, folder), signal },
  );
  const thumbs = await services.thumbnails.describe(source, path, entries, {
    signal,
    hold: holdSources,
    mayShow: (entry) => folder.item(entry).opensBy(),
  });
  const details =
    mods.details === true ? await detailsOf(services.pictureSizes, source, path, entries, signal) : undefined;
  const variants =
    mods.variants === true ? await services.thumbnails.variants(source, path, entries, signal) : undefined;
  const variantSizes = variants?.map((paths, index) =>
    variantSizesOf(settings.imagePresets, paths, details?.[index]),
  );
  const options = { links: services.links, details, variants, variantSizes };
  return {
    ...sourceHeader(source, path),
    ...(details === undefined ? {} : { total }),
    files: listingItems(folder, entries, thumbs, options),
  };
};

/**
 * Lists a folder: in the named source, else in every source, each with its own page, order and quota of
 * thumbnails.
 */
export const filesAction = defineAction({
  name: 'files',
  load: 'listings',
  summary: 'Lists the files, and on request the folders, of a folder.',
  changes: false,
  parameters,
  result: z.object({
    sources: z.array(
      z.object({ ...sourceHeaderShape, total: totalField, files: z.array(listingItemSchema) }),
    ),
    messages: listingMessages,
  }),
  run: async (context, input) => {
    const slot = context.services.largeListings.slot(context.signal);
    context.atEnd(() => slot.leave());
    const listed = await listSources(context, {
      key: 'FILES',
      ...input,
      read: (view, signal) => listSource(context, view, input, signal, slot),
    });
    slot.gathered();
    return { ...listed };
  },
});
