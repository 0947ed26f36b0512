import { mimeTypeOf } from '../../content/mime-type.ts';
import type { PictureSizes } from '../../images/picture-sizes.ts';
import type { Entry } from '../../storage/adapter.ts';
import type { SourcePath } from '../../storage/source-path.ts';
import type { OpenSource } from '../open-source.ts';
import type { Details } from './item.ts';

/**
 * Listings of some stores report versions; others are asked for all files of the page where that is cheap.
 */
const versionsOf = async (
  { storage }: OpenSource,
  folder: SourcePath,
  entries: readonly Entry[],
  signal: AbortSignal,
): Promise<readonly (string | undefined)[]> => {
  const isAsked = ({ kind, etag }: Entry): boolean => kind === 'file' && etag === undefined;
  const names = entries.filter(isAsked).map(({ name }) => name);
  if (storage.statMany === undefined || names.length === 0) return entries.map(({ etag }) => etag);
  // What was removed meanwhile has no version.
  const found = (await storage.statMany(folder, names, { signal })).values();
  return entries.map((entry) => (isAsked(entry) ? found.next().value?.etag : entry.etag));
};

const isoTime = (milliseconds: number | undefined): string | undefined => {
  const date = new Date(milliseconds ?? Number.NaN);
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString();
};

/**
 * The details of the entries of a page, in their order. Reads headers of pictures, and nothing else of their
 * content.
 */
export const detailsOf = async (
  sizes: PictureSizes,
  open: OpenSource,
  folder: SourcePath,
  entries: readonly Entry[],
  signal: AbortSignal,
): Promise<readonly Details[]> => {
  const [seen, versions] = await Promise.all([
    sizes.of(open.source, folder, entries, signal),
    versionsOf(open, folder, entries, signal),
  ]);
  return entries.map(({ name, kind, size, modifiedAt }, index) =>
    kind === 'folder'
      ? { modified: isoTime(modifiedAt) }
      : {
          bytes: size,
          modified: isoTime(modifiedAt),
          mime: mimeTypeOf(name),
          etag: versions[index],
          width: seen[index]?.width,
          height: seen[index]?.height,
        },
  );
};
