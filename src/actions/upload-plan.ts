import { extensionOf } from '../content/extension.ts';
import type { SourcePath } from '../storage/source-path.ts';
import type { ActionContext } from './action.ts';
import { cleanedUpload } from './clean-upload.ts';
import { fileTooLarge } from './file-too-large.ts';
import { isFree } from './free-name.ts';
import { nameTaken } from './naming.ts';
import { newFileName } from './new-name.ts';
import type { OpenSource } from './open-source.ts';
import type { UploadedFile } from './uploaded-file.ts';

/** An uploaded file that passed every check, with the name it is to get. */
export interface PlannedUpload {
  readonly upload: UploadedFile;
  readonly name: string;
}

/**
 * Checks one uploaded file, and readies its content for being stored: the one place that every uploaded file passes.
 * @throws UnsafeNameError, BrokenImageError for SVG that cannot be cleaned (400), TypeNotAllowedError, FileTooLargeError, AccessDeniedError (403)
 */
export const prepareUpload = async (
  { signal }: ActionContext,
  { source, access }: OpenSource,
  folder: SourcePath,
  upload: UploadedFile,
): Promise<PlannedUpload> => {
  const name = newFileName(source.settings, upload.filename);
  access.require('FILE_UPLOAD', folder.child(name), extensionOf(name));
  // The edge stops at the largest limit of the sources; this one is the source's own.
  const { maxUploadFileSize: most } = source.settings;
  if (upload.staged.size > most) throw fileTooLarge(name, most);
  return { upload: await cleanedUpload(source.settings, upload, name, signal), name };
};

/** Refuses names that are taken, or wanted twice, while nothing has been stored yet. @throws AlreadyExistsError */
export const requireUntaken = async (
  { signal }: ActionContext,
  { storage }: OpenSource,
  folder: SourcePath,
  planned: readonly PlannedUpload[],
): Promise<void> => {
  const wanted = new Set<string>();
  for (const { name } of planned) {
    if (wanted.has(name) || !(await isFree({ storage, signal }, folder.child(name)))) throw nameTaken(name);
    wanted.add(name);
  }
};
