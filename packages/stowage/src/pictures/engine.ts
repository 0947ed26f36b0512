/**
 * Most bytes of a picture that is read into memory to be decoded. Of a larger file a listing shows the icon
 * of its extension.
 */
export const MAX_PICTURE_BYTES = 64 * 1024 * 1024;

/** Most pixels that are decoded for one task, all frames together, as the header gives them. */
export const MAX_DECODED_PIXELS = 0x4000 * 0x3fff;

/** Most pixels of a frame that an edit may make. */
export const MAX_RESULT_PIXELS = 100_000_000;

/** Formats that thumbnails are written in. */
export type ThumbnailFormat = 'jpeg' | 'png' | 'gif' | 'webp' | 'avif';

/** A point of a picture as it is seen, as shares of its sides from the upper left corner. */
export interface PicturePoint {
  readonly x: number;
  readonly y: number;
}

/** What a thumbnail shall be. */
export interface ThumbnailSpec {
  /** Pixels of the box that it is made for; without one side the other decides. */
  readonly width: number | undefined;
  readonly height: number | undefined;
  /** `inside`: scaled down until it fits; `cover` and `contain`: exactly the box, cut off or with space. */
  readonly fit: 'inside' | 'cover' | 'contain';
  /** What `cover` keeps in view; by default the middle. */
  readonly focus?: PicturePoint | undefined;
  readonly format: ThumbnailFormat;
  /** Of JPEG, WebP and AVIF, 1 to 100. */
  readonly quality: number;
}

/** Size in pixels of a picture as it is meant to be seen. */
export interface PictureSize {
  readonly width: number;
  readonly height: number;
}

/** The size that a picture has in a thumbnail or variant: what `inside` leaves as it is keeps its own. */
export const sizeWithin = (
  { width, height, fit }: Pick<ThumbnailSpec, 'width' | 'height' | 'fit'>,
  seen: PictureSize,
): PictureSize => {
  if (fit !== 'inside') return { width: width ?? seen.width, height: height ?? seen.height };
  const shrink = Math.max(1, seen.width / (width ?? seen.width), seen.height / (height ?? seen.height));
  const side = (length: number): number => Math.max(1, Math.round(length / shrink));
  return { width: side(seen.width), height: side(seen.height) };
};

/** Whether a size is that of the picture scaled, to the nearest pixel. */
export const hasShapeOf = ({ width, height }: PictureSize, seen: PictureSize): boolean =>
  Math.abs(width * seen.height - height * seen.width) <= Math.max(seen.width, seen.height) / 2;

/** A part of a picture, in whole pixels from its upper left corner. */
export interface PictureBox extends PictureSize {
  readonly x: number;
  readonly y: number;
}

/** How a picture is rotated: clockwise by the angle, then mirrored as it is seen then. */
export interface Rotation {
  readonly angle: 0 | 90 | 180 | 270;
  /** `horizontal`: left and right change sides. */
  readonly flip: 'horizontal' | 'vertical' | undefined;
}

/** What is to be done with a picture: scale it to a size, cut a box out of it, or rotate it. */
export type Edit =
  | { readonly kind: 'resize'; readonly to: PictureSize }
  | { readonly kind: 'crop'; readonly box: PictureBox }
  | { readonly kind: 'rotate'; readonly rotation: Rotation };

/** What is done to pictures that come in. */
export interface ReceivingPolicy {
  /** Pixels are stored upright instead of with a note of how the camera was held. */
  readonly autoOrient: boolean;
  /** Pixels, as it is seen; smaller pictures stay as they are. */
  readonly maxWidth?: number | undefined;
  readonly maxHeight?: number | undefined;
  /** What stays of EXIF, XMP, IPTC and comments; the colour profile always does. */
  readonly metadata: 'keep' | 'strip' | 'strip-location';
  readonly format: 'keep' | 'webp' | 'avif' | 'jpeg';
  /** Of JPEG, WebP and AVIF that are drawn anew, 1 to 100. */
  readonly quality?: number | undefined;
}

/** A picture that came in, as it is to be stored. */
export interface Received {
  readonly bytes: Buffer;
  /** False: byte for byte what came. */
  readonly isChanged: boolean;
  /** Extensions of its format without dot, the usual one first. */
  readonly extensions: readonly [string, ...string[]];
  readonly size: PictureSize;
}

/**
 * The port to whatever decodes and encodes pictures. Every method recognises the format by content, checks
 * the header against the limits before anything is decoded, and waits in a bounded queue.
 *
 * Errors: BrokenImageError when the bytes do not decode or pass a limit, BusyError when the queue is full,
 * the signal's reason after an abort.
 */
export interface ImageEngine {
  /**
   * The first frame as it is meant to be seen (EXIF orientation applied, colours in sRGB, metadata dropped),
   * in the size that the specification asks for. Waits behind all edits, or goes before those that wait where
   * it is the last part of one that has `begun`.
   */
  thumbnail(
    image: Buffer,
    spec: ThumbnailSpec,
    signal?: AbortSignal,
    queue?: 'begun' | 'thumbnails',
  ): Promise<Buffer>;

  /**
   * The picture edited, in the format that it has. EXIF orientation is applied first, so boxes mean what is
   * seen; the colour profile and the depth are kept (CMYK becomes sRGB), animations stay animated. Other
   * metadata is dropped: previews inside it would go on showing what was cut away. Of an icon file the
   * largest picture is edited and the only one of the result. A JPEG is rotated by its EXIF orientation where
   * that is possible: its pixels and all of its metadata stay.
   *
   * `plan` decides by the size that is seen; what it throws comes out unchanged.
   */
  edit(image: Buffer, plan: (seen: PictureSize) => Edit, signal?: AbortSignal): Promise<Buffer>;

  /**
   * The picture as the policy wants it stored, whole and decodable. Pixels are written anew only when they
   * are rotated, scaled or get another format. Animations and pictures of several pages stay in a format that
   * holds them, transparent ones when the policy asks for JPEG; icons stay as they are. HEIC becomes JPEG
   * where the policy names no format.
   * @throws UnsupportedError for HEIC without the package that reads it
   */
  receive(image: Buffer, policy: ReceivingPolicy, signal?: AbortSignal): Promise<Received>;

  /**
   * The size as it is meant to be seen, by the beginning of a file; undefined when that does not say it.
   * Decodes nothing.
   */
  size(beginning: Buffer): Promise<PictureSize | undefined>;

  /** Decodes all frames and forgets them. Resolves with the usual extension of the format, without dot. */
  verify(image: Buffer, signal?: AbortSignal): Promise<string>;
}

/** Whether an edit leaves a picture of this size as it is. */
export const changesNothing = (edit: Edit, { width, height }: PictureSize): boolean => {
  if (edit.kind === 'rotate') return edit.rotation.angle === 0 && edit.rotation.flip === undefined;
  // A box of this size begins at the corner.
  const size = edit.kind === 'resize' ? edit.to : edit.box;
  return size.width === width && size.height === height;
};

const rotatedPoint = ({ x, y }: PicturePoint, angle: Rotation['angle']): PicturePoint => {
  switch (angle) {
    case 0:
      return { x, y };
    case 90:
      return { x: 1 - y, y: x };
    case 180:
      return { x: 1 - x, y: 1 - y };
    case 270:
      return { x: y, y: 1 - x };
  }
};

const SHARES_OF_ONE = 10_000;

/** Where a point of a picture of this size lies after an edit; undefined when it was cut away. */
export const pointAfter = (edit: Edit, seen: PictureSize, point: PicturePoint): PicturePoint | undefined => {
  const rounded = (share: number): number => Math.round(share * SHARES_OF_ONE) / SHARES_OF_ONE;
  if (edit.kind === 'resize') return point;
  if (edit.kind === 'rotate') {
    const { x, y } = rotatedPoint(point, edit.rotation.angle);
    const { flip } = edit.rotation;
    return { x: rounded(flip === 'horizontal' ? 1 - x : x), y: rounded(flip === 'vertical' ? 1 - y : y) };
  }
  const { box } = edit;
  const x = rounded((point.x * seen.width - box.x) / box.width);
  const y = rounded((point.y * seen.height - box.y) / box.height);
  return Math.min(x, y) < 0 || Math.max(x, y) > 1 ? undefined : { x, y };
};
