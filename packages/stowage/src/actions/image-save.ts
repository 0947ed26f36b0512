import * as z from 'zod';
import { sanitizeName } from '../basics/content/file-name.ts';
import { extensionOf, splitExtension } from '../basics/content/file-type.ts';
import { carryOut } from '../changes/carry-out.ts';
import { cleanedUpload, pictureOf, type ReceivedUpload, receiveUpload } from '../changes/incoming.ts';
import { type NamingSettings, newFileName, policyFor, typeNotAllowed } from '../changes/new-name.ts';
import { inspected, textsOfSent, type UploadedFile } from '../changes/uploaded-file.ts';
import type { Settings } from '../config/settings.ts';
import { BrokenImageError, FileTooLargeError, InternalError, ifMissing } from '../errors/errors.ts';
import { invalidParameter, optionalTextField, pathField, sourceField } from '../parameters/fields.ts';
import { segmentOf, type SourcePath } from '../storage/source-path.ts';
import type { SourceView } from '../view/source-view.ts';
import { type ActionContext, defineAction } from './action.ts';
import { filesOf } from './editor-responses.ts';

/** Extensions of pictures, besides `imageExtensions` of the source. */
const PICTURES = new Set('jpg jpeg png gif webp avif bmp ico tif tiff svg'.split(' '));

/** @throws BrokenImageError when the file is not SVG, or cannot be sanitized */
export const requireSvg = async (
  { services, signal }: ActionContext,
  upload: UploadedFile,
): Promise<void> => {
  await services.images.clean('picture.svg', pictureOf(upload), () => Promise.resolve(), signal);
};

/** The extension for a target without one: that of `name`, else by the content. */
const missingExtension = async (context: ActionContext, upload: UploadedFile, name: string | undefined) => {
  const given = name === undefined ? '' : splitExtension(name).extension;
  if (given !== '') return given;
  const { services, signal } = context;
  try {
    return await services.images.verify(pictureOf(upload), signal);
  } catch (error) {
    if (!(error instanceof BrokenImageError)) throw error;
    await requireSvg(context, upload).catch((reason: unknown) => {
      // The client did not declare it as SVG.
      throw reason instanceof BrokenImageError ? error : reason;
    });
    return 'svg';
  }
};

/** @throws TypeNotAllowedError: an image editor saves only pictures, whatever the bytes are */
export const requirePictureName = (settings: Pick<Settings, 'imageExtensions'>, name: string): void => {
  const extension = extensionOf(name) ?? '';
  if (PICTURES.has(extension) || settings.imageExtensions.includes(extension)) return;
  throw typeNotAllowed(name);
};

interface GivenNames {
  readonly name: string | undefined;
  readonly newname: string | undefined;
}

/** Whether only `name` is given, or repeated in full: `a` for `a.png` is a new name, which is taken. */
const namesOwn = (name: string, newname: string | undefined): boolean =>
  newname === undefined || newname.normalize('NFC') === name;

const bareName = ({ filename }: UploadedFile, { name, newname }: GivenNames): string | undefined => {
  const safe = sanitizeName(newname ?? name ?? filename);
  return safe === '' || splitExtension(safe).extension !== '' ? undefined : safe;
};

/**
 * The name for an edited picture: `newname`, else `name`, else that of the upload. A name without an
 * extension gets that of `name`, else one by the content. `name` itself is returned unchanged, even if
 * unsafe: it may be that of an existing file.
 * @throws BrokenImageError when the content has to decide and is not a picture; errors of `newFileName`
 */
export const savedImageName = async (
  context: ActionContext,
  settings: NamingSettings,
  upload: UploadedFile,
  { name, newname }: GivenNames,
): Promise<string> => {
  if (name !== undefined && namesOwn(name, newname) && splitExtension(name).extension !== '') return name;
  const bare = bareName(upload, { name, newname });
  if (bare === undefined) return newFileName(settings, newname ?? name ?? upload.filename);
  return newFileName(settings, `${bare}.${await missingExtension(context, upload, name)}`);
};

const KEY = 'IMAGE_SAVE';

/** @throws InvalidParametersError without a file, FileTooLargeError */
const requireUpload = (context: ActionContext, view: SourceView): UploadedFile => {
  const [upload] = filesOf(context, view);
  if (upload === undefined) throw invalidParameter('files', 'No file was sent.');
  if (upload.staged.size > view.source.settings.maxUploadFileSize) throw new FileTooLargeError();
  return upload;
};

/**
 * Checks SVG, and sanitizes it where the source requires that, as with every upload; other pictures are
 * decoded completely, and converted as the source requires.
 */
const verified = async (
  context: ActionContext,
  view: SourceView,
  upload: UploadedFile,
  { name, overwrite }: { readonly name: string; readonly overwrite: boolean },
): Promise<ReceivedUpload> => {
  const policy = policyFor(view.source.settings, name);
  if (policy !== undefined) {
    const received = await receiveUpload(context, view, { ...upload, filename: name }, policy, overwrite);
    // The name of an existing file is not changed.
    return overwrite ? { ...received, name } : received;
  }
  if (extensionOf(name) !== 'svg') await context.services.images.verify(pictureOf(upload), context.signal);
  else if (!view.source.settings.sanitizeSvg) await requireSvg(context, upload);
  return { content: await cleanedUpload(context, view, upload, name), name };
};

/** Whether the picture replaces an existing file, the one that `name` names. */
const isOverwrite = async (view: SourceView, path: SourcePath, { name, newname }: GivenNames) => {
  if (path.name !== name || !namesOwn(name, newname)) return false;
  return (await view.find(KEY, path, 'file').catch(ifMissing)) !== undefined;
};

/**
 * Saves an edited picture: replaces the image `name`, or creates `newname`. The bytes are stored unchanged
 * (SVG sanitized), unless the source converts pictures.
 */
export const imageSaveAction = defineAction({
  name: 'imageSave',
  load: 'uploads',
  summary: 'Stores an edited image, and replaces the original or stores another file.',
  methods: ['POST'],
  changes: true,
  takesFiles: true,
  parameters: z.object({
    source: sourceField,
    path: pathField,
    name: optionalTextField
      .refine((name) => name === undefined || segmentOf(name) !== undefined, 'must be a single name')
      .transform((name) => (name === undefined ? undefined : segmentOf(name)))
      .describe('The image to replace, unless `newname` is given.'),
    newname: optionalTextField.describe('The name under which the image is stored.'),
  }),
  result: z.object({
    newPath: z.string().describe('Public URL of the stored file.'),
    name: z.string().describe('The name under which the image was stored.'),
  }),
  run: async (context, input) => {
    const view = await context.views.open(input.source);
    const sent = requireUpload(context, view);
    await view.requireFolder(input.path);
    const inspectedAt = (path: SourcePath, file: UploadedFile): Promise<UploadedFile> =>
      inspected(context, view, path, file);
    const bare = bareName(sent, input);
    // The name depends on the content, which is decoded for it.
    const named = bare === undefined ? sent : await inspectedAt(input.path.child(bare), sent);
    const name = await savedImageName(context, view.source.settings, named, input);
    const path = input.path.child(name);
    view.require(KEY, path, 'file');
    requirePictureName(view.source.settings, name);
    const overwrite = await isOverwrite(view, path, input);
    const upload = await inspectedAt(path, named);
    const target = { name: overwrite ? name : newFileName(view.source.settings, name), overwrite };
    // Read before the conversion, which discards metadata.
    const texts = await textsOfSent(context, view.source, upload, name);
    const made = await verified(context, view, upload, target);
    try {
      const [stored] = await carryOut(context, {
        type: 'edit',
        open: view,
        key: KEY,
        path: input.path.child(made.name),
        from: input.name === undefined ? undefined : input.path.child(input.name),
        sent: upload,
        bytes: made.content.staged.size,
        isOver: overwrite,
        make: (store) => store({ ...made, texts }),
      });
      if (stored === undefined) throw new InternalError({ detail: 'a saved picture was not stored' });
      const item = view.stored(stored.path, stored.stat);
      return { newPath: context.services.links.toWritten(item), name: stored.path.name };
    } finally {
      await made.content.staged.discard();
    }
  },
});
