import { extensionOf } from '../content/extension.ts';
import { mimeTypeOf } from '../content/mime-type.ts';
import type { DocumentJob, ReadOwn } from '../documents/documents.ts';
import { AccessDeniedError, FileTooLargeError, NotFoundError } from '../errors/errors.ts';
import { textField } from '../parameters/fields.ts';
import type { ActionContext } from './action.ts';
import { findItem } from './item.ts';
import { openedSource } from './open-source.ts';
import { filesOfPublicUrl, type PublicFile } from './public-url.ts';
import { sourceFor } from './select-source.ts';

/** What a document is made of. */
export const htmlField = textField.describe('The content, as HTML. Scripts in it never run.');

const readFile = async (
  context: ActionContext,
  { source, path }: PublicFile,
  { maxBytes, signal }: Parameters<ReadOwn>[1],
): ReturnType<ReadOwn> => {
  const open = await openedSource(context, source);
  const mayRead = ['FILE_DOWNLOAD', 'IMAGE_LOAD'].some((key) =>
    open.access.allows(key, path, extensionOf(path.name)),
  );
  if (!mayRead) throw new AccessDeniedError();
  const { stat } = await findItem(open, path, signal);
  if (stat.kind !== 'file') return undefined;
  if ((stat.size ?? 0) > maxBytes) throw new FileTooLargeError();
  const { stream } = await open.storage.read(path, { ifMatch: stat.etag, signal });
  const chunks: Buffer[] = [];
  let length = 0;
  // Leaving the loop closes the stream.
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > maxBytes) throw new FileTooLargeError();
    chunks.push(chunk);
  }
  return { bytes: Buffer.concat(chunks, length), contentType: mimeTypeOf(path.name) };
};

/**
 * Reads the pictures that the sources of the request show under their public URLs. Whether it says http or https does not count: in
 * addresses without a scheme nobody has said it.
 */
const ownFiles =
  (context: ActionContext): ReadOwn =>
  async (url, options) => {
    for (const file of filesOfPublicUrl(context.sources.all, url.replace(/^https?:/iu, ''))) {
      try {
        const resource = await readFile(context, file, options);
        if (resource !== undefined) return resource;
      } catch (error) {
        // Another source, or a server outside, may have it.
        if (!(error instanceof NotFoundError)) throw error;
      }
    }
    return undefined;
  };

/**
 * What both document actions hand to their engine. The settings are those of the named, else the first source.
 * @throws UnknownSourceError
 */
export const documentJob = (
  context: ActionContext,
  input: { readonly source: string | undefined; readonly html: string },
): DocumentJob => {
  const { pdf, maxFileSize, timeoutLimit } = sourceFor(context.sources, input.source).settings;
  return {
    html: input.html,
    resources: { enabled: pdf.isRemoteEnabled, maxBytes: maxFileSize, timeoutMs: timeoutLimit * 1000 },
    readOwn: ownFiles(context),
    signal: context.signal,
  };
};
