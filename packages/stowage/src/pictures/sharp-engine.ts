import type { Sharp } from 'sharp';
import { BrokenImageError, ifOnly } from '../errors/errors.ts';
import {
  type Edit,
  type ImageEngine,
  type PictureSize,
  type Received,
  sizeWithin,
  type ThumbnailSpec,
} from './engine.ts';
import type { TaskQueue } from '../basics/concurrency/queues.ts';
import {
  asBroken,
  createSharpLoader,
  decodeUpright,
  decodingBytes,
  editingBytes,
  type OpenedPicture,
  openPicture,
  requireMemory,
  rotationBytes,
  type SharpLibrary,
  showingBytes,
} from './open-picture.ts';
import { openHeic, requireHeicDecoder } from './heic/open-heic.ts';
import { extensionsOfFormat, pictureBudget, sizeInHeader } from './picture-file.ts';
import { isWholeGif } from './metadata/gif-webp.ts';
import { planReceiving, receivePicture } from './receive-picture.ts';
import { formatOfEdited, paletteEffort, paletteOptions, renderEdit, rotateJpeg, sizeAfter } from './edit.ts';

/** Queues of the engine's work, for cores and memory. */
export interface EngineQueues {
  readonly begun: TaskQueue;
  readonly edits: TaskQueue;
  readonly thumbnails: TaskQueue;
}

/** Maximum number of pages of different sizes, which are read one by one. */
const MAX_ODD_PAGES = 100;

const encodeThumbnail = (
  picture: Sharp,
  { format, quality }: ThumbnailSpec,
  original: OpenedPicture,
  size: PictureSize,
) => {
  const scaled = { original, size, isScaled: true };
  switch (format) {
    case 'jpeg':
      return picture.flatten({ background: '#ffffff' }).jpeg({ quality });
    case 'png':
      return picture.png(paletteOptions(scaled));
    case 'gif':
      return picture.gif({ effort: paletteEffort(scaled) });
    case 'webp':
      return picture.webp({ quality });
    case 'avif':
      return picture.avif({ quality, effort: 2 });
  }
};

/** Scales a picture to cover a box, and crops it around its focal point. */
const coverWithFocus = (
  upright: Sharp,
  seen: PictureSize,
  { width, height }: PictureSize,
  focus: NonNullable<ThumbnailSpec['focus']>,
): Sharp => {
  const scale = Math.max(width / seen.width, height / seen.height);
  const [across, down] = [
    Math.max(width, Math.round(seen.width * scale)),
    Math.max(height, Math.round(seen.height * scale)),
  ];
  const start = (share: number, whole: number, part: number): number =>
    Math.min(whole - part, Math.max(0, Math.round(share * whole - part / 2)));
  return upright
    .resize({ width: across, height: down, fit: 'fill' })
    .extract({ left: start(focus.x, across, width), top: start(focus.y, down, height), width, height });
};

const renderThumbnail = async (picture: OpenedPicture, spec: ThumbnailSpec): Promise<Buffer> => {
  const { width, height } = sizeWithin(spec, picture);
  // The size is computed exactly: the library itself is a pixel off for some JPEG pictures.
  const fit = spec.fit === 'inside' ? 'fill' : spec.fit;
  // The library adds the space after flattening the picture: JPEG would show transparent space as black.
  const background = { r: 255, g: 255, b: 255, alpha: spec.format === 'jpeg' ? 1 : 0 };
  const upright = await decodeUpright(picture);
  const scaled =
    fit === 'cover' && spec.focus !== undefined
      ? coverWithFocus(upright, picture, { width, height }, spec.focus)
      : upright.resize({ width, height, fit, background });
  const { depth, hasProfile } = picture.metadata ?? {};
  // The library converts a profile of deep pixels to Display P3, and does not say so in the result.
  const isP3 = depth === 'ushort' && hasProfile === true;
  const coloured = isP3 ? scaled.withIccProfile('srgb', { attach: false }) : scaled;
  return encodeThumbnail(coloured, spec, picture, { width, height }).toBuffer();
};

/** Decodes every pixel and discards nearly all of the result. */
const readPixels = async (decoding: Sharp): Promise<void> => {
  await decoding.resize({ width: 16, height: 16, fit: 'fill' }).raw().toBuffer();
};

/** Decodes every pixel of a picture. Pages of different sizes cannot be read in one call. */
const decodeWhole = async (picture: OpenedPicture): Promise<void> => {
  const { format, frames, width, height } = picture;
  try {
    await readPixels(await picture.decode());
  } catch (error) {
    if (format !== 'tiff' || frames === 1 || frames > MAX_ODD_PAGES) throw error;
    for (let page = 0; page < frames; page += 1) {
      const decoding = await picture.decode(page);
      const seen = await decoding.metadata();
      // Memory is reserved for pages as large as the first.
      if (seen.width * seen.height > width * height * frames) throw error;
      await readPixels(decoding);
    }
  }
};

/** Rejects content that the decoder would silently show in part or not at all. */
const requireWhole = ({ file, format, metadata }: OpenedPicture): void => {
  if (format === 'gif' && !isWholeGif(file, pictureBudget(file)))
    throw new BrokenImageError({ detail: 'cut off' });
  if (format === 'heic' || (format === 'heif' && metadata?.compression !== 'av1'))
    throw new BrokenImageError();
};

const render = async (sharp: SharpLibrary, picture: OpenedPicture, edit: Edit): Promise<Buffer> => {
  if (edit.kind === 'rotate') {
    const rotated = await rotateJpeg(sharp, picture, edit.rotation);
    if (rotated !== undefined) {
      // The result must decode.
      await decodeWhole(picture);
      return rotated;
    }
  }
  return renderEdit(sharp, picture, edit);
};

/** The engine with libvips, outside of the event loop; each task waits until `memory` has room. */
export const createSharpEngine = (queues: EngineQueues, memory: number): ImageEngine => {
  const load = createSharpLoader();
  const open = async (image: Buffer, frames: 'first' | 'all'): Promise<OpenedPicture> => {
    const sharp = await load();
    return asBroken(() => openPicture(sharp, image, frames));
  };
  return {
    thumbnail: async (image, spec, signal, queue = 'thumbnails') => {
      const picture = await open(image, 'first');
      const render = (): Promise<Buffer> => asBroken(() => renderThumbnail(picture, spec));
      return queues[queue].run(
        render,
        requireMemory(decodingBytes(picture, 'thumbnail') + showingBytes(spec), memory),
        signal,
      );
    },
    edit: async (image, plan, signal) => {
      const picture = await open(image, 'all');
      const edit = plan({ width: picture.width, height: picture.height });
      const bytes = editingBytes(picture, sizeAfter(edit, picture), formatOfEdited(picture));
      const sharp = await load();
      const weight = requireMemory(bytes + (edit.kind === 'rotate' ? rotationBytes(picture) : 0), memory);
      return queues.edits.run(() => asBroken(() => render(sharp, picture, edit)), weight, signal);
    },
    receive: async (image, policy, signal) => {
      const sharp = await load();
      const opened = await open(image, 'all');
      const isHeic = opened.format === 'heic';
      if (isHeic) requireHeicDecoder();
      else requireWhole(opened);
      const picture = isHeic ? openHeic(sharp, opened, signal) : opened;
      const plan = await planReceiving(picture, policy);
      const bytes = plan.isDrawn
        ? editingBytes(picture, plan.size, plan.format)
        : decodingBytes(picture, 'whole');
      const work = (): Promise<Received> =>
        asBroken(() => receivePicture(sharp, plan, () => decodeWhole(picture)));
      return queues.edits.run(work, requireMemory(bytes, memory), signal);
    },
    size: async (beginning) => {
      const named = sizeInHeader(beginning);
      if (named !== undefined)
        return named.isRotated ? undefined : { width: named.width, height: named.height };
      const opened = await open(beginning, 'first').catch(ifOnly(BrokenImageError));
      return opened && { width: opened.width, height: opened.height };
    },
    verify: async (image, signal) => {
      const picture = await open(image, 'all');
      requireWhole(picture);
      const weight = requireMemory(decodingBytes(picture, 'whole'), memory);
      await queues.edits.run(() => asBroken(() => decodeWhole(picture)), weight, signal);
      return extensionsOfFormat[picture.format][0];
    },
  };
};
