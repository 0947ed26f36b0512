import * as z from 'zod';
import { extensionOf } from '../content/extension.ts';
import { mimeTypeOf } from '../content/mime-type.ts';
import type { DocumentJob, ReadOwn } from '../documents/documents.ts';
import { orientations, paperFormats } from '../documents/pdf/paper.ts';
import { AccessDeniedError, FileTooLargeError, NotFoundError } from '../errors/errors.ts';
import { choice, pathField, sourceField, textField } from '../parameters/fields.ts';
import { SourcePath } from '../storage/source-path.ts';
import { type ActionContext, defineAction } from './action.ts';
import { announce, report } from './changes.ts';
import { MadeFileAnswer } from './file-answer.ts';
import { findItem } from './item.ts';
import { openedSource, sourceFor } from './open-source.ts';
import { filesOfPublicUrl, type PublicFile } from './public-url.ts';

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
 * Reads the pictures that the sources of the request show under their public URLs. Whether it says http or
 * https does not count: in addresses without a scheme nobody has said it.
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
 * What both document actions hand to their engine. The settings are those of the named, else the first
 * source.
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

/** Makes a document, if the host lets it, and reports it. */
const made = async <Document>(
  context: ActionContext,
  name: string,
  make: () => Promise<Document>,
): Promise<Document> => {
  const change = { type: 'document.made', path: SourcePath.root.child(name) } as const;
  await announce(context, change);
  const document = await make();
  await report(context, change);
  return document;
};

const PDF = 'application/pdf';

/** Renders HTML as a PDF file. */
export const generatePdfAction = defineAction({
  name: 'generatePdf',
  load: 'documents',
  summary: 'Renders HTML as document.pdf.',
  changes: false,
  takesLongText: true,
  parameters: z.object({
    source: sourceField,
    path: pathField,
    html: htmlField,
    options: z
      .object({
        format: choice(paperFormats).describe('A4 when absent.'),
        page_orientation: choice(orientations).describe('portrait when absent.'),
      })
      .optional(),
  }),
  result: { contentType: PDF },
  run: async (context, input) => {
    context.access.require('GENERATE_PDF', input.path);
    const paper = { format: input.options?.format, orientation: input.options?.page_orientation };
    const job = { ...documentJob(context, input), paper };
    return new MadeFileAnswer({
      filename: 'document.pdf',
      contentType: PDF,
      make: () => made(context, 'document.pdf', () => context.services.documents.pdf(job)),
    });
  },
});

const DOCX = 'application/vnd.openxmlformats-officedocument.wordprocessingml.document';

/** Converts HTML into a DOCX file. */
export const generateDocxAction = defineAction({
  name: 'generateDocx',
  load: 'documents',
  summary: 'Converts HTML into document.docx.',
  changes: false,
  takesLongText: true,
  parameters: z.object({ source: sourceField, path: pathField, html: htmlField }),
  result: { contentType: DOCX },
  run: async (context, input) => {
    context.access.require('GENERATE_DOCX', input.path);
    const job = documentJob(context, input);
    return new MadeFileAnswer({
      filename: 'document.docx',
      contentType: DOCX,
      make: () => made(context, 'document.docx', () => context.services.documents.docx(job)),
    });
  },
});
