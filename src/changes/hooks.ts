import { orAborted } from '../concurrency/or-aborted.ts';
import type { SourcePath } from '../storage/source-path.ts';
import type { Change, Create, Done, MakeFolder, Passage, Stage, Transfer } from './change.ts';
import { checkName } from './check-upload.ts';
import { eventOf } from './events.ts';
import { newFolderName, renamedName } from './new-name.ts';
import { type UploadedFile, withFileNameIf } from './uploaded-file.ts';

/** Asks the host. The name that it wants instead; undefined: the own one. */
const ask = async (passage: Passage, change: Change, about: Done): Promise<string | undefined> => {
  const event = eventOf(passage, change, about);
  return event && orAborted(passage.services.events.before(event), passage.signal);
};

/** The bytes that are known before. */
const bytesOf = (change: Change): number | undefined => {
  if ('item' in change) return change.item.stat.size;
  if ('record' in change) return change.record.bytes;
  return change.type === 'edit' ? change.bytes : undefined;
};

const renamed = (change: MakeFolder | Transfer, other: string): SourcePath => {
  const { open, path } = change;
  const { settings } = open.source;
  if (change.type === 'makeFolder') return path.parent.child(newFolderName(settings, other));
  const { item, from } = change;
  // What comes from another source keeps the extension that it may have here.
  const { name } = from.source === open.source ? item.path : path;
  return path.parent.child(renamedName(settings, { kind: item.stat.kind, name }, other));
};

const askForFiles = async (passage: Passage, change: Create): Promise<Create> => {
  const { open, path: folder, keys } = change;
  const files: UploadedFile[] = [];
  for (const file of change.files)
    await withFileNameIf(change.isForm, file.filename, async () => {
      const path = folder.child(checkName(open, folder, file.filename, keys));
      const otherName = await ask(passage, change, { path, bytes: file.staged.size });
      if (otherName !== undefined) checkName(open, folder, otherName, keys);
      files.push({ ...file, otherName });
    });
  return { ...change, files };
};

/**
 * Asks the host before anything changes, when all else allows it. With another name for something new,
 * moved or copied the change begins anew; an uploaded file goes on under it.
 * @throws HttpError of the host; the signal's reason when the client leaves a host that does not answer; for
 *   names of the host what names of clients throw
 */
export const hooks: Stage = async (passage, change, next) => {
  if (change.type === 'create') return next(await askForFiles(passage, change));
  if ('isAsked' in change && change.isAsked === true) return next(change);
  const other = await ask(passage, change, { path: change.path, bytes: bytesOf(change) });
  const isNamed = change.type === 'makeFolder' || 'item' in change;
  if (other === undefined || !isNamed) return next(change);
  const path = renamed(change, other);
  return path.equals(change.path) ? next(change) : { ...change, path, isAsked: true };
};
