import * as z from 'zod';
import { extensionOf } from '../basics/content/extension.ts';
import { mimeTypeOf } from '../basics/content/mime-type.ts';
import { sourceHeader } from './listing/each-source.ts';
import type { ActionContext } from './action.ts';
import type { SourceView } from '../view/source-view.ts';
import type { Stored } from '../changes/change.ts';

/** A stored file, as answers of uploads describe it. */
export const uploadedItemSchema = z.object({
  source: z.string().describe('Name of the source.'),
  path: z.string().describe('The folder, as listings write it: `/` at the root.'),
  name: z.string().describe('The name that the file has got.'),
  url: z
    .string()
    .describe('The link of the file; signed in sources that ask for it, for whom may download it.'),
  bytes: z.number(),
  mime: z.string().describe('Media type by the extension.'),
  width: z.number().optional().describe('Of a picture as it is seen, where its header says so.'),
  height: z.number().optional(),
});

export type UploadedItem = z.output<typeof uploadedItemSchema>;

/** Describes a stored file. */
export const uploadedItem = (
  { services }: ActionContext,
  view: SourceView,
  { path, stat, bytes, seen }: Stored,
): UploadedItem => {
  const { name, path: folder } = sourceHeader(view.source, path.parent);
  return {
    source: name,
    path: folder,
    name: path.name,
    url: services.links.to(view.stored(path, stat)),
    bytes,
    mime: mimeTypeOf(path.name),
    ...seen,
  };
};

/** What an upload answers. */
export const uploadAnswerSchema = z.object({
  baseurl: z.string(),
  messages: z.array(z.string()).describe('One per file.'),
  files: z.array(z.string()).describe('Paths relative to the root of the source.'),
  isImages: z.array(z.boolean()).describe('Parallel to `files`.'),
  items: z.array(uploadedItemSchema).describe('Parallel to `files`.'),
});

export type UploadAnswer = z.output<typeof uploadAnswerSchema>;

/** Describes stored files, each with a message of its own. */
export const uploadAnswer = (
  context: ActionContext,
  view: SourceView,
  stored: readonly Stored[],
  messageOf: (stored: Stored) => string,
): UploadAnswer => {
  const { baseurl, settings } = view.source;
  return {
    baseurl,
    messages: stored.map(messageOf),
    files: stored.map(({ path }) => path.toString()),
    isImages: stored.map(({ path }) => settings.imageExtensions.includes(extensionOf(path.name) ?? '')),
    items: stored.map((one) => uploadedItem(context, view, one)),
  };
};
