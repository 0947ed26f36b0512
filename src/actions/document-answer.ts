import { Readable } from 'node:stream';
import type { DocumentJob } from '../documents/documents.ts';
import type { ActionContext } from './action.ts';
import { FileAnswer } from './file-answer.ts';
import { sourceFor } from './select-source.ts';

/**
 * What both document actions hand to their engine. The settings are those of the named, else the first source.
 * @throws StowageError UNKNOWN_SOURCE
 */
export const documentJob = (
  { sources, signal }: ActionContext,
  input: { readonly source: string | undefined; readonly html: string },
): DocumentJob => {
  const { pdf, maxFileSize, timeoutLimit } = sourceFor(sources, input.source).settings;
  return {
    html: input.html,
    resources: { enabled: pdf.isRemoteEnabled, maxBytes: maxFileSize, timeoutMs: timeoutLimit * 1000 },
    signal,
  };
};

/** A made document as an answer. */
export const documentAnswer = (filename: string, contentType: string, bytes: Uint8Array): FileAnswer =>
  new FileAnswer({
    filename,
    contentType,
    // Made anew at every request, so there is no version of it.
    stat: { size: bytes.length, modifiedAt: undefined, etag: undefined },
    open: async (range) =>
      Readable.from([range === undefined ? bytes : bytes.subarray(range.start, range.end + 1)], {
        objectMode: false,
      }),
  });
