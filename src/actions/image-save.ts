import * as z from 'zod';
import { extensionOf } from '../content/extension.ts';
import { FileTooLargeError, InvalidParametersError, NotFoundError } from '../errors/errors.ts';
import type { ReceivingPolicy } from '../images/engine.ts';
import type { DrawnThumbnail } from '../images/thumbnails.ts';
import { optionalTextField, pathField, sourceField } from '../parameters/fields.ts';
import { segmentOf, type SourcePath } from '../storage/source-path.ts';
import { placeStaged } from '../storage/staging.ts';
import { type ActionContext, defineAction } from './action.ts';
import { announce, report } from './changes.ts';
import {
  type JustStored,
  keepOriginal,
  policyFor,
  keepThumbnail,
  receiveUpload,
} from './incoming-picture.ts';
import { cleanedUpload, pictureOf } from './incoming-policy.ts';
import { findItem, requireFolder, requireKind } from './item.ts';
import { writtenLinkOf } from './listing/links.ts';
import { storeByStrategy } from './naming.ts';
import { newFileName } from './new-name.ts';
import { openSource, type OpenSource } from './open-source.ts';
import { type PutMode, putting } from './removal.ts';
import { requirePictureName, requireSvg, savedImageName } from './saved-image-name.ts';
import { filesOf, type UploadedFile } from './uploaded-file.ts';

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

/** What is stored, its name, and what is kept beside it. */
interface Verified {
  readonly upload: UploadedFile;
  readonly name: string;
  readonly original?: UploadedFile | undefined;
  readonly thumbnail?: DrawnThumbnail | undefined;
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
  const { filename, ...rest } = await receiveUpload(context, open, named, wanted);
  try {
    return { ...rest, name: overwrite ? name : newFileName(open.source.settings, filename) };
  } catch (error) {
    await rest.upload.staged.discard();
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
  return { upload: await cleanedUpload(context, open, upload, name), name };
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
): Promise<JustStored> => {
  const { services, signal } = context;
  const { source, storage, access } = open;
  const put = async (target: SourcePath, { createOnly }: PutMode): Promise<Omit<JustStored, 'replaced'>> => {
    access.require(KEY, target, extensionOf(target.name));
    const write = async (how: PutMode): Promise<Omit<JustStored, 'replaced'>> => ({
      path: target,
      stat: await placeStaged(upload.staged, upload.stagedIn, storage, target, { ...how, signal }),
    });
    return putting(context, open, target, { bytes: upload.staged.size, createOnly }, write);
  };
  const { settings } = source;
  const strategy = settings.saveSameFileNameStrategy;
  const wanted = { storage, folder: path.parent, name: path.name, strategy, settings, signal };
  const { stored, replaced } = overwrite
    ? { stored: await put(path, {}), replaced: true }
    : await storeByStrategy({ ...wanted, reservations: services.reservations }, put);
  if (replaced) await services.thumbnails.changed({ source, path: stored.path });
  return { ...stored, replaced };
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
  const content = await verified(context, open, upload, target);
  try {
    const wanted = { path: input.path.child(content.name), overwrite };
    const from = input.name === undefined ? undefined : input.path.child(input.name);
    const { size } = content.upload.staged;
    const change = { type: 'image.edited', source: open.source, from, bytes: size } as const;
    await announce(context, { ...change, path: wanted.path });
    const stored = await store(context, open, content.upload, wanted);
    await keepOriginal(context, open, stored, content.original);
    await keepThumbnail(context, open, stored, content.thumbnail);
    await report(context, { ...change, path: stored.path });
    return { newPath: writtenLinkOf(context.services, open, stored.path), name: stored.path.name };
  } finally {
    await content.upload.staged.discard();
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
