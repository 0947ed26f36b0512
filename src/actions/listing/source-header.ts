import { z } from 'zod';
import type { Source } from '../../sources/source.ts';
import type { SourcePath } from '../../storage/source-path.ts';

/** What both listings say of a source. */
export const sourceHeaderShape = {
  name: z.string(),
  title: z.string(),
  baseurl: z.string(),
  path: z
    .string()
    .describe('The listed folder relative to the root, without a leading slash; `/` at the root.'),
};

/** The head of a source's part of a listing. */
export const sourceHeader = (
  { name, title, baseurl }: Source,
  folder: SourcePath,
): { readonly name: string; readonly title: string; readonly baseurl: string; readonly path: string } => ({
  name,
  title,
  baseurl,
  path: folder.isRoot ? '/' : folder.toString(),
});
