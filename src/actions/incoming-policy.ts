import { Readable } from 'node:stream';
import type { Settings } from '../config/settings.ts';
import { extensionOf } from '../content/extension.ts';
import { ChangedMeanwhileError } from '../errors/errors.ts';
import type { ReceivingPolicy } from '../images/engine.ts';
import type { PictureFile } from '../images/image-pool.ts';
import type { Entry, ReadResult, Stat } from '../storage/adapter.ts';
import type { CopyFileOptions, ReplacedContent } from '../storage/copy-tree.ts';
import type { StoreLocation } from '../storage/location.ts';
import { isSameVersion } from '../storage/same-version.ts';
import { stageContent } from '../storage/staging.ts';
import type { ActionContext } from './action.ts';
import { expectedName, isHeicName, policyFor } from './incoming-picture.ts';
import { newFileName, newFolderName } from './new-name.ts';
import type { OpenSource } from './open-source.ts';
import { fileTooLarge, type UploadedFile } from './uploaded-file.ts';

/**
 * The name under which an item of another source may enter a source with these settings: the name that an
 * upload or a new folder would get. Pictures keep their format and name, except HEIC.
 * @throws TypeNotAllowedError, FileTooLargeError (403), UnsafeNameError (400)
 */
export const incomingName = (settings: Settings, { name, kind, size }: Entry): string => {
  if (kind === 'folder') return newFolderName(settings, name);
  const allowed = newFileName(settings, isHeicName(name) ? expectedName(settings, name, 'keep') : name);
  if (size !== undefined && size > settings.maxUploadFileSize)
    throw fileTooLarge(name, settings.maxUploadFileSize);
  return allowed;
};

/**
 * Reads the version of a file that `stat` describes. @throws ChangedMeanwhileError when it is another version
 * now
 */
const readSame = async (
  { storage, path }: StoreLocation,
  stat: Stat,
  signal: AbortSignal,
): Promise<ReadResult> => {
  const read = await storage.read(path, { signal });
  if (isSameVersion(stat, read.stat)) return read;
  read.stream.destroy();
  throw new ChangedMeanwhileError();
};

/** Fails when the content passes the limit: for stores that do not report sizes. */
async function* atMost(
  content: Readable,
  most: number,
  refuse: () => Error,
): AsyncGenerator<Uint8Array, void> {
  let length = 0;
  for await (const chunk of content as AsyncIterable<Uint8Array>) {
    length += chunk.byteLength;
    if (length > most) throw refuse();
    yield chunk;
  }
}

/** What is stored of a picture that enters: what the policy says, in the format that it has. */
const receivedPicture = async (
  { services, signal }: ActionContext,
  picture: PictureFile,
  policy: ReceivingPolicy,
): Promise<ReplacedContent> => {
  const keep = { ...policy, format: 'keep' } as const;
  const { bytes } = await services.images.receive(
    picture,
    keep,
    (received) => Promise.resolve(received),
    signal,
  );
  return { content: Readable.from([bytes], { objectMode: false }), size: bytes.length };
};

/**
 * What is stored of a file that enters a source with these settings: with `sanitizeSvg`, drawings come out
 * cleaned and XML is checked, as uploads are; with `uploadImages`, pictures become what it says, in the
 * format that they have; all else as it is. Drawings and XML are read once more for it.
 */
export const incomingContent =
  (context: ActionContext, settings: Settings): NonNullable<CopyFileOptions['contentFor']> =>
  async ({ stat, stream }, from, target) => {
    const { services, signal } = context;
    const most = settings.maxUploadFileSize;
    const refuse = (): Error => fileTooLarge(target.name, most);
    if (stat.size !== undefined && stat.size > most) {
      stream.destroy();
      throw refuse();
    }
    const policy = policyFor(settings, target.name);
    if (policy !== undefined) {
      const picture = { size: stat.size, open: () => Readable.from(atMost(stream, most, refuse)) };
      return receivedPicture(context, picture, policy).finally(() => stream.destroy());
    }
    const extension = extensionOf(target.name);
    if (settings.sanitizeSvg && (extension === 'svg' || extension === 'xml')) {
      stream.destroy();
      const open = async (): Promise<Readable> => (await readSame(from, stat, signal)).stream;
      const picture = { size: stat.size, open };
      const cleaned = await services.images.clean(
        target.name,
        picture,
        ({ content }) => Promise.resolve(content),
        signal,
      );
      if (cleaned === undefined) return { content: await open(), size: stat.size };
      return { content: Readable.from([cleaned], { objectMode: false }), size: cleaned.length };
    }
    if (stat.size !== undefined) return { content: stream, size: stat.size };
    const counted = Readable.from(atMost(stream, most, refuse), { objectMode: false });
    return { content: counted, size: undefined };
  };

/** An uploaded file as the image editor reads it. */
export const pictureOf = ({ staged }: UploadedFile): { size: number; open: () => Readable } => ({
  size: staged.size,
  open: () => staged.open(),
});

/**
 * What is to be stored of an uploaded file that gets this name: with `sanitizeSvg`, drawings come out
 * cleaned, staged in the source's store instead of what was uploaded; all else as it came. The caller
 * discards the result; `upload` is discarded here when it is replaced.
 * @throws BrokenImageError when it is malformed or not a drawing; TypeNotAllowedError for XML that browsers
 *   show as a page
 */
export const cleanedUpload = async (
  { services, signal }: ActionContext,
  { storage, source }: OpenSource,
  upload: UploadedFile,
  name: string,
): Promise<UploadedFile> => {
  const settings: Pick<Settings, 'sanitizeSvg'> = source.settings;
  if (!settings.sanitizeSvg) return upload;
  const cleaned = await services.images.clean(
    name,
    pictureOf(upload),
    async ({ content, isReduced }) => {
      const stream = Readable.from([content], { objectMode: false });
      const staged = await stageContent(storage, stream, { near: upload.near, signal });
      return { ...upload, staged, stagedIn: storage, isReduced };
    },
    signal,
  );
  if (cleaned === undefined) return upload;
  await upload.staged.discard();
  return cleaned;
};
