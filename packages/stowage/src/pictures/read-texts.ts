import type { Readable } from 'node:stream';
import type { About } from '../storage/about/about.ts';
import { MAX_PICTURE_BYTES } from './engine.ts';
import { headOfJpeg } from './metadata/jpeg.ts';
import { textsOf } from './metadata/texts.ts';
import { pictureBudget, type PictureFormat, sniffPicture } from './picture-format.ts';

/** A picture as it was sent. */
interface Sent {
  readonly size: number | undefined;
  readonly open: () => Readable | Promise<Readable>;
}

/** The memory of all pictures, and how one is read into it. */
interface Reading {
  readonly hold: <Result>(
    kind: 'edits',
    bytes: number | undefined,
    work: () => Promise<Result>,
    signal: AbortSignal,
  ) => Promise<Result>;
  readonly collect: (stream: Readable, limit: number, signal: AbortSignal) => Promise<Buffer>;
}

/** Enough to know the format. */
const SIGNATURE_BYTES = 16;
/** Before the pixels of a JPEG file; cameras and programs write less than a megabyte. */
const MOST_HEAD_BYTES = 8 * 1024 * 1024;

/** The beginning of a file, as long as `isEnough` is false; the stream is destroyed. */
const beginningOf = async (stream: Readable, isEnough: (beginning: Buffer) => boolean): Promise<Buffer> => {
  let beginning = Buffer.alloc(0);
  let chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    length += chunk.length;
    // Joined when it has doubled: each byte is copied a few times at most.
    if (length < 2 * beginning.length && length < MOST_HEAD_BYTES) continue;
    beginning = Buffer.concat(chunks, length);
    chunks = [beginning];
    if (length >= MOST_HEAD_BYTES || isEnough(beginning)) return beginning;
  }
  return Buffer.concat(chunks, length);
};

const readFormat = async (picture: Sent): Promise<PictureFormat | undefined> =>
  sniffPicture(await beginningOf(await picture.open(), (beginning) => beginning.length >= SIGNATURE_BYTES));

/**
 * What a picture says about itself. Of a JPEG file the bytes before its pixels are read, of PNG, WebP and TIFF all of
 * them; of other formats, and of what cannot be read, it is undefined. `open` is called twice.
 * @throws the signal's reason
 */
export const readTexts = async (
  { hold, collect }: Reading,
  picture: Sent,
  signal: AbortSignal,
): Promise<About | undefined> => {
  try {
    const format = await readFormat(picture);
    if (format === undefined) return undefined;
    const isHead = format === 'jpeg';
    const read = async (): Promise<About | undefined> => {
      const stream = await picture.open();
      const file = isHead
        ? await beginningOf(stream, (beginning) => headOfJpeg(beginning).isWhole)
        : await collect(stream, MAX_PICTURE_BYTES, signal);
      return textsOf(file, format, pictureBudget(file));
    };
    const bytes = isHead ? Math.min(picture.size ?? MOST_HEAD_BYTES, MOST_HEAD_BYTES) : picture.size;
    return await hold('edits', bytes, read, signal);
  } catch {
    signal.throwIfAborted();
    return undefined;
  }
};
