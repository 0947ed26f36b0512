import { mimeTypeOf } from '../../content/mime-type.ts';
import type { PictureSizes } from '../../images/picture-sizes.ts';
import type { Entry } from '../../storage/adapter.ts';
import type { SourcePath } from '../../storage/source-path.ts';
import type { OpenSource } from '../open-source.ts';
import type { Details } from './item.ts';

/** Files that are asked for their version at the same time. */
const AT_ONCE = 8;

/** Listings of some stores report versions; others are asked for each file where that is cheap. */
const versionsOf = async (
  { storage }: OpenSource,
  folder: SourcePath,
  entries: readonly Entry[],
  signal: AbortSignal,
): Promise<readonly (string | undefined)[]> => {
  const versions = entries.map(({ etag }) => etag);
  if (storage.statMany === undefined) return versions;
  const rest = entries.entries();
  const work = async (): Promise<void> => {
    for (const [index, entry] of rest) {
      if (entry.kind !== 'file' || versions[index] !== undefined) continue;
      try {
        versions[index] = (await storage.stat(folder.child(entry.name), { signal })).etag;
      } catch {
        // Removed meanwhile: the item has no version.
        signal.throwIfAborted();
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, entries.length) }, work));
  return versions;
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
