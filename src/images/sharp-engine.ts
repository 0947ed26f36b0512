import type sharpModule from 'sharp';
import type { Metadata, Sharp, SharpOptions } from 'sharp';
import { BrokenImageError, StowageError } from '../errors/errors.ts';
import { readBmpFileHeader } from './bmp-header.ts';
import { decodeBmp } from './bmp.ts';
import type { ImageEngine, ThumbnailSpec } from './engine.ts';
import { decodeIcoBitmap, readIco } from './ico.ts';
import type { Lanes } from './lanes.ts';
import { MAX_DECODED_PIXELS, MAX_PICTURE_BYTES } from './limits.ts';
import { sniffPicture } from './picture-format.ts';
import type { Pixels } from './pixels.ts';

type SharpModule = typeof sharpModule;

/** Pictures beyond this are decoded one at a time, so that the memory of many large ones never adds up. */
const HEAVY_PIXELS = 64_000_000;

/** Bytes are given as a buffer, never as a path: a picture must not be able to name other files of its folder. */
const READ_OPTIONS: SharpOptions = {
  limitInputPixels: MAX_DECODED_PIXELS,
  sequentialRead: true,
  // Cut-off and damaged pictures are refused; the harmless oddities of cameras are not.
  failOn: 'error',
};

/** The package is loaded at the first picture: it takes a tenth of a second, which the start of a service need not wait for. */
const createLoader = (): (() => Promise<SharpModule>) => {
  let loading: Promise<SharpModule> | undefined;
  return () =>
    (loading ??= import('sharp').then(({ default: sharp }) => {
      // Pictures rarely come twice; their pixels would only fill the memory.
      sharp.cache(false);
      return sharp;
    }));
};

/** Turns what the library throws into our error; it says nothing that a client could use. */
const asBroken = async <Result>(work: () => Promise<Result>): Promise<Result> => {
  try {
    return await work();
  } catch (error) {
    throw error instanceof StowageError ? error : new BrokenImageError({ cause: error });
  }
};

const requireDecodable = ({ width, height }: { width: number; height: number }): number => {
  const pixels = width * height;
  if (pixels > MAX_DECODED_PIXELS || pixels < 1) {
    throw new BrokenImageError({
      message: 'The image has too many pixels.',
      detail: `${width}x${height}`,
    });
  }
  return pixels;
};

/** A picture whose header has been read. */
interface Opened {
  /** Of one frame. */
  readonly pixels: number;
  readonly open: () => Promise<Sharp>;
}

const fromPixels = (sharp: SharpModule, { data, width, height, channels }: Pixels): Sharp =>
  sharp(data, { raw: { width, height, channels }, limitInputPixels: MAX_DECODED_PIXELS });

/** Reads the header and checks it. Only the first frame of an animation is going to be decoded. */
const openPicture = async (sharp: SharpModule, image: Buffer): Promise<Opened> => {
  if (image.length > MAX_PICTURE_BYTES) throw new BrokenImageError('The image file is too large.');
  const format = sniffPicture(image);
  if (format === undefined) throw new BrokenImageError();
  if (format === 'bmp') {
    const { width, height } = readBmpFileHeader(image).header;
    return { pixels: width * height, open: async () => fromPixels(sharp, await decodeBmp(image)) };
  }
  const [entry] = format === 'ico' ? readIco(image) : [];
  if (entry?.kind === 'bmp') {
    return {
      pixels: entry.width * entry.height,
      open: async () => fromPixels(sharp, await decodeIcoBitmap(entry)),
    };
  }
  const bytes = entry?.data ?? image;
  const header: Metadata = await sharp(bytes, READ_OPTIONS).metadata();
  return { pixels: requireDecodable(header), open: async () => sharp(bytes, READ_OPTIONS) };
};

const encode = (picture: Sharp, { format, quality }: ThumbnailSpec): Sharp => {
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

/** The engine on libvips. Decoding runs outside of the event loop, in the given lanes. */
export const createSharpEngine = (lanes: Lanes): ImageEngine => {
  const load = createLoader();
  return {
    thumbnail: async (image, spec, signal) => {
      const sharp = await load();
      const { pixels, open } = await asBroken(() => openPicture(sharp, image));
      const render = async (): Promise<Buffer> => {
        const { size } = spec;
        const scaled = (await open())
          .autoOrient()
          .resize({ width: size, height: size, fit: 'inside', withoutEnlargement: true });
        return encode(scaled, spec).toBuffer();
      };
      const weight = pixels > HEAVY_PIXELS ? Number.POSITIVE_INFINITY : 1;
      return lanes.run(() => asBroken(render), weight, signal);
    },
  };
};
