import type { Picture, PictureType } from 'stowage-html-docx';
import type { TaskQueue } from '../../basics/concurrency/queues.ts';
import type { Logger } from '../../basics/log/logger.ts';
import { BrokenImageError } from '../../errors/errors.ts';
import { asBroken, type OpenedPicture, openPicture, type SharpLibrary } from '../../pictures/open-picture.ts';
import type { DocumentResources } from '../document-resources.ts';
import type { LoadResource } from './converter-thread.ts';
import { isSvg, type Drawings } from './drawings.ts';

/** Longest side of a picture that has to be converted: more than any page shows. */
const MAX_SIDE = 3000;

const KEPT: Readonly<Record<string, PictureType>> = { png: 'png', jpeg: 'jpg', gif: 'gif' };

/** Word takes these as they are, except JPEGs that lie on their side or are meant for presses. */
const keptType = ({ format, metadata }: OpenedPicture): PictureType | undefined => {
  const isPlain = metadata !== undefined && (metadata.orientation ?? 1) === 1 && metadata.space !== 'cmyk';
  return isPlain ? KEPT[format] : undefined;
};

/** A copy with memory of its own, which can be handed to a thread. */
const owned = (bytes: Buffer): Uint8Array => new Uint8Array(bytes);

const requireSize = ({ width, height }: { width: number; height: number }, maxPixels: number): void => {
  if (width * height > maxPixels) throw new BrokenImageError('The image has too many pixels.');
};

const converted = async (opened: OpenedPicture): Promise<Picture> => {
  const { width, height } = opened;
  const upright = (await opened.decode())
    .autoOrient()
    .toColourspace('srgb')
    .resize({ width: MAX_SIDE, height: MAX_SIDE, fit: 'inside', withoutEnlargement: true });
  return opened.format === 'jpeg'
    ? { type: 'jpg', bytes: owned(await upright.jpeg({ quality: 90 }).toBuffer()), width, height }
    : { type: 'png', bytes: owned(await upright.png().toBuffer()), width, height };
};

/**
 * Makes a picture one that word processors show: PNG, JPEG and GIF stay as they are, everything else is
 * converted. Drawings are not for here.
 * @throws BrokenImageError when the bytes are not a picture, or one beyond the limits
 */
const preparePicture = (sharp: SharpLibrary, bytes: Buffer, maxPixels: number): Promise<Picture> =>
  asBroken(async () => {
    const opened = await openPicture(sharp, bytes, 'first');
    requireSize(opened, maxPixels);
    const type = keptType(opened);
    const { width, height } = opened;
    return type === undefined ? converted(opened) : { type, bytes: owned(bytes), width, height };
  });

interface ResourceLoaderParts {
  readonly resources: DocumentResources;
  readonly sharp: () => Promise<SharpLibrary>;
  readonly drawings: Drawings;
  /** Where pictures wait for their turn to be decoded. */
  readonly lanes: TaskQueue;
  readonly maxPixels: number;
  readonly signal: AbortSignal;
  readonly log: Logger;
}

/**
 * Loads the pictures and style sheets of one document, through the guarded door.
 */
export const createResourceLoader = (parts: ResourceLoaderParts): LoadResource => {
  const { resources, drawings, lanes, maxPixels, signal, log } = parts;

  const picture = async (bytes: Buffer | undefined): Promise<Picture | undefined> => {
    if (bytes === undefined) return undefined;
    try {
      if (isSvg(bytes)) {
        return await lanes.run(() => drawings.draw({ svg: bytes, maxPixels }, signal), 1, signal);
      }
      const sharp = await parts.sharp();
      return await lanes.run(() => preparePicture(sharp, bytes, maxPixels), 1, signal);
    } catch (reason) {
      signal.throwIfAborted();
      log.info('A picture of a document is left out.', { reason });
      return undefined;
    }
  };

  const sheet = async (url: string): Promise<string | undefined> => {
    const resource = await resources.load(url, 'text/css,*/*;q=0.1');
    // As in browsers, what says that it is something else is not a style sheet.
    const isSheet = /^\s*text\/css\b/iu.test(resource?.contentType ?? 'text/css');
    return isSheet ? resource?.bytes.toString('utf8') : undefined;
  };

  return async (request) => {
    if (request.kind === 'sheet') return sheet(request.url);
    if (request.kind === 'inline') return picture(Buffer.from(request.bytes.buffer));
    return picture((await resources.load(request.url, 'image/*,*/*;q=0.1'))?.bytes);
  };
};
