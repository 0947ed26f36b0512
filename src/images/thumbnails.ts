import type { Source } from '../sources/source.ts';
import type { Entry } from '../storage/adapter.ts';
import type { SourcePath } from '../storage/source-path.ts';

/** A file in a source. */
export interface Place {
  readonly source: Source;
  readonly path: SourcePath;
}

/** Thumbnails and icons of listed entries, kept in each folder's thumbnail folder. */
export interface Thumbnails {
  /**
   * For each entry, the path of its thumbnail relative to the folder (`_thumbs/cat.jpg`, or the entry itself), creating what is
   * missing: at most `safeThumbsCountInOneTime` new ones a call, bounded in parallel, once per image however many calls ask.
   * Undefined: not made because the quota is used up. With `createThumb` false all are undefined and nothing is read or written.
   * Never rejects because of a broken image (its extension's icon is given instead) or a store that refuses thumbnails.
   */
  describe(
    source: Source,
    folder: SourcePath,
    entries: readonly Entry[],
    signal?: AbortSignal,
  ): Promise<readonly (string | undefined)[]>;

  /** The image was removed: its thumbnail goes too. These followers log failures of the store and never throw. */
  removed(place: Place): Promise<void>;
  /** The image has another place now: its thumbnail goes along; a stale one at the target is replaced or removed. */
  moved(from: Place, to: Place): Promise<void>;
  /** As `moved`, for a copy. */
  copied(from: Place, to: Place): Promise<void>;
  /** The image has new content: its thumbnail is dropped and made anew by the next listing. */
  changed(place: Place): Promise<void>;
}
