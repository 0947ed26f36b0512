import * as z from 'zod';
import { extensionOf, splitExtension } from '../basics/content/file-type.ts';
import { isFilesField, type UploadedFile } from '../changes/uploaded-file.ts';
import { choice } from '../parameters/fields.ts';
import type { SourceView } from '../view/source-view.ts';
import { type Editor, type ListingEditor, editors } from './action.ts';
import { EditorResponse } from './responses.ts';

/** `responseType` of uploads: the editor whose format the response has; without it, the envelope. */
export const responseTypeField = choice(editors.upload).describe(
  'Selects the response format of the built-in upload of this editor, about the first file.',
);

export const listingTypeField = choice(editors.listing).describe(
  "Selects the response format of this editor's picture browser: the pictures of one folder.",
);

/**
 * The uploaded files of a request, in the order of its form; files of other fields are ignored. With
 * `responseType` every field counts: each editor has its own field name.
 */
export const filesOf = (
  { uploads }: { readonly uploads: readonly UploadedFile[] },
  { source }: SourceView,
  editor?: Editor,
): readonly UploadedFile[] =>
  editor === undefined ? uploads.filter(({ field }) => isFilesField(field, source)) : uploads;

const sizeShape = { width: z.number().optional(), height: z.number().optional() };

interface Uploaded extends z.output<z.ZodObject<typeof sizeShape>> {
  readonly name: string;
  readonly url: string;
  readonly bytes: number;
}

/** Links of a picture in several widths: `default`, and others keyed by their width in pixels. */
export type Urls = Readonly<Record<string, string>>;

interface EditorForm {
  readonly uploaded: (
    file: Uploaded,
    more: { readonly all: readonly Uploaded[]; readonly urls?: Urls | undefined },
  ) => object;
  /** Without it, failures are sent in the envelope. */
  readonly failed?: (message: string) => object;
  /** The editor shows the message of a failure only under status 200. */
  readonly readsOnly200?: boolean;
}

const forms: Readonly<Record<Editor, EditorForm>> = {
  // `uploaded` and `fileName` are for version 4, which reads the body only under status 200; later versions
  // read `url` or `urls`, and `error` under any status.
  ckeditor: {
    uploaded: ({ name, url }, { urls }) => ({ uploaded: 1, fileName: name, url, urls }),
    failed: (message) => ({ uploaded: 0, error: { message } }),
    readsOnly200: true,
  },
  // Shows the status of a failure and ignores its body.
  tinymce: {
    uploaded: ({ url }) => ({ location: url }),
    failed: (message) => ({ error: { message } }),
  },
  // Stores all of `file` in its document.
  editorjs: {
    uploaded: ({ url, name, bytes, width, height }) => ({
      success: 1,
      file: { url, name, extension: extensionOf(name), size: bytes, width, height },
    }),
    failed: (message) => ({ success: 0, message }),
  },
  froala: {
    uploaded: ({ url, width, height }) => ({ link: url, width, height }),
    failed: (message) => ({ error: message }),
  },
  suneditor: {
    uploaded: (_, { all }) => ({ result: all.map(({ url, name, bytes }) => ({ url, name, size: bytes })) }),
    failed: (message) => ({ errorMessage: message }),
  },
  easymde: {
    // Inserted as `![](…)`, which a parenthesis would end.
    uploaded: ({ url }) => ({ data: { filePath: url.replaceAll('(', '%28').replaceAll(')', '%29') } }),
    failed: (message) => ({ error: message }),
  },
  trumbowyg: {
    uploaded: ({ url, width, height }) => ({ success: true, file: url, width, height }),
    failed: (message) => ({ success: false, message }),
  },
  url: {
    uploaded: ({ url, name, bytes, width, height }) => ({ url, name, bytes, width, height }),
  },
};

export const editorUploadSchema = z.union([
  z.object({
    uploaded: z.literal(1),
    fileName: z.string(),
    url: z.string(),
    urls: z
      .record(z.string(), z.string())
      .optional()
      .describe(
        '`default`, and the variants with the aspect ratio of the picture, by their width in pixels.',
      ),
  }),
  z.object({ location: z.string() }),
  z.object({
    success: z.literal(1),
    file: z.object({
      url: z.string(),
      name: z.string(),
      extension: z.string().optional(),
      size: z.number(),
      ...sizeShape,
    }),
  }),
  z.object({ link: z.string(), ...sizeShape }),
  z.object({ result: z.array(z.object({ url: z.string(), name: z.string(), size: z.number() })) }),
  z.object({ data: z.object({ filePath: z.string() }) }),
  z.object({ success: z.literal(true), file: z.string(), ...sizeShape }),
  z.object({ url: z.string(), name: z.string(), bytes: z.number(), ...sizeShape }),
]);

export const editorErrorSchema = z.union([
  z.object({ uploaded: z.literal(0), error: z.object({ message: z.string() }) }),
  z.object({ error: z.object({ message: z.string() }) }),
  z.object({ success: z.literal(0), message: z.string() }),
  z.object({ error: z.string() }),
  z.object({ errorMessage: z.string() }),
  z.object({ success: z.literal(false), message: z.string() }),
]);

/** The response to uploads: the data of the protocol, or the format of an editor. */
export const uploadResponse = async <Data extends { readonly items: readonly Uploaded[] }>(
  editor: Editor | undefined,
  data: Data,
  urlsOf: () => Promise<Urls | undefined>,
): Promise<Data | EditorResponse> => {
  const [item] = data.items;
  if (editor === undefined || item === undefined) return data;
  const urls = editor === 'ckeditor' ? await urlsOf() : undefined;
  return new EditorResponse(forms[editor].uploaded(item, { all: data.items, urls }));
};

/** The body for a failure with this status; undefined: the envelope. */
export const editorFailure = (
  editor: Editor,
  status: number,
  messages: readonly string[],
): { readonly status: number; readonly body: object } | undefined => {
  const { failed, readsOnly200 = false } = forms[editor];
  return failed && { status: readsOnly200 ? 200 : status, body: failed(messages.join(' ')) };
};

/** A picture of a folder, for the image browsers of editors. They search for `tag`, the name of the folder. */
const listedPicture = z.object({ url: z.string(), thumb: z.string(), name: z.string(), tag: z.string() });

export type ListedPicture = z.output<typeof listedPicture>;

export const editorListingSchema = z.union([
  z.array(listedPicture),
  z.object({
    result: z.array(
      z.object({
        src: z.string(),
        name: z.string(),
        thumbnail: z.string(),
        alt: z.string(),
        tag: z.string(),
      }),
    ),
  }),
]);

/** An iterable that maps lazily, while the response is written. */
const mapped = <From, To>(items: Iterable<From>, map: (item: From) => To): Iterable<To> => ({
  *[Symbol.iterator]() {
    for (const item of items) yield map(item);
  },
});

export const listingFor = (editor: ListingEditor, pictures: Iterable<ListedPicture>): EditorResponse =>
  new EditorResponse(
    editor === 'froala'
      ? pictures
      : {
          result: mapped(pictures, ({ url, thumb, name, tag }) => ({
            src: url,
            name,
            thumbnail: thumb,
            alt: splitExtension(name).stem,
            tag,
          })),
        },
  );
