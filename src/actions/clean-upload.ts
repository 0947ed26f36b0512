import { Readable } from 'node:stream';
import type { Settings } from '../config/settings.ts';
import { stageContent } from '../storage/staging.ts';
import type { ActionContext } from './action.ts';
import type { OpenSource } from './open-source.ts';
import type { UploadedFile } from './uploaded-file.ts';

/** An uploaded file as the image editor reads it. */
export const pictureOf = ({ staged }: UploadedFile): { size: number; open: () => Readable } => ({
  size: staged.size,
  open: () => staged.open(),
});

/**
 * What is to be stored of an uploaded file that gets this name: with `sanitizeSvg`, drawings come out cleaned, staged in the source's store
 * in place of what was uploaded; all else as it came. Whoever asks discards the result; `upload` is discarded here when it is replaced.
 * @throws BrokenImageError when it is malformed or not a drawing; TypeNotAllowedError for XML that browsers show as a page
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
      const staged = await stageContent(storage, stream, { signal });
      return { ...upload, staged, stagedIn: storage, isReduced };
    },
    signal,
  );
  if (cleaned === undefined) return upload;
  await upload.staged.discard();
  return cleaned;
};
