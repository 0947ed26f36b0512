import { variantNameOf } from '../pictures/kept/plan.ts';
import type { Source } from '../sources/source.ts';
import type { SourcePath } from '../storage/source-path.ts';
import type { SourceView } from '../view/source-view.ts';

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
  view: SourceView,
  folder: SourcePath,
  { kept, preset }: { readonly kept: string; readonly preset: string },
): Promise<string | undefined> => {
  const { imagePresets, imageExtensions } = view.source.settings;
  const format = imagePresets[preset]?.format;
  const isOf = (name: string): boolean => variantNameOf(name, format, imageExtensions).name === kept;
  const likely = [kept, kept.slice(0, kept.lastIndexOf('.'))].find(isOf);
  if (likely !== undefined) return likely;
  // A name with a hash does not say what it was made of.
  return view.findName(folder, isOf);
};

/**
 * The entry whose thumbnail or variant a public URL shows. Where something else serves the files, it is known
 * by the name that the variant is kept under; thumbnails are no part of pages there.
 */
export const entryShownAt = async (view: SourceView, path: SourcePath): Promise<ShownEntry | undefined> => {
  const shown = entryShownBy(view.source, path);
  if (shown === undefined || view.source.settings.serve !== 'off') return shown;
  const { entry, preset } = shown;
  if (preset === undefined) return undefined;
  const original = await originalOf(view, entry.parent, { kept: entry.name, preset });
  return original === undefined ? undefined : { entry: entry.parent.child(original), preset };
};
