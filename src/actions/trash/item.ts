import * as z from 'zod';
import type { TrashRecord } from '../../trash/trash.ts';
import { findInTrash } from '../../trash/trash.ts';
import type { ActionContext } from '../action.ts';
import { missing, ruleExtension } from '../item.ts';
import { sourceHeader } from '../listing/each-source.ts';
import { visibleEntries } from '../listing/visibility.ts';
import type { OpenSource } from '../open-source.ts';
import { trashPolicyOf } from '../removal.ts';
import { reservedNames } from '../reserved.ts';

/** What a request may say of an id. Whether it has the form of one is found out where it is looked up. */
export const trashIdField = z
  .string()
  .refine((text) => text.trim() !== '', 'must not be empty')
  .describe('As `trashList` gives it.');

/** Something in the trash, as answers describe it. */
export const trashItemSchema = z.object({
  id: z.string(),
  source: z.string().describe('Name of the source.'),
  path: z.string().describe('The folder that it was in, as listings write it: `/` at the root.'),
  name: z.string(),
  kind: z.enum(['file', 'folder']),
  bytes: z.number().describe('Of a folder with all it holds.'),
  removedAt: z.string().describe('ISO 8601, in UTC.'),
  role: z.string().describe('Of whoever removed it.'),
  subject: z.string().optional().describe('Who removed it, as far as the service was told.'),
  replaced: z.boolean().describe('True: it was not removed but replaced by newer content.'),
});

/** Describes something in the trash. */
export const trashItem = (
  { source }: OpenSource,
  { id, path, kind, bytes, removedAt, role, subject, replaced }: TrashRecord,
): z.output<typeof trashItemSchema> => {
  const { name, path: folder } = sourceHeader(source, path.parent);
  return {
    id,
    source: name,
    path: folder,
    name: path.name,
    kind,
    bytes,
    removedAt: new Date(removedAt).toISOString(),
    role,
    ...(subject === undefined ? {} : { subject }),
    replaced,
  };
};

/** Whether the role could see the item if it were where it was. */
export const isVisible = (
  { source: { settings }, access }: OpenSource,
  { path, kind, bytes, removedAt }: TrashRecord,
): boolean => {
  const folder = path.parent;
  const isShown = visibleEntries(settings, access, folder, {
    folders: true,
    onlyImages: false,
    filterWord: undefined,
  });
  return (
    !path.segments.some(reservedNames(settings)) &&
    access.allows('FILES', folder) &&
    isShown({ name: path.name, kind, size: bytes, modifiedAt: removedAt })
  );
};

/** Whether the rules let the role do this with the item, by where it was. */
export const isAllowed = ({ access }: OpenSource, key: string, { path, kind }: TrashRecord): boolean =>
  access.allows(key, path, ruleExtension(path, kind));

/**
 * The item of an id. What the role could not see where it was is not there.
 * @throws NotFoundError, also for forged ids and where the source has no trash; AccessDeniedError
 */
export const requireTrashed = async (
  { signal }: ActionContext,
  open: OpenSource,
  key: string,
  id: string,
): Promise<TrashRecord> => {
  const hasTrash = trashPolicyOf(open.source.settings) !== undefined;
  const record = hasTrash ? await findInTrash(open.storage, id, { signal }) : undefined;
  if (record === undefined || !isVisible(open, record)) throw missing('file or folder');
  open.access.require(key, record.path, ruleExtension(record.path, record.kind));
  return record;
};
