import type { Source } from '../../sources/source.ts';
import type { Entries, Entry, Stat } from '../../storage/entry.ts';
import type { ReadResult } from '../../storage/readable.ts';
import type { SourcePath } from '../../storage/source-path.ts';
import type { ThumbnailFormat } from '../engine.ts';

/** A file in a source. */
export interface SourceLocation {
  readonly source: Source;
  readonly path: SourcePath;
}

/** A file in a source as it was when it was looked at. */
export interface SourceVersion extends SourceLocation {
  readonly stat: Stat;
}

/** What a listing says besides its entries. */
export interface DescribeOptions {
  readonly signal?: AbortSignal | undefined;
  /**
   * Keeps the source open after the request; returns the way to give it back. With it, what the quota leaves
   * out is made after a moment in which nothing is listed, folder by folder and one picture at a time.
   */
  readonly hold?: (() => () => void) | undefined;
  /** False: of the entry nothing may be shown but the icon of its kind, in a source that serves its files. */
  readonly mayShow?: ((entry: Entry) => boolean) | undefined;
}

/** Thumbnails and icons of listed entries, kept in each folder's thumbnail folder. */
export interface Thumbnails {
  /**
   * For each entry, the path of its thumbnail relative to the folder (`_thumbs/cat.jpg`, or the entry
   * itself), creating what is missing: at most `safeThumbsCountInOneTime` new ones a call, bounded in
   * parallel, once per image however many calls ask. Undefined: not made because the quota is used up. With
   * `createThumb` false there are none and nothing is read or written. Never rejects because of a broken
   * image (its extension's icon is given instead) or a store that refuses thumbnails.
   *
   * In a source that serves its files (`serve`) nothing is read or made: each entry gets the path under which
   * `show` finds it.
   */
  describe(
    source: Source,
    folder: SourcePath,
    entries: Entries,
    options: DescribeOptions,
  ): Promise<readonly (string | undefined)[]>;

  /**
   * Draws the thumbnail of a picture that is about to be stored under this name, for `keep`. Undefined when
   * the source shows such a name by something else, or when it cannot be drawn now.
   * @throws the signal's reason
   */
  draw(
    source: Source,
    name: string,
    picture: Buffer,
    signal: AbortSignal,
  ): Promise<DrawnThumbnail | undefined>;
  /**
   * Stores what `draw` has given as the thumbnail of the picture that has just been stored, so that no
   * listing has to make it. Costs one write and one question to the store. Never throws: without it a listing
   * makes it. Not aborted with a request: the picture is stored, and its thumbnail must not be one of
   * another.
   */
  keep(stored: SourceVersion, drawn: DrawnThumbnail): Promise<void>;

  /**
   * The picture that stands for an entry, or its variant by a preset, made when it is missing or stale: once,
   * however many ask at the same time. For an image that cannot be drawn it is the icon of its extension; `self`
   * when the entry is shown by itself, or the store refuses thumbnails, and for a variant where there is no such
   * preset, or the entry is not an image that is decoded. What is kept is looked at beside the entry, and opened
   * where it is to be read: with bytes up to `opensUpTo`.
   * @throws what the promise of the entry rejects with, BrokenImageError for a variant, BusyError, the signal's
   *   reason, errors of the store
   */
  show(
    source: Source,
    path: SourcePath,
    entry: Entry | Promise<Entry>,
    options: {
      readonly preset?: string | undefined;
      readonly opensUpTo?: number | undefined;
      readonly signal: AbortSignal;
    },
  ): Promise<Shown>;
  /**
   * For each entry the paths of its variants by preset, relative to the folder; undefined for what is not a
   * picture. Missing ones are made as far as `safeThumbsCountInOneTime` goes; the rest is left out. In a
   * source that serves its files nothing is read or made: all have the path under which `show` finds it.
   * @throws errors of the store
   */
  variants(
    source: Source,
    folder: SourcePath,
    entries: readonly Entry[],
    signal: AbortSignal,
  ): Promise<readonly (Variants | undefined)[]>;

  /**
   * The icon that a listing of a source that serves its files names by this name; undefined for other names.
   */
  iconNamed(source: Source, name: string): string | undefined;

  /**
   * Makes the thumbnails of these pictures that are missing or stale, with one question to the store for the
   * others, and says of each how it ended. Bounded in parallel, not by the quota of listings.
   * @throws the signal's reason, errors of the store
   */
  makeAll(
    source: Source,
    folder: SourcePath,
    pictures: readonly Entry[],
    signal: AbortSignal,
    onEnd: (picture: Entry, outcome: BatchOutcome) => void,
  ): Promise<void>;

  /** Where the thumbnails, variants and icons of an item may lie; nothing of it need be there. */
  pathsOf(location: SourceLocation): readonly SourcePath[];

  /**
   * The paths relative to its folder, as `describe` and `variants` give them, of what may be drawn of an item and of
   * no other. They follow from its name; nothing is read or made.
   */
  drawnNames(source: Source, item: Pick<Entry, 'name' | 'kind'>): readonly string[];

  /** Ends the work that goes on after listings. */
  close(): Promise<void>;

  /**
   * The image was removed: its thumbnail goes too. These followers log failures of the store and never throw.
   */
  removed(location: SourceLocation): Promise<void>;
  /**
   * The image, which was this version before, has another location now: its thumbnail goes along unless it is
   * older; a stale one at the target is replaced or removed.
   */
  moved(from: SourceVersion, to: SourceLocation): Promise<void>;
  /** As `moved`, for a copy. */
  copied(from: SourceVersion, to: SourceLocation): Promise<void>;
  /** The image has new content: its thumbnail is dropped and made anew by the next listing. */
  changed(location: SourceLocation): Promise<void>;
}

/** A thumbnail that is not stored yet. */
export interface DrawnThumbnail {
  readonly format: ThumbnailFormat;
  readonly bytes: Buffer;
}

/** Paths of a picture's variants by the names of their presets. */
export type Variants = Readonly<Record<string, string>>;

/**
 * `current`: nothing was to be done. `broken`: the picture cannot be drawn. `failed`: not this time, or the
 * store refuses.
 */
export type BatchOutcome = 'made' | 'current' | 'broken' | 'failed';

/**
 * Shows an entry: a stored thumbnail with what is known of it, and opened, which the caller then closes; the markup
 * of an icon; or the entry itself. `isFailure`: what stands for the entry could not be made or stored now.
 */
export type Shown =
  | {
      readonly kind: 'stored';
      readonly path: SourcePath;
      readonly stat?: Stat | undefined;
      readonly read?: ReadResult | undefined;
    }
  | { readonly kind: 'icon'; readonly svg: string; readonly isFailure?: true }
  | { readonly kind: 'self'; readonly isFailure?: true };

/** What an icon generator learns of the item that it draws for. */
export interface IconEntry {
  /** Inside the source, without a leading slash: `reports/2026.pdf`. */
  readonly path: string;
  readonly isFile: boolean;
  readonly isDirectory: boolean;
  /** Bytes; undefined for folders and where the store does not report it. */
  readonly size: number | undefined;
}

/**
 * Hook: draws the icon of a folder or of a file that is not an image. Returns SVG markup; whatever it writes
 * into it (names above all) it must escape. Called once per item, again when the item has changed. When it
 * throws, the default icon is used.
 */
export type SvgGenerator = (entry: IconEntry, width: number, height: number) => string | Promise<string>;
