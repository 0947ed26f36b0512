import type { Settings } from '../config/settings.ts';
import { foldedFor } from '../basics/content/file-name.ts';
import type { SourcePath } from '../storage/source-path.ts';
import type { SourceView } from '../view/source-view.ts';
import { storeOf } from '../view/writable.ts';
import type { ChangeContext } from './context.ts';
import { expectedName } from './incoming.ts';
import { isFree, nameTaken } from './names.ts';
import { newFileName } from './new-name.ts';
import { fileTooLarge, withFileName } from './uploaded-file.ts';

/**
 * The name that an upload of this name will probably get: that of a picture follows its content.
 * @throws UnsafeNameError, TypeNotAllowedError
 */
export const uploadName = (settings: Settings, filename: string): string =>
  newFileName(settings, expectedName(settings, filename));

/** The same, where the rules allow it by all of the keys. @throws AccessDeniedError, and as `uploadName` */
export const checkName = (
  open: SourceView,
  folder: SourcePath,
  filename: string,
  keys: readonly string[],
): string => {
  const name = uploadName(open.source.settings, filename);
  open.require(keys, folder.child(name), 'file');
  return name;
};

/**
 * Refuses names that are taken, or wanted twice, while nothing has been stored yet. @throws
 * AlreadyExistsError
 */
export const requireUntaken = async (
  { signal }: Pick<ChangeContext, 'signal'>,
  open: SourceView,
  folder: SourcePath,
  names: readonly { readonly name: string; readonly sent: string; readonly isFree?: boolean }[],
): Promise<void> => {
  const storage = storeOf(open);
  const wanted = new Set<string>();
  for (const { name, sent, isFree: isSeenFree = false } of names) {
    const key = foldedFor(storage, name);
    await withFileName(sent, async () => {
      const isTaken =
        wanted.has(key) || !(isSeenFree || (await isFree({ storage, signal }, folder.child(name))));
      if (isTaken) throw nameTaken(name);
    });
    wanted.add(key);
  }
};

/** What is known of an upload before its bytes are there. */
export interface WantedUpload {
  readonly folder: SourcePath;
  readonly filename: string;
  /** Where it is known. */
  readonly bytes?: number;
  readonly keys?: readonly string[];
}

/**
 * Refuses what can be refused of an upload before its bytes are there: by its name, the rules of all the keys,
 * its size and its folder. The name that it will probably get. What depends on the content, and what may change
 * until then, is checked when it is stored.
 * @throws UnsafeNameError, TypeNotAllowedError, AccessDeniedError, FileTooLargeError, NotFoundError,
 *   AlreadyExistsError
 */
export const checkUpload = async (
  context: Pick<ChangeContext, 'signal'>,
  open: SourceView,
  { folder, filename, bytes = 0, keys = ['FILE_UPLOAD'] }: WantedUpload,
): Promise<string> => {
  const { maxUploadFileSize, saveSameFileNameStrategy } = open.source.settings;
  const name = checkName(open, folder, filename, keys);
  if (bytes > maxUploadFileSize) throw fileTooLarge(filename, maxUploadFileSize);
  await open.requireFolder(folder);
  if (saveSameFileNameStrategy === 'error')
    await requireUntaken(context, open, folder, [{ name, sent: filename }]);
  return name;
};
