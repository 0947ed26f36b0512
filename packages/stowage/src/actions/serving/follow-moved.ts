import { safetyHeaders } from './delivery.ts';
import type { ServingRequest } from './request.ts';
import { HandedOverAnswer } from '../file-answer.ts';
import type { ShownEntry } from '../public-files.ts';
import { StowageError } from '../../errors/errors.ts';
import type { SourcePath } from '../../storage/source-path.ts';
import type { Item } from '../../view/item.ts';
import type { Links } from '../../view/links.ts';
import { memoryOf, presentOf } from '../../view/moved.ts';
import { FILE_KEYS, VARIANT_KEYS } from '../../view/rights.ts';

/** What the link of an item's thumbnail or variant says; undefined where its source has none. */
export const drawnPath = (
  { source, folder, path }: Item,
  preset: string | undefined,
): SourcePath | undefined => {
  const { createThumb, thumbFolderName, imagePresets } = source.settings;
  const thumbs = folder.below(thumbFolderName);
  if (preset === undefined) return createThumb ? thumbs.below(path.name) : undefined;
  return Object.hasOwn(imagePresets, preset) ? thumbs.below(preset).below(path.name) : undefined;
};

/** The item as the one who asks may see it: those who ask for files of other sources need no name. */
const seenByAsker = async (item: Item, { view, viewsFor }: ServingRequest): Promise<Item | undefined> => {
  if (item.source.settings.serve !== 'protected' || view.source.settings.serve === 'protected') return item;
  try {
    return (await (await viewsFor(true)).of(item.source)).stored(item.path, item.stat);
  } catch (error) {
    // Who is not let in learns no more than that the old name is not in use.
    if (error instanceof StowageError && error.status < 500) return undefined;
    throw error;
  }
};

/**
 * Leads from an old link to the present one, in one step, where the source remembers names and the one who asks
 * may read the file there; else undefined. In `signed` sources the old signature has been checked.
 * @throws errors of the stores
 */
export const followMoved = async (
  { links }: { readonly links: Links },
  request: ServingRequest,
  shown: ShownEntry & { readonly isDrawn: boolean },
): Promise<HandedOverAnswer | undefined> => {
  const { view, query, viewsFor } = request;
  const { source } = view;
  const { entry, preset, isDrawn } = shown;
  if (memoryOf(source.settings) === undefined) return undefined;
  const found = await presentOf(await viewsFor(false), view, entry);
  if (found === undefined || !(isDrawn || found.kind === 'file')) return undefined;
  const item = await seenByAsker(found, request);
  const path = isDrawn ? drawnPath(found, preset) : found.path;
  if (path === undefined || item?.opensBy(preset === undefined ? FILE_KEYS : VARIANT_KEYS) !== true)
    return undefined;
  const location = links.instead(item, path, { source, query });
  if (location === undefined) return undefined;
  return new HandedOverAnswer(308, {
    ...safetyHeaders(source.settings),
    location,
    'cache-control': 'no-cache',
  });
};
