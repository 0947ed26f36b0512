import { Readable } from 'node:stream';
import type { Settings } from '../config/settings.ts';
import { extensionOf } from '../content/extension.ts';
import { UnsupportedError } from '../errors/errors.ts';
import { collect } from '../images/collect.ts';
import { cleanSvg, MAX_SVG_BYTES } from '../images/svg/clean-svg.ts';
import type { UploadedFile } from './uploaded-file.ts';

/** The file's content cleaned, from memory. */
const cleanedContent = async ({ staged }: UploadedFile, signal: AbortSignal): Promise<Buffer> =>
  cleanSvg(await collect(staged.open(), MAX_SVG_BYTES, signal));

/**
 * What is to be stored of an uploaded file that gets this name: with `sanitizeSvg`, an SVG file comes out cleaned; all else as it came. The
 * file is cleaned once to know whether that works and again when it is read, so that however many files wait, none stays in memory.
 * @throws BrokenImageError when it is no SVG or malformed
 */
export const cleanedUpload = async (
  settings: Pick<Settings, 'sanitizeSvg'>,
  upload: UploadedFile,
  name: string,
  signal: AbortSignal,
): Promise<UploadedFile> => {
  if (!settings.sanitizeSvg || extensionOf(name) !== 'svg') return upload;
  const { length } = await cleanedContent(upload, signal);
  return {
    ...upload,
    // No store has the cleaned bytes, so placing them streams them there.
    stagedIn: undefined,
    staged: {
      size: length,
      open: () =>
        Readable.from(
          (async function* () {
            yield await cleanedContent(upload, signal);
          })(),
          { objectMode: false },
        ),
      commit: () => Promise.reject(new UnsupportedError({ detail: 'cleaned content belongs to no store' })),
      discard: () => upload.staged.discard(),
    },
  };
};
