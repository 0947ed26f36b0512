import * as z from 'zod';
import { mimeTypeOf } from '../content/mime-type.ts';
import { sourceHeader } from './listing/each-source.ts';
import type { ActionContext } from './action.ts';
import type { OpenSource } from './open-source.ts';
import type { StoredUpload } from './store-uploads.ts';

/** A stored file, as answers of uploads describe it. */
export const uploadedItemSchema = z.object({
  source: z.string().describe('Name of the source.'),
  path: z.string().describe('The folder, as listings write it: `/` at the root.'),
  name: z.string().describe('The name that the file has got.'),
  url: z.string().describe('The link of the file; signed in sources that ask for it.'),
  bytes: z.number(),
  mime: z.string().describe('Media type by the extension.'),
  width: z.number().optional().describe('Of a picture as it is seen, where its header says so.'),
  height: z.number().optional(),
});

export type UploadedItem = z.output<typeof uploadedItemSchema>;

/** Describes a stored file. */
export const uploadedItem = (
  { services }: ActionContext,
  { source }: OpenSource,
  { path, bytes, seen }: StoredUpload,
): UploadedItem => {
  const { name, path: folder } = sourceHeader(source, path.parent);
  return {
    source: name,
    path: folder,
    name: path.name,
    url: services.links.to(source, path),
    bytes,
    mime: mimeTypeOf(path.name),
    ...seen,
  };
};
