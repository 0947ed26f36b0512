import { forEachAtOnce } from '../basics/concurrency/queues.ts';
import { sanitizeName } from '../basics/content/file-name.ts';
import type { Create, Passage, Stage } from './change.ts';
import { inspected, type UploadedFile, withFileNameIf } from './uploaded-file.ts';

const AT_ONCE = 4;

const inspectForm = async (
  passage: Passage,
  { open, path: folder, files, isForm }: Create,
): Promise<readonly UploadedFile[]> => {
  const seen = [...files];
  await forEachAtOnce(AT_ONCE, files.entries(), async ([index, file]) => {
    const path = folder.child(sanitizeName(file.filename));
    seen[index] = await withFileNameIf(isForm, file.filename, () => inspected(passage, open, path, file));
  });
  return seen;
};

/**
 * Has all content looked at that users send or fetch, as it came, before it is decoded, named or stored. What
 * enters from another source is looked at while it is copied; what is restored is not.
 * @throws RefusedByInspectionError, InspectionUnavailableError; errors of the host
 */
export const inspection: Stage = async (passage, change, next) => {
  if (change.type === 'create') return next({ ...change, files: await inspectForm(passage, change) });
  if (change.type === 'replace')
    return next({ ...change, file: await inspected(passage, change.open, change.path, change.file) });
  // The stages behind it get the content from who made the change: it was looked at before it was decoded.
  if (change.type === 'edit' && change.sent !== undefined)
    await inspected(passage, change.open, change.path, change.sent);
  return next(change);
};
