import type { Settings } from '../config/settings.ts';
import type { EntryKind } from '../storage/adapter.ts';
import type { SourcePath } from '../storage/source-path.ts';
import { copyIntoTrash, eraseFromTrash, putIntoTrash, type Remover } from '../trash/trash.ts';
import type { TrashPolicy } from '../trash/sweep.ts';
import type { ActionContext } from './action.ts';
import { isFree } from './naming.ts';
import type { OpenSource } from './open-source.ts';

/** What a source keeps of removed items; undefined: nothing. */
export const trashPolicyOf = ({ trash }: Pick<Settings, 'trash'>): TrashPolicy | undefined =>
  trash === undefined || trash.retentionDays === 0 ? undefined : trash;

/**
 * Removes an item with its thumbnail: into the trash where the source has one, else for good. The caller has
 * checked the rules and holds the location.
 * @throws NotFoundError, WrongKindError, errors of the store
 */
export const removeItem = async (
  context: ActionContext,
  { source, storage }: OpenSource,
  { path, kind }: { readonly path: SourcePath; readonly kind: EntryKind },
): Promise<void> => {
  const { services, requester, signal } = context;
  const policy = trashPolicyOf(source.settings);
  if (policy !== undefined) {
    const { bytes } = await putIntoTrash(storage, { path, kind }, by(requester), { signal });
    services.trash.tend(storage, policy, context.holdSources, bytes);
  } else if (kind === 'file') await storage.removeFile(path, { signal });
  else await storage.removeFolder(path, { signal });
  await services.thumbnails.removed({ source, path });
};

const by = ({ role, subject }: ActionContext['requester']): Remover => ({
  role,
  subject,
});

/**
 * Has a file replaced by `put`. Where the source keeps what is replaced, its old content is copied into the
 * trash before; nobody else replaces it meanwhile, so that no version is lost between the two. A copy whose
 * original was not replaced is removed again.
 * @throws what `put` throws, errors of the store
 */
export const replacing = async <Stored>(
  context: ActionContext,
  { source, storage }: OpenSource,
  path: SourcePath,
  put: () => Promise<Stored>,
): Promise<Stored> => {
  const policy = trashPolicyOf(source.settings);
  if (policy === undefined || source.settings.trash?.keepReplaced !== true) return put();
  const { services, requester, signal } = context;
  return services.locations.hold([{ storage, path }], { signal }, async () => {
    if (await isFree({ storage, signal }, path)) return put();
    const kept = await copyIntoTrash(storage, path, by(requester), { signal });
    try {
      const stored = await put();
      services.trash.tend(storage, policy, context.holdSources, kept.bytes);
      return stored;
    } catch (error) {
      await eraseFromTrash(storage, kept).catch(() => undefined);
      throw error;
    }
  });
};
