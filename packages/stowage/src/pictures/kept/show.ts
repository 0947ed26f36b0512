import { BrokenImageError } from '../../errors/errors.ts';
import type { Settings } from '../../config/settings.ts';
import type { Source } from '../../sources/source.ts';
import type { Entry } from '../../storage/entry.ts';
import type { SourcePath } from '../../storage/source-path.ts';
import { openKeptFolder, type KeptContext, type KeptFolder, type KeptPicture } from './kept-pictures.ts';
import { hasVariants, variantOf } from './plan.ts';
import { openThumbnailView, type ViewContext } from './thumbnail-view.ts';
import type { Shown, Thumbnails, Variants } from './thumbnails.ts';

type Preset = Settings['imagePresets'][string];

/** Variants of images by a preset of the source, and the folder that keeps them. */
const openVariants = async (
  context: KeptContext,
  source: Source,
  {
    folder,
    preset,
    form,
    images,
  }: { folder: SourcePath; preset: string; form: Preset; images: readonly Entry[] },
  signal: AbortSignal,
): Promise<{ readonly kept: KeptFolder; readonly variants: readonly KeptPicture[] }> => {
  const variants = images.map((entry) => variantOf(source.settings, form, entry));
  const names = new Set(variants.map(({ name }) => name));
  return { kept: await openKeptFolder(context, source, { folder, preset, names }, signal), variants };
};

const showThumbnail = async (
  context: ViewContext,
  source: Source,
  folder: SourcePath,
  entry: Entry,
  signal: AbortSignal,
): Promise<Shown> => {
  const view = await openThumbnailView(context, source, folder, [entry], signal);
  const found = view.look(0);
  const shown = typeof found === 'function' ? await found() : found;
  if (shown.kind === 'icon') return { kind: 'icon', svg: shown.icon.svg };
  if (shown.kind !== 'made') return { kind: 'self' };
  return { kind: 'stored', path: folder.child(source.settings.thumbFolderName).child(shown.name) };
};

/** @see Thumbnails.show */
export const showWith =
  (context: ViewContext): Thumbnails['show'] =>
  async (source, folder, entry, { preset, signal }) => {
    if (preset === undefined) return showThumbnail(context, source, folder, entry, signal);
    const { imagePresets } = source.settings;
    const form = Object.hasOwn(imagePresets, preset) ? imagePresets[preset] : undefined;
    if (form === undefined || !hasVariants(source.settings, entry)) return { kind: 'self' };
    const wanted = { folder, preset, form, images: [entry] };
    const { kept, variants } = await openVariants(context, source, wanted, signal);
    const [variant] = variants;
    if (variant === undefined) return { kind: 'self' };
    const outcome = await kept.ensure(variant);
    if (outcome === 'broken') throw new BrokenImageError();
    if (outcome === 'failed') return { kind: 'self', isFailure: true };
    return { kind: 'stored', path: kept.pathOf(variant.name) };
  };

/** @see Thumbnails.variants */
export const variantsWith =
  (context: KeptContext): Thumbnails['variants'] =>
  async (source, folder, entries, signal) => {
    const { settings } = source;
    const found = new Map<Entry, Variants>();
    const images = entries.filter((entry) => hasVariants(settings, entry));
    let quota = settings.safeThumbsCountInOneTime;
    for (const [preset, form] of Object.entries(settings.imagePresets)) {
      const add = (entry: Entry, name: string): void => {
        const path = `${settings.thumbFolderName}/${preset}/${name}`;
        found.set(entry, { ...found.get(entry), [preset]: path });
      };
      if (settings.serve !== 'off') {
        // Percent escapes: browsers put the name into the URL as it is.
        for (const entry of images) add(entry, encodeURIComponent(entry.name));
        continue;
      }
      const wanted = { folder, preset, form, images };
      const { kept, variants } = await openVariants(context, source, wanted, signal);
      const present = variants.map(async (variant) => {
        const { name, entry } = variant;
        if (kept.isFresh(name, entry)) return variant;
        // What cannot be drawn must not take the quota of what can.
        if (quota <= 0 || kept.isBroken(name, entry)) return undefined;
        quota -= 1;
        return (await kept.ensure(variant)) === 'made' ? variant : undefined;
      });
      for (const variant of await Promise.all(present)) if (variant) add(variant.entry, variant.name);
    }
    return entries.map((entry) => found.get(entry));
  };
