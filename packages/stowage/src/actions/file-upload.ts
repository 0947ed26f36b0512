import * as z from 'zod';
import { extensionOf, mediaTypeOf } from '../basics/content/file-type.ts';
import { carryOut } from '../changes/carry-out.ts';
import type { Stored } from '../changes/change.ts';
import { checkUpload, policyFor } from '../changes/new-name.ts';
import { keepRoom, type KeptRoom } from '../changes/quota.ts';
import { invalidParameter, pathField, sourceField, textField } from '../parameters/fields.ts';
import { hasShapeOf } from '../pictures/engine.ts';
import { variantSizesOf } from '../pictures/kept/sizes.ts';
import { aboutSchema } from '../storage/about/about.ts';
import type { SourcePath } from '../storage/source-path.ts';
import type { SourceView } from '../view/source-view.ts';
import { type ActionContext, defineAction } from './action.ts';
import { uploadResponse, filesOf, responseTypeField, type Urls } from './editor-responses.ts';

export const uploadedItemSchema = z.object({
  source: z.string().describe('Name of the source.'),
  path: z.string().describe('The folder, as listings write it: `/` at the root.'),
  name: z.string().describe('The name of the stored file.'),
  url: z
    .string()
    .describe(
      'The link of the file. In `signed` sources with a signature, if the role may download the file.',
    ),
  bytes: z.number(),
  mime: z.string().describe('Media type by the extension.'),
  width: z
    .number()
    .optional()
    .describe('Size of a picture after EXIF orientation, if its header contains it.'),
  height: z.number().optional(),
  about: aboutSchema.optional(),
});

export type UploadedItem = z.output<typeof uploadedItemSchema>;

export const uploadedItem = (
  { services }: ActionContext,
  view: SourceView,
  { path, stat, bytes, seen, about }: Stored,
): UploadedItem => ({
  source: view.source.name,
  path: path.parent.toString() || '/',
  name: path.name,
  url: services.links.to(view.stored(path, stat)),
  bytes,
  mime: mediaTypeOf(path.name),
  ...seen,
  about: view.may('FILES', path, 'file') ? about : undefined,
});

/**
 * Links of a stored picture in the widths of the presets that keep its aspect ratio; undefined without any.
 * Variants that the service does not serve on demand are made here. The file is stored already, so a variant
 * that fails is left out.
 */
export const urlsOf = async (
  { services, signal, log }: ActionContext,
  view: SourceView,
  stored: Stored | undefined,
): Promise<Urls | undefined> => {
  if (stored?.seen === undefined) return undefined;
  const { path, stat, seen } = stored;
  const { source } = view;
  const item = view.stored(path, stat);
  const [variants] = await services.thumbnails
    .variants(source, path.parent, [stat], signal)
    .catch((error: unknown) => {
      log.warn('The variants of an uploaded picture could not be made.', { source: source.name, error });
      return [];
    });
  const { imagePresets: presets } = source.settings;
  const links = variants && services.links.variants(item, variants);
  const sizes = Object.entries(variantSizesOf(presets, links, seen) ?? {});
  const ofShape = sizes.filter(([name, size]) => presets[name]?.fit === 'inside' || hasShapeOf(size, seen));
  if (links === undefined || ofShape.length === 0) return undefined;
  const byWidth = ofShape.map(([name, { width }]): [string, string] => [
    String(width),
    services.links.whole(item, links[name] ?? ''),
  ]);
  return { default: services.links.to(item), ...Object.fromEntries(byWidth) };
};

export const storedFilesSchema = z.object({
  baseurl: z.string(),
  messages: z.array(z.string()).describe('One message for each file.'),
  files: z.array(z.string()).describe('Paths relative to the root of the source.'),
  isImages: z.array(z.boolean()).describe('Parallel to `files`.'),
  items: z.array(uploadedItemSchema).describe('Parallel to `files`.'),
});

export type StoredFiles = z.output<typeof storedFilesSchema>;

export const storedFilesOf = (
  context: ActionContext,
  view: SourceView,
  stored: readonly Stored[],
  messageOf: (stored: Stored) => string,
): StoredFiles => {
  const { baseurl, settings } = view.source;
  return {
    baseurl,
    messages: stored.map(messageOf),
    files: stored.map(({ path }) => path.toString()),
    isImages: stored.map(({ path }) => settings.imageExtensions.includes(extensionOf(path.name) ?? '')),
    items: stored.map((one) => uploadedItem(context, view, one)),
  };
};

const parameters = z.object({
  source: sourceField,
  path: pathField,
  responseType: responseTypeField,
  // A parameter of fileUploadRemote, not of this action: it identifies remote uploads that were sent to the
  // wrong URL.
  url: z.unknown().optional().meta({ sent: false }),
});

type UploadParameters = z.output<typeof parameters>;

// The Jodit client sends a remote upload to the uploader's URL, with the action in the form; an action in the
// URL takes precedence over that.
const MEANT_REMOTE =
  'This is the URL of file uploads. For remote files take the action out of uploader.url and put it into ' +
  'uploader.data.';

const noFiles = (otherField: string | undefined): string =>
  otherField === undefined
    ? 'No files were sent.'
    : `No files were sent: the field "${otherField.slice(0, 100)}" is not one for uploads. Use "files[]".`;

/** @throws InvalidParametersError when the form holds no files */
const requireFiles = (context: ActionContext, view: SourceView, { url, responseType }: UploadParameters) => {
  const files = filesOf(context, view, responseType);
  if (files.length > 0) return files;
  throw invalidParameter('files', url === undefined ? noFiles(context.otherField) : MEANT_REMOTE);
};

const messageOf = ({ path, isReduced }: Stored): string =>
  `The file "${path.name}" was uploaded.` +
  (isReduced === true
    ? ' Scripts, references or other parts that are not allowed in drawings were removed from it.'
    : '');

/** Stores uploaded files: all are validated before the first is stored. */
export const fileUploadAction = defineAction({
  name: 'fileUpload',
  load: 'uploads',
  summary: 'Stores the files of a multipart form in a folder.',
  changes: true,
  takesFiles: true,
  editorResponses: 'upload',
  parameters,
  result: storedFilesSchema,
  run: async (context, input) => {
    const view = await context.views.open(input.source);
    const stored = await carryOut(context, {
      type: 'create',
      open: view,
      path: input.path,
      files: requireFiles(context, view, input),
      keys: ['FILE_UPLOAD'],
      isForm: true,
    });
    const data = storedFilesOf(context, view, stored, messageOf);
    return uploadResponse(input.responseType, data, () => urlsOf(context, view, stored[0]));
  },
});

export const announcedUploadFields = z.object({
  source: sourceField,
  path: pathField,
  filename: textField
    .refine((name) => !name.includes('\0'), 'must not hold NUL')
    .transform((name) => name.split(/[\\/]/u).at(-1) ?? ''),
});

export interface CheckedUpload {
  readonly source: string;
  readonly tenant: string | undefined;
  readonly path: SourcePath;
  readonly filename: string;
  /** Undefined without a quota, and for pictures whose stored form may be smaller than the upload. */
  readonly room: KeptRoom | undefined;
}

/**
 * Rejects an announced file by its name and size, as fileUpload would once it is sent: by rules, type, name,
 * size, folder and quota, where room is reserved under `id`. Checks of the content, and of what may change
 * until then, are left to fileUpload.
 * @throws the errors of fileUpload
 */
export const checkAnnounced = async (
  context: ActionContext,
  { source: name, path, filename }: z.output<typeof announcedUploadFields>,
  { id, bytes }: { readonly id: string; readonly bytes: number },
): Promise<CheckedUpload> => {
  const view = await context.views.open(name);
  const { source } = view;
  const expected = await checkUpload(context, view, { folder: path, filename, bytes });
  const isPicture = policyFor(source.settings, filename) !== undefined;
  const room = isPicture ? undefined : await keepRoom(context, view, path.child(expected), { id, bytes });
  return { source: source.name, tenant: source.tenant, path, filename, room };
};
