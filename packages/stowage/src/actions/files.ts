import * as z from 'zod';
import { variantSizesOf } from '../pictures/kept/sizes.ts';
import type { ThumbnailPaths } from '../pictures/kept/thumbnails.ts';
import { pathField, sourceField } from '../parameters/fields.ts';
import { type ActionContext, defineAction } from './action.ts';
import {
  listingMessages,
  listSources,
  sourceHeader,
  sourceHeaderShape,
  turnOf,
} from './listing/each-source.ts';
import { type ListedPicture, listingFor, listingTypeField } from './editor-responses.ts';
import type { EditorResponse } from './responses.ts';
import { detailsOf, listingItems, listingItemSchema } from './listing/item.ts';
import { modsField } from './listing/fields.ts';
import type { ListingSlot } from './listing/large-listings.ts';
import { type Page, readPage } from './listing/page.ts';
import type { FolderView } from '../view/folder-view.ts';
import type { Links } from '../view/links.ts';
import type { SourceView } from '../view/source-view.ts';

const totalField = z
  .int()
  .optional()
  .describe('With `mods[details]`: number of visible entries of the whole folder.');

const parameters = z.object({
  source: sourceField,
  path: pathField,
  mods: modsField,
  responseType: listingTypeField,
});

type FilesParameters = z.output<typeof parameters>;

interface ListedPage extends Page {
  readonly folder: FolderView;
  readonly thumbs: ThumbnailPaths;
}

const readFolder = async (
  { services, log, holdSources }: ActionContext,
  view: SourceView,
  { path, mods }: Pick<FilesParameters, 'path' | 'mods'>,
  signal: AbortSignal,
  slot: ListingSlot,
): Promise<ListedPage> => {
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
  return { folder, entries, total, thumbs };
};

const listSource = async (
  context: ActionContext,
  view: SourceView,
  input: FilesParameters,
  signal: AbortSignal,
  slot: ListingSlot,
): Promise<object> => {
  const { services } = context;
  const { path, mods } = input;
  const { source } = view;
  const { settings } = source;
  const { folder, entries, total, thumbs } = await readFolder(context, view, input, signal, slot);
  const details =
    mods.details === true ? await detailsOf(services.pictureSizes, source, path, entries, signal) : undefined;
  const abouts = mods.details === true ? await folder.abouts(services.about, entries) : undefined;
  const variants =
    mods.variants === true
      ? await services.thumbnails.variants(source, path, [...entries], signal)
      : undefined;
  const variantSizes =
    details &&
    variants?.map((paths, index) => variantSizesOf(settings.imagePresets, paths, details.seen[index]));
  const options = { links: services.links, details: details?.of, abouts, variants, variantSizes };
  return {
    ...sourceHeader(source, path),
    ...(details === undefined ? {} : { total }),
    files: listingItems(folder, entries, thumbs, options),
  };
};

/** The pictures of a page that the requester may open; each is its own thumbnail until one exists. */
function* picturesOf(links: Links, { folder, entries, thumbs }: ListedPage): Generator<ListedPicture> {
  const { source, path } = folder;
  const tag = path.isRoot ? source.title || source.name : path.name;
  let index = -1;
  for (const entry of entries) {
    index += 1;
    const item = folder.item(entry);
    if (!item.opensBy()) continue;
    const [url, thumb] = [links.to(item), links.thumb(item, thumbs(entry, index))];
    yield { url, thumb: thumb === undefined ? url : links.whole(item, thumb), name: entry.name, tag };
  }
}

/** All pictures of a folder in one source: image browsers of editors support no pages or sources. */
const listForEditor = async (
  context: ActionContext,
  { source, path, mods, responseType = 'froala' }: FilesParameters,
  slot: ListingSlot,
): Promise<EditorResponse> => {
  const wanted = { ...mods, onlyImages: true, withFolders: false, limit: mods.limit ?? Infinity };
  const {
    sources: [page],
  } = await listSources(context, {
    key: 'FILES',
    source: context.views.first(source).name,
    path,
    read: (view, signal) => readFolder(context, view, { path, mods: wanted }, signal, slot),
  });
  slot.gathered();
  return listingFor(responseType, page === undefined ? [] : picturesOf(context.services.links, page));
};

/** Lists a folder: in the named source, else in each, with its own page, order and thumbnail limit. */
export const filesAction = defineAction({
  name: 'files',
  load: 'listings',
  summary: 'Lists the files, and on request the folders, of a folder.',
  changes: false,
  editorResponses: 'listing',
  parameters,
  result: z.object({
    sources: z.array(
      z.object({ ...sourceHeaderShape, total: totalField, files: z.array(listingItemSchema) }),
    ),
    messages: listingMessages,
  }),
  run: async (context, input) => {
    const [first] = context.views.named(input.source);
    const slot = context.services.largeListings.slot(context.signal, turnOf(first));
    context.atEnd(() => slot.leave());
    if (input.responseType !== undefined) return listForEditor(context, input, slot);
    const listed = await listSources(context, {
      key: 'FILES',
      ...input,
      read: (view, signal) => listSource(context, view, input, signal, slot),
    });
    slot.gathered();
    return { ...listed };
  },
});
