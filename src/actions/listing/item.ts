import { z } from 'zod';
import type { Settings } from '../../config/settings.ts';
import { extensionOf } from '../../content/extension.ts';
import type { Entry } from '../../storage/adapter.ts';
import { compileDateFormat } from './date-format.ts';
import { humanSize } from './human-size.ts';

const folderItemSchema = z.object({
  file: z.string(),
  name: z.string(),
  type: z.literal('folder'),
  thumb: z.string().optional(),
});

const fileItemSchema = z.object({
  file: z.string().describe('Name relative to baseurl + path.'),
  name: z.string(),
  type: z.enum(['image', 'file']),
  isImage: z.boolean(),
  size: z.string().optional().describe('For people: `117.74MB`. Absent when the store does not report it.'),
  changed: z.string().optional().describe('In the datetimeFormat. Absent when the store does not report it.'),
  thumb: z.string().optional().describe('Relative to baseurl + path. Absent when the quota is used up.'),
});

/** One entry of a listing as the client reads it. */
export const listingItemSchema = z.union([folderItemSchema, fileItemSchema]);

export type ListingItem = z.output<typeof listingItemSchema>;

/**
 * The items of a page, made one by one while they are taken, so that a page of 100,000 needs no second copy in memory and no long stretch
 * of formatting. `thumbs` stand in the order of the entries. May be iterated once or more.
 */
export const listingItems = (
  settings: Pick<Settings, 'datetimeFormat' | 'imageExtensions'>,
  entries: readonly Entry[],
  thumbs: readonly (string | undefined)[],
): Iterable<ListingItem> => {
  const images = new Set(settings.imageExtensions);
  const format = compileDateFormat(settings.datetimeFormat);

  // One literal for all, undefined members included (JSON leaves them out): building and writing objects of one shape is
  // twice as fast as of many.
  const fileItem = ({ name, size, modifiedAt }: Entry, thumb: string | undefined): ListingItem => {
    const isImage = images.has(extensionOf(name) ?? '');
    return {
      file: name,
      name,
      type: isImage ? 'image' : 'file',
      isImage,
      size: size === undefined ? undefined : humanSize(size),
      changed: modifiedAt === undefined ? undefined : format(modifiedAt),
      thumb,
    };
  };

  return {
    *[Symbol.iterator]() {
      let index = 0;
      for (const entry of entries) {
        const thumb = thumbs[index];
        index += 1;
        yield entry.kind === 'folder'
          ? { file: entry.name, name: entry.name, type: 'folder', thumb }
          : fileItem(entry, thumb);
      }
    },
  };
};
