import { constants } from 'node:buffer';
import * as z from 'zod';
import { sanitizeName } from '../basics/content/file-name.ts';
import { extensionOf, mimeTypeOf } from '../basics/content/file-type.ts';
import { carryOut, storeStaged } from '../changes/carry-out.ts';
import type { UploadKeys } from '../changes/change.ts';
import { stageFile } from '../changes/incoming.ts';
import { checkUpload } from '../changes/new-name.ts';
import { requireRoomForMore } from '../changes/quota.ts';
import type { DocumentJob, ReadOwn } from '../documents/documents.ts';
import {
  alignments,
  leavesRoom,
  orientations,
  type PageLine,
  type PageSetup,
  pageSizeOf,
  paperFormats,
  readLine,
  readMargin,
} from '../documents/page-setup.ts';
import { AccessDeniedError, FileTooLargeError, NotFoundError } from '../errors/errors.ts';
import { choice, optionalTextField, pathField, sourceField, textField } from '../parameters/fields.ts';
import { collect } from '../pictures/picture-file.ts';
import { SourcePath } from '../storage/source-path.ts';
import type { Item, ViewedFile } from '../view/folder-view.ts';
import { accessKeyOf, type ActionContext, defineAction } from './action.ts';
import { GeneratedFileResponse } from './responses.ts';
import { type StoredFiles, storedFilesOf, storedFilesSchema } from './file-upload.ts';
import { entryShownAt, filesOfPublicUrl, itemAt, type PublicFile, type ShownEntry } from './public-files.ts';

/** Most characters of a header or footer. */
const MAX_LINE = 200;

const lineField = (where: string) =>
  optionalTextField
    .refine(
      (text) => text === undefined || text.length <= MAX_LINE,
      `must have at most ${MAX_LINE} characters`,
    )
    // A title may be long, and would be repeated.
    .refine((text = '') => text.split('{title}').length <= 2, 'must have {title} only once')
    .describe(`Text ${where} of every page, with {page}, {pages}, {title} and {date}.`);

const alignField = choice(alignments).describe('Default: center.');

const documentOptionsField = z
  .object({
    format: choice(paperFormats).describe('Default: A4.'),
    page_orientation: choice(orientations).describe('Default: portrait.'),
    margin: optionalTextField
      .refine((text) => text === undefined || readMargin(text) !== undefined, {
        error: 'must be one to four lengths in mm, cm, in, pt or px, such as "2cm"',
        abort: true,
      })
      .transform((text) => (text === undefined ? undefined : readMargin(text)))
      .describe('One to four lengths as in CSS: "20mm", "1in 2cm".'),
    header: lineField('in the header'),
    header_align: alignField,
    footer: lineField('in the footer'),
    footer_align: alignField,
  })
  .refine(
    ({ format, page_orientation: orientation, margin }) =>
      margin === undefined || leavesRoom(pageSizeOf({ format, orientation }), margin),
    { path: ['margin'], message: 'must leave room for the text, and be at most half of the page' },
  )
  .optional();

const lineOf = (text: string | undefined, align: PageLine['align'] = 'center'): PageLine | undefined =>
  text === undefined ? undefined : { parts: readLine(text, new Date()), align };

const pageSetupOf = (options: z.output<typeof documentOptionsField>): PageSetup => ({
  format: options?.format,
  orientation: options?.page_orientation,
  margin: options?.margin,
  header: lineOf(options?.header, options?.header_align),
  footer: lineOf(options?.footer, options?.footer_align),
});

const htmlField = textField
  // The limit of the request body applies.
  .meta({ maxLength: constants.MAX_STRING_LENGTH })
  .describe('The content, as HTML. Scripts in it never run.');

const UNKNOWN_TYPE = mimeTypeOf('');

/** Undefined for a name of another type of file. An unknown extension is part of the name: `Draft 2.1`. */
const documentName = (text: string, extension: string): string | undefined => {
  const name = sanitizeName(text);
  if (name === '' || extensionOf(name) === extension) return name;
  return mimeTypeOf(name) === UNKNOWN_TYPE ? sanitizeName(`${name}.${extension}`) : undefined;
};

/** `name`: saves the document under it instead of returning it. A missing extension is added. */
const savedNameField = (extension: string) =>
  optionalTextField
    .refine(
      (name) => name === undefined || documentName(name, extension) !== undefined,
      `must end in ".${extension}"`,
    )
    .transform((name) => (name === undefined ? undefined : documentName(name, extension)))
    .describe(
      'Saves the document in the folder under this name, like an upload, and returns the stored file.',
    );

/**
 * Saves a document like an upload: by the access rules, limits and conflict strategy of uploads. `make` runs
 * only when name and folder are allowed and the quota is not used up.
 * @throws errors of `make`, and those of uploads
 */
const saveDocument = async (
  context: ActionContext,
  {
    source,
    path,
    name,
  }: { readonly source: string | undefined; readonly path: SourcePath; readonly name: string },
  keys: UploadKeys,
  make: () => Promise<Uint8Array>,
): Promise<StoredFiles> => {
  const view = await context.views.open(source);
  await checkUpload(context, view, { folder: path, filename: name, keys });
  await requireRoomForMore(context, view, path.child(name));
  const file = await stageFile(context, view, await make(), { field: 'name', filename: name, near: path });
  const stored = await storeStaged(context, {
    type: 'create',
    open: view,
    path,
    files: [file],
    keys,
    isForm: true,
  });
  return storedFilesOf(context, view, stored, (one) => `The document "${one.path.name}" was saved.`);
};

const drawnFor = async (
  { services: { thumbnails } }: ActionContext,
  item: Item,
  shown: ShownEntry | undefined,
  signal: AbortSignal,
): Promise<ViewedFile | undefined> => {
  if (shown === undefined) return undefined;
  const { source, path, stat } = item;
  const drawn = await thumbnails.show(source, path, stat, { preset: shown.preset, signal });
  // An icon instead of the picture adds nothing to its alternative text.
  if (drawn.kind === 'icon') throw new NotFoundError();
  return drawn.kind === 'stored' ? item.drawn(drawn.path) : undefined;
};

const readFile = async (
  context: ActionContext,
  { source, path }: PublicFile,
  { maxBytes, signal }: Parameters<ReadOwn>[1],
): ReturnType<ReadOwn> => {
  const view = await context.views.of(source, { signal });
  const shown = await entryShownAt(view, path);
  const entry = shown?.entry ?? path;
  const keys = ['FILE_DOWNLOAD', 'IMAGE_LOAD'];
  if (!keys.some((key) => view.may(key, entry, 'file'))) throw new AccessDeniedError();
  const item = await itemAt(context.views, view, entry);
  if (!keys.some((key) => item.may(key))) throw new NotFoundError();
  if (item.kind !== 'file') return undefined;
  const drawn = await drawnFor(context, item, shown, signal);
  if (drawn === undefined && (item.stat.size ?? 0) > maxBytes) throw new FileTooLargeError();
  const read = drawn ?? item.file;
  const { stream } = await read.open({ ifMatch: drawn === undefined ? item.stat.etag : undefined });
  const bytes = await collect(stream, maxBytes, undefined, () => new FileTooLargeError());
  return { bytes, contentType: mimeTypeOf(read.path.name) };
};

/** Reads pictures of the request's sources by their public URLs. http and https are treated alike. */
const ownFiles =
  (context: ActionContext): ReadOwn =>
  async (url, options) => {
    for (const file of filesOfPublicUrl(context.views.named(undefined), url.replace(/^https?:/iu, ''))) {
      try {
        const resource = await readFile(context, file, options);
        if (resource !== undefined) return resource;
      } catch (error) {
        // Another source, or an external server, may have it.
        if (!(error instanceof NotFoundError)) throw error;
      }
    }
    return undefined;
  };

/** A saved document needs the key at its path, and the right to upload there; else at the folder. */
const keysOf = (key: string) => ({ file: [key, 'FILE_UPLOAD'], folder: [key] }) as const;

/** An action that returns a document, or saves it when the request names it. */
const documentAction = (
  extension: 'pdf' | 'docx',
  { name, contentType, summary }: Record<'name' | 'contentType' | 'summary', string>,
) => {
  const keys = keysOf(accessKeyOf(name));
  return defineAction({
    name,
    load: 'documents',
    changes: false,
    changesWith: 'name',
    takesLongText: true,
    keys,
    summary,
    parameters: z.object({
      source: sourceField,
      path: pathField,
      name: savedNameField(extension),
      html: htmlField,
      options: documentOptionsField,
    }),
    result: { contentType, data: storedFilesSchema },
    run: async (context, input): Promise<GeneratedFileResponse | StoredFiles> => {
      const { source, path, name: savedAs } = input;
      if (savedAs === undefined) context.views.require(keys.folder, path, 'folder');
      const { pdf, maxFileSize, timeoutLimit } = context.views.first(source).settings;
      const job: DocumentJob = {
        html: input.html,
        page: pageSetupOf(input.options),
        resources: { enabled: pdf.isRemoteEnabled, maxBytes: maxFileSize, timeoutMs: timeoutLimit * 1000 },
        readOwn: ownFiles(context),
        signal: context.signal,
      };
      const make = async (filename: string): Promise<Uint8Array> => {
        let document: Uint8Array = new Uint8Array();
        await carryOut(context, {
          type: 'document',
          path: SourcePath.root.child(filename),
          make: async () => (document = await context.services.documents[extension](job)).length,
        });
        return document;
      };
      if (savedAs !== undefined)
        return saveDocument(context, { source, path, name: savedAs }, keys.file, () => make(savedAs));
      const filename = `document.${extension}`;
      return new GeneratedFileResponse({ filename, contentType }, () => make(filename));
    },
  });
};

export const generatePdfAction = documentAction('pdf', {
  name: 'generatePdf',
  contentType: 'application/pdf',
  summary: 'Converts HTML to document.pdf; with a name, to a file of a source.',
});

export const generateDocxAction = documentAction('docx', {
  name: 'generateDocx',
  contentType: 'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
  summary: 'Converts HTML to document.docx; with a name, to a file of a source.',
});
