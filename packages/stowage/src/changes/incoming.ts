import type { Readable } from 'node:stream';
import { extensionOf } from '../basics/content/file-type.ts';
import { limited } from '../basics/content/parse-budget.ts';
import type { InspectionVerdict } from '../config/event.ts';
import type { Settings } from '../config/settings.ts';
import { ChangedMeanwhileError } from '../errors/errors.ts';
import type { ReceivingPolicy } from '../pictures/engine.ts';
import type { PictureFile } from '../pictures/picture-file.ts';
import type { Stat } from '../storage/adapter.ts';
import { streamOf } from '../storage/content.ts';
import type { CopyFileOptions, ReplacedContent } from '../storage/copy-tree.ts';
import { isSameVersion } from '../storage/entry.ts';
import type { StoreLocation } from '../storage/location.ts';
import { stageContent } from '../storage/staging.ts';
import type { SourceView } from '../view/source-view.ts';
import { storeOf } from '../view/writable.ts';
import type { ChangeContext, NewContent } from './change.ts';
import { nameFor, newFileName, policyFor } from './new-name.ts';
import { fileTooLarge, type InspectionContext, inspectStaged, type UploadedFile } from './uploaded-file.ts';

type Context = Pick<ChangeContext, 'signal'> & {
  readonly services: Pick<ChangeContext['services'], 'images' | 'thumbnails'>;
};

/**
 * Stages content for a source, as an uploaded file of this name. The caller discards it.
 * @throws the content's own error, the signal's reason, errors of the store
 */
export const stageFile = async (
  { signal }: Pick<ChangeContext, 'signal'>,
  open: SourceView,
  content: Readable | Uint8Array,
  file: Omit<UploadedFile, 'staged' | 'stagedIn'>,
): Promise<UploadedFile> => {
  const storage = storeOf(open);
  const stream = content instanceof Uint8Array ? streamOf(content) : content;
  const staged = await stageContent(storage, stream, { near: file.near, signal });
  return { ...file, staged, stagedIn: storage };
};

/** An uploaded picture in the form that is to be stored. */
export interface ReceivedUpload extends NewContent {
  readonly content: UploadedFile;
  /** Name that fits its format and the settings of the source. */
  readonly name: string;
}

/**
 * Processes an uploaded picture as the policy says. The result is staged in the source's store, and the
 * caller discards it; the upload is discarded here unless it is kept as original. With `isOver` the picture
 * keeps its format.
 * @throws BrokenImageError when it is not a picture or does not decode; UnsupportedError for HEIC without the
 * package that reads it; errors of `newFileName`
 */
export const receiveUpload = async (
  context: Context,
  open: SourceView,
  upload: UploadedFile,
  policy: ReceivingPolicy,
  isOver: boolean,
): Promise<ReceivedUpload> => {
  const { services, signal } = context;
  const { settings } = open.source;
  const { staged, ...received } = await services.images.receive(
    pictureOf(upload),
    isOver ? { ...policy, format: 'keep' } : policy,
    async ({ bytes, isChanged, extensions, size }) => {
      const wanted = nameFor(upload.filename, extensions);
      const name = isOver ? wanted : newFileName(settings, wanted);
      const file = isChanged ? await stageFile(context, open, bytes, upload) : undefined;
      try {
        const drawn = await services.thumbnails.draw(open.source, name, bytes, signal);
        return { staged: file, name, seen: size, thumbnail: drawn };
      } catch (error) {
        await file?.staged.discard();
        throw error;
      }
    },
    signal,
  );
  if (staged === undefined) return { ...received, content: upload };
  if ((settings.uploadImages?.keepOriginal ?? false) !== false)
    return { ...received, content: staged, original: upload };
  await upload.staged.discard();
  return { ...received, content: staged };
};

/** Reads the version of a file that `stat` describes. @throws ChangedMeanwhileError for another version */
const readSame = async ({ storage, path }: StoreLocation, stat: Stat, signal: AbortSignal) => {
  const read = await storage.read(path, { signal });
  if (isSameVersion(stat, read.stat)) return read;
  read.stream.destroy();
  throw new ChangedMeanwhileError();
};

/** The bytes to store for an incoming picture: processed as the policy says, in its own format. */
const receivedPicture = async (
  { services, signal }: Context,
  picture: PictureFile,
  policy: ReceivingPolicy,
): Promise<ReplacedContent> => {
  const keep = { ...policy, format: 'keep' } as const;
  const { bytes } = await services.images.receive(picture, keep, async (received) => received, signal);
  return { content: streamOf(bytes), size: bytes.length };
};

interface IncomingFile {
  readonly size: number | undefined;
  readonly stream: Readable;
  readonly reopen: () => Promise<Readable>;
}

/**
 * The content to store for incoming content. With `sanitizeSvg`, drawings are cleaned and XML is checked, as
 * in uploads; with `uploadImages`, pictures are processed in their own format; all else stays as it is.
 */
const received = async (
  context: Context,
  settings: Settings,
  { size, stream, reopen }: IncomingFile,
  name: string,
): Promise<ReplacedContent> => {
  const policy = policyFor(settings, name);
  if (policy !== undefined)
    return receivedPicture(context, { size, open: () => stream }, policy).finally(() => stream.destroy());
  const extension = extensionOf(name);
  if (!settings.sanitizeSvg || (extension !== 'svg' && extension !== 'xml')) return { content: stream, size };
  stream.destroy();
  const { services, signal } = context;
  const file = { size, open: reopen };
  const cleaned = await services.images.clean(name, file, async ({ content }) => content, signal);
  if (cleaned === undefined) return { content: await reopen(), size };
  return { content: streamOf(cleaned), size: cleaned.length };
};

/**
 * Content to store for a file that enters from another source: processed by the settings, after inspection
 * where the source that it comes from does not inspect. Drawings and XML are read a second time for this.
 * Content to be inspected is staged first, so that exactly the inspected bytes are stored.
 */
export const incomingContent = (
  context: Context & InspectionContext,
  { from: source, to }: { readonly from: SourceView; readonly to: SourceView },
  onInspected: (verdict: InspectionVerdict) => void,
): NonNullable<CopyFileOptions['contentFor']> => {
  const { services, signal } = context;
  const { settings } = to.source;
  const most = settings.maxUploadFileSize;
  const isCovered = services.inspector.covers(source.source.settings, settings);
  return async ({ stat, stream: read }, from, target) => {
    const tooLarge = (): Error => fileTooLarge(target.name, most);
    if (stat.size !== undefined && stat.size > most) {
      read.destroy();
      throw tooLarge();
    }
    const isKnown = stat.size !== undefined;
    // For stores that report no sizes.
    const bounded = (content: Readable): Readable => (isKnown ? content : limited(content, most, tooLarge));
    const stream = bounded(read);
    const reopen = async (): Promise<Readable> => bounded((await readSame(from, stat, signal)).stream);
    if (isCovered) return received(context, settings, { size: stat.size, stream, reopen }, target.name);
    const staged = await stageContent(storeOf(to), stream, { near: target.parent, signal });
    const release = (): Promise<void> => staged.discard();
    try {
      const verdict = await inspectStaged(context, to, target, staged);
      if (verdict !== undefined) onInspected(verdict);
      const reopen = async (): Promise<Readable> => staged.open();
      const entering = { size: staged.size, stream: staged.open(), reopen };
      return { ...(await received(context, settings, entering, target.name)), release };
    } catch (error) {
      await release();
      throw error;
    }
  };
};

/** An uploaded file in the form that the image editor reads. */
export const pictureOf = ({ staged }: UploadedFile): { size: number; open: () => Readable } => ({
  size: staged.size,
  open: () => staged.open(),
});

/**
 * The file to store for an upload with this name. With `sanitizeSvg`, drawings are cleaned and staged in the
 * source's store instead of the upload; all else stays as it is. The caller discards the result; `upload` is
 * discarded here when it is replaced.
 * @throws BrokenImageError when it is malformed or not a drawing; TypeNotAllowedError for XML that browsers
 * show as a page
 */
export const cleanedUpload = async (
  context: Context,
  open: SourceView,
  upload: UploadedFile,
  name: string,
): Promise<UploadedFile> => {
  if (!open.source.settings.sanitizeSvg) return upload;
  const cleaned = await context.services.images.clean(
    name,
    pictureOf(upload),
    ({ content, isReduced }) => stageFile(context, open, content, { ...upload, isReduced }),
    context.signal,
  );
  if (cleaned === undefined) return upload;
  await upload.staged.discard();
  return cleaned;
};
