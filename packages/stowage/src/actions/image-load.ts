import * as z from 'zod';
import { extensionOf, mimeTypeOf } from '../basics/content/file-type.ts';
import { CorruptError, FileTooLargeError, TypeNotAllowedError } from '../errors/errors.ts';
import { mimeTypeOfPicture } from '../pictures/picture-file.ts';
import { itemShape } from '../parameters/fields.ts';
import type { ReadResult } from '../view/source-view.ts';
import { defineAction } from './action.ts';
import { StreamedText } from './file-answer.ts';

/** As many bytes of a picture as tell its format. */
const HEAD_BYTES = 512;
/** A multiple of three, so that no chunk but the last has padding. */
const CHUNK_BYTES = 48 * 1024;

/**
 * A data URL of at most so many bytes, made while it is sent: a picture of any size takes the memory of a
 * chunk. Ends the stream on every way out.
 */
async function* dataUrl(
  name: string,
  { stream, stat: { size } }: ReadResult,
  most: number,
): AsyncGenerator<string> {
  let waiting: Buffer = Buffer.alloc(0);
  let seen = 0;
  let hasBegun = false;
  const begin = (): string => {
    hasBegun = true;
    return `data:${mimeTypeOfPicture(waiting) ?? mimeTypeOf(name)};base64,`;
  };
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      seen += chunk.length;
      // Of what a store does not tell the size of, only its end shows it.
      if (seen > most) throw new FileTooLargeError();
      waiting = waiting.length === 0 ? chunk : Buffer.concat([waiting, chunk]);
      if (!hasBegun && waiting.length >= HEAD_BYTES) yield begin();
      if (!hasBegun || waiting.length < CHUNK_BYTES) continue;
      const whole = waiting.length - (waiting.length % 3);
      yield waiting.toString('base64', 0, whole);
      waiting = waiting.subarray(whole);
    }
    if (size !== undefined && seen !== size) throw new CorruptError({ detail: 'the picture ended early' });
    if (!hasBegun) yield begin();
    yield waiting.toString('base64');
  } finally {
    stream.destroy();
  }
}

/**
 * Gives an image as a data URL, for editors that may not read it from the file host. By POST only: no other
 * site can trigger that by a link.
 */
export const imageLoadAction = defineAction({
  name: 'imageLoad',
  summary: 'Returns an image as a data URL.',
  methods: ['POST'],
  changes: false,
  parameters: z.object(itemShape),
  result: z.object({ content: z.string().describe('Data URL in base64.'), name: z.string() }),
  run: async (context, input) => {
    const view = await context.views.open(input.source);
    const { settings } = view.source;
    const path = input.path.child(input.name);
    const { stat, file } = await view.find('IMAGE_LOAD', path, 'file');
    if (!settings.imageExtensions.includes(extensionOf(path.name) ?? ''))
      throw new TypeNotAllowedError('This file is not an image.');
    const { maxUploadFileSize: most } = settings;
    const requireSize = (size = 0): void => {
      if (size > most) throw new FileTooLargeError();
    };
    requireSize(stat.size);
    const read = await file.open();
    // An unread stream, of a client that has left, ends with its request.
    context.atEnd(() => read.stream.destroy());
    requireSize(read.stat.size);
    const chunks = dataUrl(path.name, read, most);
    return { content: new StreamedText(chunks), name: path.name };
  },
});
