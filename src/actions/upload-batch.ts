import { extensionOf } from '../content/extension.ts';
import { NotFoundError } from '../errors/errors.ts';
import type { Stat } from '../storage/adapter.ts';
import type { SourcePath } from '../storage/source-path.ts';
import { placeStaged } from '../storage/staging.ts';
import type { ActionContext } from './action.ts';
import { placeByStrategy } from './naming.ts';
import type { OpenSource } from './open-source.ts';
import type { PlannedUpload } from './upload-plan.ts';

/** A file that has got its place. */
export interface StoredUpload {
  readonly path: SourcePath;
  readonly stat: Stat;
  readonly replaced: boolean;
}

/** Whether two looks at a place show the same file, as far as the store reports. */
const isSame = (one: Stat, other: Stat): boolean =>
  one.kind === other.kind &&
  (['size', 'modifiedAt', 'etag'] as const).every(
    (field) => one[field] === undefined || other[field] === undefined || one[field] === other[field],
  );

/**
 * Takes away what a request has stored before it failed. A file that somebody has changed since then stays, and so does one that has
 * replaced another: the older content is gone, and the new one is better than none. Works without the request's signal,
 * which may be the reason of the failure.
 */
const withdraw = async (
  { log }: ActionContext,
  { storage }: OpenSource,
  stored: readonly StoredUpload[],
): Promise<void> => {
  for (const { path, stat, replaced } of stored) {
    if (replaced) continue;
    try {
      if (isSame(stat, await storage.stat(path))) await storage.removeFile(path);
    } catch (error) {
      if (!(error instanceof NotFoundError)) log.warn('A failed upload could not be withdrawn.', { error });
    }
  }
};

/** Stores one file by the source's strategy; a second file of the same name in one request never replaces the first. */
const storeOne = async (
  context: ActionContext,
  { source, storage, access }: OpenSource,
  folder: SourcePath,
  { upload, name }: PlannedUpload,
  isRepeated: boolean,
): Promise<StoredUpload> => {
  const { settings } = source;
  const { services, signal } = context;
  const strategy =
    isRepeated && settings.saveSameFileNameStrategy === 'replace'
      ? 'addNumber'
      : settings.saveSameFileNameStrategy;
  const place = { storage, folder, name, strategy, settings, reservations: services.reservations, signal };
  const { stored, replaced } = await placeByStrategy(place, async (path, { createOnly }) => {
    access.require('FILE_UPLOAD', path, extensionOf(path.name));
    const options = { signal, ...(createOnly === undefined ? {} : { createOnly }) };
    return { path, stat: await placeStaged(upload.staged, upload.stagedIn, storage, path, options) };
  });
  return { ...stored, replaced };
};

/**
 * Stores the files of one request in a folder, in their order. When one fails, those before it are withdrawn, except where
 * they have replaced an older file.
 */
export const storeUploads = async (
  context: ActionContext,
  open: OpenSource,
  folder: SourcePath,
  planned: readonly PlannedUpload[],
): Promise<readonly StoredUpload[]> => {
  const stored: StoredUpload[] = [];
  const names = new Set<string>();
  try {
    for (const plan of planned) {
      stored.push(await storeOne(context, open, folder, plan, names.has(plan.name)));
      names.add(plan.name);
    }
  } catch (error) {
    await withdraw(context, open, stored);
    throw error;
  }
  return stored;
};
