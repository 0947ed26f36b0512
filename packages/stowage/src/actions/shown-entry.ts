import { variantNameOf } from '../pictures/kept/names.ts';
import type { Source } from '../sources/source.ts';
import type { SourcePath } from '../storage/source-path.ts';
import type { OpenSource } from '../view/open-source.ts';

/** A link to the thumbnail of an entry, or to its variant by a preset. */
export interface ShownEntry {
  readonly entry: SourcePath;
  readonly preset?: string;
}

/**
 * The entry whose thumbnail or variant a path means, as links of sources that serve their files have it;
 * undefined for all other paths.
 */
export const entryShownBy = ({ settings }: Source, path: SourcePath): ShownEntry | undefined => {
  const { createThumb, thumbFolderName, imagePresets } = settings;
  const folder = path.parent;
  if (createThumb && folder.name === thumbFolderName) return { entry: folder.parent.child(path.name) };
  if (folder.parent.name !== thumbFolderName || !Object.hasOwn(imagePresets, folder.name)) return undefined;
  return { entry: folder.parent.parent.child(path.name), preset: folder.name };
};

/** The name of the picture whose variant is kept under a name; undefined when there is none. */
const originalOf = async (
  { source, storage }: OpenSource,
  folder: SourcePath,
  { kept, preset }: { readonly kept: string; readonly preset: string },
  signal: AbortSignal,
): Promise<string | undefined> => {
  const { imagePresets, imageExtensions } = source.settings;
  const format = imagePresets[preset]?.format;
  const isOf = (name: string): boolean => variantNameOf(name, format, imageExtensions).name === kept;
  const likely = [kept, kept.slice(0, kept.lastIndexOf('.'))].find(isOf);
  if (likely !== undefined) return likely;
  // A name with a hash does not say what it was made of.
  for await (const entries of storage.list(folder, { signal })) {
    const found = entries.find(({ name }) => isOf(name));
    if (found !== undefined) return found.name;
  }
  return undefined;
};

/**
 * The entry whose thumbnail or variant a public URL shows. Where something else serves the files, it is known
 * by the name that the variant is kept under; thumbnails are no part of pages there.
 */
export const entryShownAt = async (
  open: OpenSource,
  path: SourcePath,
  signal: AbortSignal,
): Promise<ShownEntry | undefined> => {
  const shown = entryShownBy(open.source, path);
  if (shown === undefined || open.source.settings.serve !== 'off') return shown;
  const { entry, preset } = shown;
  if (preset === undefined) return undefined;
  const original = await originalOf(open, entry.parent, { kept: entry.name, preset }, signal);
  return original === undefined ? undefined : { entry: entry.parent.child(original), preset };
};
