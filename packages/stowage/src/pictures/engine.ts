import type { Settings } from '../config/settings.ts';

/** Maximum bytes of a picture that is read for decoding; a larger one is shown by its icon. */
export const MAX_PICTURE_BYTES = 64 * 1024 * 1024;

/** Maximum number of decoded pixels per task, all frames together, according to the header. */
export const MAX_DECODED_PIXELS = 0x4000 * 0x3fff;

/** Maximum number of pixels in a frame of an edited picture. */
export const MAX_RESULT_PIXELS = 100_000_000;

export type ThumbnailFormat = 'jpeg' | 'png' | 'gif' | 'webp' | 'avif';

/** A point of a displayed picture, as fractions of its sides from the upper left corner. */
export interface PicturePoint {
  readonly x: number;
  readonly y: number;
}

export interface ThumbnailSpec {
  /** Size of the box in pixels; a missing side follows from the other. */
  readonly width: number | undefined;
  readonly height: number | undefined;
  /** `inside`: scaled down to fit; `cover` and `contain`: exactly the box, cropped or padded. */
  readonly fit: 'inside' | 'cover' | 'contain';
  /** The point that `cover` keeps in view; by default the centre. */
  readonly focus?: PicturePoint | undefined;
  readonly format: ThumbnailFormat;
  /** Quality of JPEG, WebP and AVIF, 1 to 100. */
  readonly quality: number;
}

/** Size in pixels of a picture in its displayed orientation. */
export interface PictureSize {
  readonly width: number;
  readonly height: number;
}

/** The size of a picture in a thumbnail or variant; `inside` never enlarges it. */
export const sizeWithin = (
  { width, height, fit }: Pick<ThumbnailSpec, 'width' | 'height' | 'fit'>,
  seen: PictureSize,
): PictureSize => {
  if (fit !== 'inside') return { width: width ?? seen.width, height: height ?? seen.height };
  const shrink = Math.max(1, seen.width / (width ?? seen.width), seen.height / (height ?? seen.height));
  const side = (length: number): number => Math.max(1, Math.round(length / shrink));
  return { width: side(seen.width), height: side(seen.height) };
};

/** Whether a size has the aspect ratio of the picture, to the nearest pixel. */
export const hasShapeOf = ({ width, height }: PictureSize, seen: PictureSize): boolean =>
  Math.abs(width * seen.height - height * seen.width) <= Math.max(seen.width, seen.height) / 2;

/** A part of a picture, in whole pixels from its upper left corner. */
export interface PictureBox extends PictureSize {
  readonly x: number;
  readonly y: number;
}

/** A rotation: clockwise by the angle, then mirrored. */
export interface Rotation {
  readonly angle: 0 | 90 | 180 | 270;
  /** `horizontal` swaps left and right. */
  readonly flip: 'horizontal' | 'vertical' | undefined;
}

export type Edit =
  | { readonly kind: 'resize'; readonly to: PictureSize }
  | { readonly kind: 'crop'; readonly box: PictureBox }
  | { readonly kind: 'rotate'; readonly rotation: Rotation };

export type ReceivingPolicy = Omit<NonNullable<Settings['uploadImages']>, 'keepOriginal'>;

/** An uploaded picture in the form to be stored. */
export interface Received {
  readonly bytes: Buffer;
  /** False: the bytes of the upload. */
  readonly isChanged: boolean;
  /** Extensions of its format without dot, the default one first. */
  readonly extensions: readonly [string, ...string[]];
  readonly size: PictureSize;
}

/**
 * The port to the image library. Every method detects the format by content, checks the header against the
 * limits before anything is decoded, and waits in a bounded queue.
 *
 * Errors: BrokenImageError when the bytes do not decode or exceed a limit, BusyError when the queue is full,
 * the signal's reason after an abort.
 */
export interface ImageEngine {
  /**
   * The first frame in its displayed form (EXIF orientation applied, colours in sRGB, metadata removed),
   * scaled to the specification. Has a lower priority than edits, but takes precedence over waiting work when
   * it is the last part of an edit that has `begun`.
   */
  thumbnail(
    image: Buffer,
    spec: ThumbnailSpec,
    signal?: AbortSignal,
    queue?: 'begun' | 'thumbnails',
  ): Promise<Buffer>;

  /**
   * Edits a picture and preserves its format. EXIF orientation is applied first, so boxes refer to the
   * displayed picture; colour profile, colour space and depth are preserved, animations stay animated. Other
   * metadata is removed: embedded previews would still show cropped parts. Of an icon file the largest
   * picture is edited, and becomes the only one. A JPEG is rotated by its EXIF orientation where possible:
   * its pixels and all of its metadata stay.
   *
   * `plan` decides by the displayed size; its errors are rethrown unchanged.
   */
  edit(image: Buffer, plan: (seen: PictureSize) => Edit, signal?: AbortSignal): Promise<Buffer>;

  /**
   * Checks that a picture decodes completely, and processes it by the policy. Pixels are encoded again only
   * when they are rotated, scaled or converted. Animations and pictures of several pages stay in a format
   * that supports them, as do transparent ones when the policy asks for JPEG; icons stay unchanged. HEIC
   * becomes JPEG unless the policy names a format.
   * @throws UnsupportedError for HEIC without the package that decodes it
   */
  receive(image: Buffer, policy: ReceivingPolicy, signal?: AbortSignal): Promise<Received>;

  /** The displayed size, by the beginning of a file; undefined when it does not suffice. Decodes nothing. */
  size(beginning: Buffer): Promise<PictureSize | undefined>;

  /** Decodes all frames and discards them. Resolves with the default extension of the format, without dot. */
  verify(image: Buffer, signal?: AbortSignal): Promise<string>;
}

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

/** Position of a point after an edit of a picture of this size; undefined when it was cropped away. */
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
