import * as z from 'zod';
import { carryOut } from '../changes/carry-out.ts';
import type { NewContent } from '../changes/change.ts';
import { cleanedUpload, pictureOf, policyFor, receiveUpload } from '../changes/incoming.ts';
import { newFileName } from '../changes/new-name.ts';
import type { UploadedFile } from '../changes/uploaded-file.ts';
import { extensionOf } from '../basics/content/extension.ts';
import { FileTooLargeError, InvalidParametersError, NotFoundError } from '../errors/errors.ts';
import type { ReceivingPolicy } from '../pictures/engine.ts';
import { optionalTextField, pathField, sourceField } from '../parameters/fields.ts';
import { segmentOf, type SourcePath } from '../storage/source-path.ts';
import { findItem, requireFolder, requireKind } from '../view/item.ts';
import { openSource, type OpenSource } from '../view/open-source.ts';
import { type ActionContext, defineAction } from './action.ts';
import { filesOf } from './editor-answers.ts';
import { writtenLinkOf } from './listing/links.ts';
import { requirePictureName, requireSvg, savedImageName } from './saved-image-name.ts';

const KEY = 'IMAGE_SAVE';
const parameters = z.object({
  source: sourceField,
  path: pathField,
  name: optionalTextField
    .refine((name) => name === undefined || segmentOf(name) !== undefined, 'must be a single name')
    .transform((name) => (name === undefined ? undefined : segmentOf(name)))
    .describe('The image that is replaced, unless `newname` is given.'),
  newname: optionalTextField.describe('The name to store it under.'),
});

type SaveParameters = z.output<typeof parameters>;

const result = z.object({
  newPath: z.string().describe('Public URL of the stored file.'),
  name: z.string().describe('The name under which it was really stored.'),
});

/** @throws InvalidParametersError without a file, FileTooLargeError */
const requireUpload = (context: ActionContext, open: OpenSource): UploadedFile => {
  const [upload] = filesOf(context, open);
  if (upload === undefined)
    throw new InvalidParametersError({ message: 'No file was sent.', details: { parameters: 'files' } });
  if (upload.staged.size > open.source.settings.maxUploadFileSize) throw new FileTooLargeError();
  return upload;
};

/** What is stored, and its name. */
interface Verified extends NewContent {
  readonly content: UploadedFile;
  readonly name: string;
}

/** A picture as the source wants it. The name follows its format, but that of an existing file stays. */
const received = async (
  context: ActionContext,
  open: OpenSource,
  upload: UploadedFile,
  policy: ReceivingPolicy,
  { name, overwrite }: { readonly name: string; readonly overwrite: boolean },
): Promise<Verified> => {
  const named = { ...upload, filename: name };
  const wanted = overwrite ? ({ ...policy, format: 'keep' } as const) : policy;
  const { upload: content, filename, ...rest } = await receiveUpload(context, open, named, wanted);
  try {
    return { ...rest, content, name: overwrite ? name : newFileName(open.source.settings, filename) };
  } catch (error) {
    await content.staged.discard();
    throw error;
  }
};

/**
 * SVG is checked, and cleaned where the source wants that, as with every upload; other pictures must decode
 * to their end, and become what the source wants.
 */
const verified = async (
  context: ActionContext,
  open: OpenSource,
  upload: UploadedFile,
  target: { readonly name: string; readonly overwrite: boolean },
): Promise<Verified> => {
  const { name } = target;
  const policy = policyFor(open.source.settings, name);
  if (policy !== undefined) return received(context, open, upload, policy, target);
  if (extensionOf(name) !== 'svg') await context.services.images.verify(pictureOf(upload), context.signal);
  else if (!open.source.settings.sanitizeSvg) await requireSvg(context, upload);
  return { content: await cleanedUpload(context, open, upload, name), name };
};

/** Whether the picture goes over an existing file: the one that `name` names. */
const isOverwrite = async (
  { signal }: ActionContext,
  open: OpenSource,
  path: SourcePath,
  name: string | undefined,
): Promise<boolean> => {
  if (path.name !== name) return false;
  try {
    requireKind(await findItem(open, path, signal), 'file');
    return true;
  } catch (error) {
    if (error instanceof NotFoundError) return false;
    throw error;
  }
};

const run = async (context: ActionContext, input: SaveParameters): Promise<z.output<typeof result>> => {
  const open = await openSource(context, input.source);
  const upload = requireUpload(context, open);
  await requireFolder(open, input.path, context.signal);
  const name = await savedImageName(context, open.source.settings, upload, input);
  const path = input.path.child(name);
  open.access.require(KEY, path, extensionOf(name));
  requirePictureName(open.source.settings, name);
  const overwrite = await isOverwrite(context, open, path, input.name);
  const target = { name: overwrite ? name : newFileName(open.source.settings, name), overwrite };
  const made = await verified(context, open, upload, target);
  try {
    const [stored] = await carryOut(context, {
      type: 'edit',
      open,
      key: KEY,
      path: input.path.child(made.name),
      from: input.name === undefined ? undefined : input.path.child(input.name),
      bytes: made.content.staged.size,
      isOver: overwrite,
      make: (store) => store(made),
    });
    const saved = stored?.path ?? path;
    return { newPath: writtenLinkOf(context.services, open, saved), name: saved.name };
  } finally {
    await made.content.staged.discard();
  }
};

/**
 * Stores what an image editor has made: over the image `name`, or as `newname`. The bytes are stored as they
 * came, SVG cleaned, unless the source wants something else of pictures.
 */
export const imageSaveAction = defineAction({
  name: 'imageSave',
  load: 'uploads',
  summary: 'Stores an edited image, over the original or as another file.',
  methods: ['POST'],
  changes: true,
  takesFiles: true,
  parameters,
  result,
  run,
});
