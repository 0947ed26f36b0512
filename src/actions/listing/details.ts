import { mimeTypeOf } from '../../content/mime-type.ts';
import type { PictureSizes } from '../../images/picture-sizes.ts';
import type { Entry } from '../../storage/adapter.ts';
import type { SourcePath } from '../../storage/source-path.ts';
import type { Source } from '../../sources/source.ts';
import type { Details } from './item.ts';

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
  source: Source,
  folder: SourcePath,
  entries: readonly Entry[],
  signal: AbortSignal,
): Promise<readonly Details[]> => {
  const seen = await sizes.of(source, folder, entries, signal);
  return entries.map(({ name, kind, size, modifiedAt, etag }, index) =>
    kind === 'folder'
      ? { modified: isoTime(modifiedAt) }
      : {
          bytes: size,
          modified: isoTime(modifiedAt),
          mime: mimeTypeOf(name),
          etag,
          width: seen[index]?.width,
          height: seen[index]?.height,
        },
  );
};
