import * as z from 'zod';
import type { Source } from '../../sources/source.ts';
import type { TrashRecord } from '../../view/trashed.ts';
import { sourceHeader } from '../listing/each-source.ts';

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
  source: Source,
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
