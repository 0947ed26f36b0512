import * as z from 'zod';
import { extensionOf } from '../content/extension.ts';
import { InvalidParametersError } from '../errors/errors.ts';
import { pathField, sourceField } from '../parameters/fields.ts';
import type { SourcePath } from '../storage/source-path.ts';
import { type ActionContext, defineAction } from './action.ts';
import { answerFor, responseTypeField } from './editor-answers.ts';
import type { EditorAnswer } from './file-answer.ts';
import { prepareThumbnail } from './incoming-picture.ts';
import { requireFolder } from './item.ts';
import { openSource, type OpenSource } from './open-source.ts';
import {
  type PlannedUpload,
  prepareUpload,
  requireUntaken,
  type StoredUpload,
  storeUploads,
} from './store-uploads.ts';
import { filesOf, naming, type UploadedFile } from './uploaded-file.ts';
import { uploadedItem, uploadedItemSchema } from './uploaded-item.ts';

const parameters = z.object({
  source: sourceField,
  path: pathField,
  responseType: responseTypeField,
  // Not a parameter of this action, but of fileUploadRemote: it gives a request away that came here by
  // mistake.
  url: z.unknown().optional().meta({ sent: false }),
});

type UploadParameters = z.output<typeof parameters>;

// The Jodit client asks for a remote upload at the uploader's URL with the action in the form, where the
// URL's own action wins.
const MEANT_REMOTE =
  'This is the URL of file uploads. For remote files take the action out of uploader.url and put it into ' +
  'uploader.data.';

/** @throws InvalidParametersError when the form holds no files */
const requireFiles = (
  context: ActionContext,
  open: OpenSource,
  { url, responseType }: UploadParameters,
): readonly UploadedFile[] => {
  const files = filesOf(context, open, responseType);
  if (files.length > 0) return files;
  throw new InvalidParametersError(url === undefined ? 'No files were sent.' : MEANT_REMOTE);
};

const result = z.object({
  baseurl: z.string(),
  messages: z.array(z.string()).describe('One per file.'),
  files: z.array(z.string()).describe('Paths relative to the root of the source.'),
  isImages: z.array(z.boolean()).describe('Parallel to `files`.'),
  items: z.array(uploadedItemSchema).describe('Parallel to `files`.'),
});

/** What the answer says of a stored file. */
const messageOf = ({ path, isReduced }: StoredUpload): string =>
  `The file "${path.name}" was uploaded.` +
  (isReduced
    ? ' Scripts, references or other parts that are not allowed in drawings were removed from it.'
    : '');

const storeAll = async (
  context: ActionContext,
  open: OpenSource,
  folder: SourcePath,
  files: readonly UploadedFile[],
): Promise<readonly StoredUpload[]> => {
  const planned: PlannedUpload[] = [];
  try {
    for (const file of files) {
      planned.push(await naming(file.filename, () => prepareUpload(context, open, folder, file)));
    }
    await requireFolder(open, folder, context.signal);
    if (open.source.settings.saveSameFileNameStrategy === 'error') {
      const names = planned.map(({ name }) => name);
      await requireUntaken(context, open, folder, names);
    }
    return await storeUploads(context, open, folder, planned);
  } finally {
    await Promise.all(planned.map(({ upload }) => upload.staged.discard()));
  }
};

const run = async (
  context: ActionContext,
  input: UploadParameters,
): Promise<z.output<typeof result> | EditorAnswer> => {
  const open = await openSource(context, input.source);
  const { baseurl, settings } = open.source;
  const files = requireFiles(context, open, input);
  const stored = await storeAll(context, open, input.path, files);
  for (const one of stored) {
    const { path, replaced } = one;
    if (replaced) await context.services.thumbnails.changed({ source: open.source, path });
    await prepareThumbnail(context, open, one);
  }
  return answerFor(input.responseType, {
    baseurl,
    messages: stored.map(messageOf),
    files: stored.map(({ path }) => path.toString()),
    isImages: stored.map(({ path }) => settings.imageExtensions.includes(extensionOf(path.name) ?? '')),
    items: stored.map((one) => uploadedItem(context, open, one)),
  });
};

/** Stores uploaded files: all are checked before the first is stored. */
export const fileUploadAction = defineAction({
  name: 'fileUpload',
  load: 'uploads',
  summary: 'Stores the files of a multipart form in a folder.',
  changes: true,
  takesFiles: true,
  answersEditors: true,
  parameters,
  result,
  run,
});
