import * as z from 'zod';
import { extensionOf, mimeTypeOf } from '../basics/content/file-type.ts';
import { CorruptError, FileTooLargeError, TypeNotAllowedError } from '../errors/errors.ts';
import { mimeTypeOfPicture } from '../pictures/picture-file.ts';
import { itemShape } from '../parameters/fields.ts';
import type { ReadResult } from '../view/source-view.ts';
import { defineAction } from './action.ts';
import { StreamedText } from './responses.ts';

/** Bytes of a picture that suffice to detect its format. */
const HEAD_BYTES = 512;
/** A multiple of three, so that no chunk but the last has padding. */
const CHUNK_BYTES = 48 * 1024;

/** A data URL of at most `most` bytes, streamed in chunks. Destroys the stream in every case. */
async function* dataUrl(name: string, { stream, stat: { size } }: ReadResult, most: number) {
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
      // A store may not report the size; then it is known only at the end.
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

/** Returns an image as a data URL. POST only, so that a link on another site cannot trigger it. */
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
    // When the client disconnects, nothing reads the stream.
    context.atEnd(() => read.stream.destroy());
    requireSize(read.stat.size);
    const chunks = dataUrl(path.name, read, most);
    return { content: new StreamedText(chunks), name: path.name };
  },
});
