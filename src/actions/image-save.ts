import { z } from 'zod';
import { extensionOf } from '../content/extension.ts';
import { FileTooLargeError, InvalidParametersError, NotFoundError } from '../errors/errors.ts';
import { optionalTextField, pathField, sourceField } from '../parameters/fields.ts';
import { isSegment, type SourcePath } from '../storage/source-path.ts';
import { placeStaged } from '../storage/staging.ts';
import { type ActionContext, defineAction } from './action.ts';
import { publicUrlOf } from './edit-image.ts';
import { cleanedUpload, pictureOf } from './incoming-policy.ts';
import { findItem, requireFolder, requireKind } from './item.ts';
import { storeByStrategy } from './naming.ts';
import { newFileName } from './new-name.ts';
import { openSource, type OpenSource } from './open-source.ts';
import { replacing } from './removal.ts';
import { requirePictureName, requireSvg, savedImageName } from './saved-image-name.ts';
import { filesOf, type UploadedFile } from './uploaded-file.ts';

const KEY = 'IMAGE_SAVE';
const parameters = z.object({
  source: sourceField,
  path: pathField,
  name: optionalTextField
    .transform((name) => name?.normalize('NFC'))
    .refine((name) => name === undefined || isSegment(name), 'must be a single name')
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
  if (upload === undefined) throw new InvalidParametersError('No file was sent.');
  if (upload.staged.size > open.source.settings.maxUploadFileSize) throw new FileTooLargeError();
  return upload;
};

/**
 * SVG is checked, and cleaned where the source wants that, as with every upload; other pictures must decode
 * to their end.
 */
const verified = async (
  context: ActionContext,
  open: OpenSource,
  upload: UploadedFile,
  name: string,
): Promise<UploadedFile> => {
  if (extensionOf(name) !== 'svg') await context.services.images.verify(pictureOf(upload), context.signal);
  else if (!open.source.settings.sanitizeSvg) await requireSvg(context, upload);
  return cleanedUpload(context, open, upload, name);
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

/** Stores the picture over the file, or under a name that the strategy of the source gives it. */
const store = async (
  context: ActionContext,
  open: OpenSource,
  upload: UploadedFile,
  { path, overwrite }: { readonly path: SourcePath; readonly overwrite: boolean },
): Promise<SourcePath> => {
  const { services, signal } = context;
  const { source, storage, access } = open;
  const put = async (target: SourcePath, options: { readonly createOnly?: boolean }): Promise<SourcePath> => {
    access.require(KEY, target, extensionOf(target.name));
    const place = (): Promise<unknown> =>
      placeStaged(upload.staged, upload.stagedIn, storage, target, { ...options, signal });
    await (options.createOnly === true ? place() : replacing(context, open, target, place));
    return target;
  };
  const { settings } = source;
  const strategy = settings.saveSameFileNameStrategy;
  const wanted = { storage, folder: path.parent, name: path.name, strategy, settings, signal };
  const { stored, replaced } = overwrite
    ? { stored: await put(path, {}), replaced: true }
    : await storeByStrategy({ ...wanted, reservations: services.reservations }, put);
  if (replaced) await services.thumbnails.changed({ source, path: stored });
  return stored;
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
  const target = overwrite ? path : input.path.child(newFileName(open.source.settings, name));
  const content = await verified(context, open, upload, target.name);
  try {
    const stored = await store(context, open, content, { path: target, overwrite });
    return { newPath: publicUrlOf(open, stored), name: stored.name };
  } finally {
    await content.staged.discard();
  }
};

/**
 * Stores what an image editor has made: over the image `name`, or as `newname`. The bytes are stored as they
 * came, SVG cleaned.
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
