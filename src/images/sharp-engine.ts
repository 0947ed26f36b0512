import type { Sharp } from 'sharp';
import { BrokenImageError, InvalidParametersError } from '../errors/errors.ts';
import type { ImageEngine, PictureSize, ThumbnailSpec } from './engine.ts';
import { isWholeGif } from './gif.ts';
import type { Lanes } from './lanes.ts';
import { HEAVY_PIXELS, MAX_DECODED_PIXELS, MAX_RESULT_PIXELS } from './limits.ts';
import { openPicture, type OpenedPicture } from './open-picture.ts';
import type { PictureFormat } from './picture-format.ts';
import { renderEdit } from './sharp-edit.ts';
import { asBroken, createSharpLoader } from './sharp-library.ts';

/** Where the engine's work waits for a core. */
export interface EngineLanes {
  readonly edits: Lanes;
  readonly thumbnails: Lanes;
}

const EXTENSIONS: Readonly<Record<PictureFormat, string>> = {
  jpeg: 'jpg',
  png: 'png',
  gif: 'gif',
  webp: 'webp',
  heif: 'avif',
  tiff: 'tif',
  bmp: 'bmp',
  ico: 'ico',
};

const weightOf = ({ width, height, frames }: PictureSize & { readonly frames: number }): number =>
  width * height * frames > HEAVY_PIXELS ? Number.POSITIVE_INFINITY : 1;

const encodeThumbnail = (picture: Sharp, { format, quality }: ThumbnailSpec): Sharp => {
  switch (format) {
    case 'jpeg':
      return picture.flatten({ background: '#ffffff' }).jpeg({ quality });
    case 'png':
      return picture.png();
    case 'gif':
      return picture.gif();
    case 'webp':
      return picture.webp({ quality });
  }
};

const renderThumbnail = async (picture: OpenedPicture, spec: ThumbnailSpec): Promise<Buffer> => {
  const { size } = spec;
  const scaled = (await picture.decode())
    .autoOrient()
    .resize({ width: size, height: size, fit: 'inside', withoutEnlargement: true });
  return encodeThumbnail(scaled, spec).toBuffer();
};

/** Reads every pixel; what is kept of them is next to nothing. */
const decodeWhole = async (picture: OpenedPicture): Promise<void> => {
  const decoding = await picture.decode();
  await decoding.resize({ width: 16, height: 16, fit: 'fill' }).raw().toBuffer();
};

/** @throws InvalidParametersError */
const requireResult = ({ width, height }: PictureSize, frames: number): void => {
  const pixels = width * height;
  if (pixels > MAX_RESULT_PIXELS || pixels * frames > MAX_DECODED_PIXELS) {
    throw new InvalidParametersError('The result would have too many pixels.');
  }
};

/** The engine on libvips. Decoding runs outside of the event loop, in the given lanes. */
export const createSharpEngine = (lanes: EngineLanes): ImageEngine => {
  const load = createSharpLoader();
  const open = async (image: Buffer, frames: 'first' | 'all'): Promise<OpenedPicture> => {
    const sharp = await load();
    return asBroken(() => openPicture(sharp, image, frames));
  };
  return {
    thumbnail: async (image, spec, signal) => {
      const picture = await open(image, 'first');
      const render = (): Promise<Buffer> => asBroken(() => renderThumbnail(picture, spec));
      return lanes.thumbnails.run(render, weightOf(picture), signal);
    },
    edit: async (image, plan, signal) => {
      const picture = await open(image, 'all');
      const edit = plan({ width: picture.width, height: picture.height });
      const size = edit.kind === 'resize' ? edit.to : edit.box;
      requireResult(size, picture.frames);
      const weight = Math.max(weightOf(picture), weightOf({ ...size, frames: picture.frames }));
      return lanes.edits.run(() => asBroken(() => renderEdit(picture, image, edit)), weight, signal);
    },
    verify: async (image, signal) => {
      const picture = await open(image, 'all');
      if (picture.format === 'gif' && !isWholeGif(image)) throw new BrokenImageError({ detail: 'cut off' });
      await lanes.edits.run(() => asBroken(() => decodeWhole(picture)), weightOf(picture), signal);
      if (picture.format === 'heif' && picture.metadata?.compression !== 'av1') throw new BrokenImageError();
      return EXTENSIONS[picture.format];
    },
  };
};
