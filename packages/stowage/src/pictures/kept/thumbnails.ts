import type { StorageDeniedError } from '../../errors/errors.ts';
import type { Source } from '../../sources/source.ts';
import type { Entries, Entry, Stat } from '../../storage/entry.ts';
import type { ReadResult } from '../../storage/readable.ts';
import type { SourcePath } from '../../storage/source-path.ts';
import type { ThumbnailFormat } from '../engine.ts';

export interface SourceLocation {
  readonly source: Source;
  readonly path: SourcePath;
}

/** A file in a source at the time of its stat. */
export interface SourceVersion extends SourceLocation {
  readonly stat: Stat;
}

export interface DescribeOptions {
  readonly signal?: AbortSignal | undefined;
  /**
   * Extends the lease of the source beyond the request; returns the function that releases it. With it,
   * thumbnails beyond the quota are made in the background when no listing is running, folder by folder and
   * one picture at a time.
   */
  readonly hold?: (() => () => void) | undefined;
  /** False: only the icon of its kind may be shown for the entry, in a source that serves its files. */
  readonly mayShow?: ((entry: Entry) => boolean) | undefined;
}

/**
 * Returns the path of the thumbnail of an entry of a listing, relative to its folder (`_thumbs/cat.jpg`, or the entry
 * itself), by the entry and its index. Undefined: not made because the quota is used up.
 */
export type ThumbnailPaths = (entry: Entry, index: number) => string | undefined;

/** Thumbnails and icons of listed entries, stored in each folder's thumbnail folder. */
export interface Thumbnails {
  /**
   * Makes the missing thumbnails of entries: at most `safeThumbsCountInOneTime` per call, with limited
   * concurrency, once per image for all concurrent calls. With `createThumb` false there are none, and nothing
   * is read or written. Never rejects because of a broken image (it gets its extension's icon) or a store that
   * rejects thumbnails.
   *
   * In a source that serves its files (`serve`) nothing is read or made: each entry gets the path for `show`.
   */
  describe(
    source: Source,
    folder: SourcePath,
    entries: Entries,
    options: DescribeOptions,
  ): Promise<ThumbnailPaths>;

  /**
   * Draws the thumbnail of a picture that is about to be stored under this name, for `keep`. Undefined when
   * the source shows such a name differently, or when it cannot be drawn now.
   * @throws the signal's reason
   */
  draw(
    source: Source,
    name: string,
    picture: Buffer,
    signal: AbortSignal,
  ): Promise<DrawnThumbnail | undefined>;
  /**
   * Stores the result of `draw` as the thumbnail of a picture that has just been stored, so that no listing
   * has to make it. Costs one write and one request to the store. Never throws: without it, a listing makes
   * the thumbnail. Not aborted with a request: the stored picture must not have the thumbnail of another.
   */
  keep(stored: SourceVersion, drawn: DrawnThumbnail): Promise<void>;

  /**
   * The thumbnail of an entry, or its variant by a preset, made when it is missing or stale: once for all
   * concurrent requests. An undrawable image gets the icon of its extension; `self` when the entry is shown
   * by itself, or the store rejects thumbnails, and for a variant if the preset does not exist or the entry
   * is not a decodable image. The derived file is looked up in parallel with the entry, and opened if
   * `opensUpTo` is set: content up to that size is read whole.
   * @throws errors of the promise of the entry, BrokenImageError for a variant, BusyError, the signal's
   *   reason, errors of the store
   */
  show(
    source: Source,
    path: SourcePath,
    entry: Entry | Promise<Entry>,
    options: {
      readonly preset?: string | undefined;
      readonly opensUpTo?: number | undefined;
      /** The store has denied the picture, which then counts as missing. */
      readonly refusal?: StorageDeniedError | undefined;
      readonly signal: AbortSignal;
    },
  ): Promise<Shown>;
  /**
   * For each entry the paths of its variants by preset, relative to the folder; undefined for entries that
   * are not pictures. Missing ones are made within `safeThumbsCountInOneTime`; the rest is left out. In a
   * source that serves its files nothing is read or made: all have the path for `show`.
   * @throws errors of the store
   */
  variants(
    source: Source,
    folder: SourcePath,
    entries: readonly Entry[],
    signal: AbortSignal,
  ): Promise<readonly (Variants | undefined)[]>;

  /** The icon for a name in the links of a source that serves its files; undefined for other names. */
  iconNamed(source: Source, name: string): string | undefined;

  /**
   * Makes missing and stale thumbnails of these pictures, with one request to the store for all existing
   * ones, and reports the outcome of each. Limited concurrency, no quota.
   * @throws the signal's reason, errors of the store
   */
  makeAll(
    source: Source,
    folder: SourcePath,
    pictures: readonly Entry[],
    signal: AbortSignal,
    onEnd: (picture: Entry, outcome: BatchOutcome) => void,
  ): Promise<void>;

  /**
   * Files that may be derived from items: `of` has the possible paths of an item's thumbnail, variants and own
   * icons; `isShared` recognises icons of several items, and their folder.
   */
  derivedIn(source: Source): {
    readonly of: (item: SourcePath) => readonly SourcePath[];
    readonly isShared: (path: SourcePath) => boolean;
  };

  /**
   * Paths relative to its folder, in the form of `describe` and `variants`, of the files that may be derived
   * from an item and from no other. Derived from its name; nothing is read or made.
   */
  drawnNames(source: Source, item: Pick<Entry, 'name' | 'kind'>): readonly string[];

  /** Ends background work after listings. */
  close(): Promise<void>;

  /** Removes the thumbnail of a removed image. This and the next methods log failures, and never throw. */
  removed(location: SourceLocation): Promise<void>;
  /**
   * Moves the thumbnail of a moved image along, unless it is stale; a stale one at the target is replaced or
   * removed. `from` is the version before the move.
   */
  moved(from: SourceVersion, to: SourceLocation): Promise<void>;
  /** As `moved`, for a copy. */
  copied(from: SourceVersion, to: SourceLocation): Promise<void>;
  /** Removes the thumbnail of an image with new content; the next listing makes it anew. */
  changed(location: SourceLocation): Promise<void>;
}

/** A thumbnail that is not stored yet. */
export interface DrawnThumbnail {
  readonly format: ThumbnailFormat;
  readonly bytes: Buffer;
}

/** Paths of a picture's variants by preset. */
export type Variants = Readonly<Record<string, string>>;

/** `current`: nothing to do. `broken`: cannot be drawn. `failed`: for now, or the store rejects it. */
export type BatchOutcome = 'made' | 'current' | 'broken' | 'failed';

/**
 * How an entry is shown: a stored thumbnail with its stat and perhaps opened, then the caller closes it; the
 * markup of an icon; or the entry itself. `failure`: why the proper picture could not be made or stored now.
 */
export type Shown =
  | {
      readonly kind: 'stored';
      readonly path: SourcePath;
      readonly stat?: Stat | undefined;
      readonly read?: ReadResult | undefined;
    }
  | { readonly kind: 'icon'; readonly svg: string; readonly failure?: unknown }
  | { readonly kind: 'self'; readonly failure?: unknown };

/** The item for which an icon generator draws. */
export interface IconEntry {
  /** Path inside the source, without a leading slash: `reports/2026.pdf`. */
  readonly path: string;
  readonly isFile: boolean;
  readonly isDirectory: boolean;
  /** Bytes; undefined for folders and where the store does not report it. */
  readonly size: number | undefined;
}

/**
 * Hook: draws the icon of a folder or of a file that is not an image. Returns SVG markup, in which it must
 * escape names and other texts. Called once per item, and again when the item has changed. When it throws,
 * the default icon is used.
 */
export type SvgGenerator = (entry: IconEntry, width: number, height: number) => string | Promise<string>;
