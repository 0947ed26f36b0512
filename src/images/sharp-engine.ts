import type { Sharp } from 'sharp';
import { BrokenImageError } from '../errors/errors.ts';
import type { Edit, ImageEngine, ThumbnailSpec } from './engine.ts';
import type { TaskQueue } from '../concurrency/task-queue.ts';
import { decodingBytes, editingBytes, requireMemory, turningBytes } from './cost.ts';
import { openPicture, type OpenedPicture } from './open-picture.ts';
import { isLosslessWebp, isWholeGif, sizeInHeader, type PictureFormat } from './picture-format.ts';
import { renderEdit, sizeAfter } from './sharp-edit.ts';
import { asBroken, createSharpLoader } from './sharp-library.ts';
import { turnJpeg } from './turn.ts';

/** Where the engine's work waits for a core and for memory. */
export interface EngineQueues {
  readonly edits: TaskQueue;
  readonly thumbnails: TaskQueue;
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

const encodeThumbnail = (
  picture: Sharp,
  { format, quality }: ThumbnailSpec,
  { metadata }: OpenedPicture,
): Sharp => {
  switch (format) {
    case 'jpeg':
      return picture.flatten({ background: '#ffffff' }).jpeg({ quality });
    case 'png':
      return picture.png({ palette: metadata?.isPalette === true });
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
  return encodeThumbnail(scaled, spec, picture).toBuffer();
};

/** Reads every pixel; what is kept of them is next to nothing. */
const decodeWhole = async (picture: OpenedPicture): Promise<void> => {
  const decoding = await picture.decode();
  await decoding.resize({ width: 16, height: 16, fit: 'fill' }).raw().toBuffer();
};

/**
 * The engine on libvips. Decoding runs outside of the event loop; each task waits until `memory` has room for
 * it.
 */
export const createSharpEngine = (queues: EngineQueues, memory: number): ImageEngine => {
  const load = createSharpLoader();
  const open = async (image: Buffer, frames: 'first' | 'all'): Promise<OpenedPicture> => {
    const sharp = await load();
    return asBroken(() => openPicture(sharp, image, frames));
  };
  const render = async (picture: OpenedPicture, image: Buffer, edit: Edit): Promise<Buffer> => {
    const sharp = await load();
    if (edit.kind === 'turn') {
      const turned = await turnJpeg(sharp, picture, image, edit.turn);
      if (turned !== undefined) {
        // Whatever is written must decode.
        await decodeWhole(picture);
        return turned;
      }
    }
    return renderEdit(sharp, picture, image, edit);
  };
  return {
    thumbnail: async (image, spec, signal) => {
      const picture = await open(image, 'first');
      const render = (): Promise<Buffer> => asBroken(() => renderThumbnail(picture, spec));
      return queues.thumbnails.run(
        render,
        requireMemory(decodingBytes(picture, 'thumbnail'), memory),
        signal,
      );
    },
    edit: async (image, plan, signal) => {
      const picture = await open(image, 'all');
      const edit = plan({ width: picture.width, height: picture.height });
      const isLossless = picture.format === 'webp' && isLosslessWebp(image);
      const bytes = editingBytes(picture, sizeAfter(edit, picture), isLossless);
      const weight = requireMemory(bytes + (edit.kind === 'turn' ? turningBytes(picture) : 0), memory);
      return queues.edits.run(() => asBroken(() => render(picture, image, edit)), weight, signal);
    },
    size: async (beginning) => {
      const named = sizeInHeader(beginning);
      if (named !== undefined)
        return named.isTurned ? undefined : { width: named.width, height: named.height };
      try {
        const { width, height } = await open(beginning, 'first');
        return { width, height };
      } catch (error) {
        if (error instanceof BrokenImageError) return undefined;
        throw error;
      }
    },
    verify: async (image, signal) => {
      const picture = await open(image, 'all');
      if (picture.format === 'gif' && !isWholeGif(image)) throw new BrokenImageError({ detail: 'cut off' });
      const weight = requireMemory(decodingBytes(picture, 'whole'), memory);
      await queues.edits.run(() => asBroken(() => decodeWhole(picture)), weight, signal);
      if (picture.format === 'heif' && picture.metadata?.compression !== 'av1') throw new BrokenImageError();
      return EXTENSIONS[picture.format];
    },
  };
};
