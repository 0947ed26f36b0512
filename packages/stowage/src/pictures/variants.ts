import type { Settings } from '../config/settings.ts';
import { extensionOf } from '../basics/content/extension.ts';
import { BrokenImageError } from '../errors/errors.ts';
import type { Source } from '../sources/source.ts';
import type { Entry, StorageAdapter } from '../storage/adapter.ts';
import type { SourcePath } from '../storage/source-path.ts';
import { type PictureSize, sizeWithin, type ThumbnailSpec } from './engine.ts';
import { readExisting } from './folder-view.ts';
import { isKnownBroken, isMadeOf, type Target, type ThumbnailCache } from './thumbnail-cache.ts';
import type { MakingRequest, ThumbnailMaker } from './thumbnail-maker.ts';
import { variantNameOf } from './thumbnail-name.ts';
import type { Thumbnails, Variants } from './thumbnails.ts';

/** What variants are made with, the same as thumbnails. */
export interface VariantsContext {
  readonly cache: ThumbnailCache;
  readonly maker: ThumbnailMaker;
}

type Preset = Settings['imagePresets'][string];

/** A preset of a source, and where its variants lie. */
interface PresetFolder {
  readonly preset: Preset;
  readonly storage: StorageAdapter;
  readonly folder: SourcePath;
  readonly thumbs: SourcePath;
  readonly settings: Settings;
}

/** One variant: where it lies, and how it is made. */
interface Variant {
  readonly entry: Entry;
  readonly target: Target;
  readonly spec: ThumbnailSpec;
}

const isPicture = ({ imageExtensions }: Settings, { name, kind }: Entry): boolean => {
  const extension = kind === 'file' ? (extensionOf(name) ?? '') : '';
  return extension !== 'svg' && imageExtensions.includes(extension);
};

const variantOf = ({ preset, storage, thumbs, settings }: PresetFolder, entry: Entry): Variant => {
  const { width, height, fit, quality = settings.quality } = preset;
  const { name, format } = variantNameOf(entry.name, preset.format, settings.imageExtensions);
  return {
    entry,
    target: { storage, path: thumbs.child(name) },
    spec: { width, height, fit, format, quality },
  };
};

const presetFolder = async (
  { settings, storage }: Source,
  folder: SourcePath,
  name: string,
): Promise<PresetFolder | undefined> => {
  const preset = Object.hasOwn(settings.imagePresets, name) ? settings.imagePresets[name] : undefined;
  if (preset === undefined) return undefined;
  const thumbs = folder.child(settings.thumbFolderName).child(name);
  return { preset, storage: await storage(), folder, thumbs, settings };
};

/** Which of these variants are there and show their pictures as they are. */
const freshOf = async (
  { cache }: VariantsContext,
  { storage, thumbs }: PresetFolder,
  variants: readonly Variant[],
  signal: AbortSignal | undefined,
): Promise<ReadonlySet<Variant>> => {
  const names = new Set(variants.map(({ target }) => target.path.name));
  const existing = await readExisting(storage, thumbs, names, signal);
  return new Set(
    variants.filter(({ target, entry }) => {
      const made = existing.get(target.path.name);
      return made !== undefined && isMadeOf(cache, target, made, entry);
    }),
  );
};

const make = (
  { maker }: VariantsContext,
  folder: SourcePath,
  { entry, target, spec }: Variant,
  request: MakingRequest,
): ReturnType<ThumbnailMaker['picture']> =>
  maker.picture(target, { path: folder.child(entry.name), entry, spec }, request);

const variantWith =
  (context: VariantsContext): Thumbnails['variant'] =>
  async (source, folder, entry, preset, signal) => {
    const request = { since: context.cache.turn(), signal };
    const found = await presetFolder(source, folder, preset);
    if (found === undefined || !isPicture(source.settings, entry)) return { kind: 'self' };
    const variant = variantOf(found, entry);
    const fresh = await freshOf(context, found, [variant], signal);
    const outcome = fresh.size > 0 ? 'made' : await make(context, folder, variant, request);
    if (outcome === 'broken') throw new BrokenImageError();
    return outcome === 'made'
      ? { kind: 'stored', path: variant.target.path }
      : { kind: 'self', isFailure: true };
  };

/**
 * Makes the missing variants of one preset, at most `quota`. Returns the names of all variants that exist then, and
 * the number that it tried to make.
 */
const present = async (
  context: VariantsContext,
  found: PresetFolder,
  entries: readonly Entry[],
  { quota, signal }: { quota: number; readonly signal: AbortSignal | undefined },
): Promise<{ readonly names: ReadonlyMap<Entry, string>; readonly tried: number }> => {
  const request = { since: context.cache.turn(), signal };
  const variants = entries.map((entry) => variantOf(found, entry));
  const fresh = await freshOf(context, found, variants, signal);
  // What cannot be drawn must not take the quota of what can.
  const isMissing = (variant: Variant): boolean =>
    !fresh.has(variant) && !isKnownBroken(context.cache, variant.target, variant.entry);
  const missing = variants.filter(isMissing).slice(0, quota);
  const outcomes = await Promise.all(missing.map((variant) => make(context, found.folder, variant, request)));
  const made = missing.filter((_, index) => outcomes[index] === 'made');
  const names = new Map([...fresh, ...made].map(({ entry, target }) => [entry, target.path.name]));
  return { names, tried: missing.length };
};

const variantsWith =
  (context: VariantsContext): Thumbnails['variants'] =>
  async (source, folder, entries, signal) => {
    const { settings } = source;
    const found = new Map<Entry, Variants>();
    const pictures = entries.filter((entry) => isPicture(settings, entry));
    let quota = settings.safeThumbsCountInOneTime;
    for (const preset of Object.keys(settings.imagePresets)) {
      const inside = (name: string): string => `${settings.thumbFolderName}/${preset}/${name}`;
      const add = (entry: Entry, path: string): void => {
        found.set(entry, { ...found.get(entry), [preset]: path });
      };
      if (settings.serve !== 'off') {
        // Percent escapes: browsers put the name into the URL as it is.
        for (const entry of pictures) add(entry, inside(encodeURIComponent(entry.name)));
        continue;
      }
      const opened = await presetFolder(source, folder, preset);
      if (opened === undefined || pictures.length === 0) continue;
      const { names, tried } = await present(context, opened, pictures, { quota, signal });
      quota -= tried;
      for (const [entry, name] of names) add(entry, inside(name));
    }
    return entries.map((entry) => found.get(entry));
  };

/** The sizes of variants in pixels, by the names of their presets. */
export const variantSizesOf = (
  presets: Settings['imagePresets'],
  variants: Variants | undefined,
  seen: { readonly [Side in keyof PictureSize]?: number | undefined } | undefined,
): Readonly<Record<string, PictureSize>> | undefined => {
  const { width, height } = seen ?? {};
  if (variants === undefined || width === undefined || height === undefined) return undefined;
  const sized = Object.entries(presets).filter(([name]) => Object.hasOwn(variants, name));
  return Object.fromEntries(
    sized.map(([name, { fit, ...box }]) => [
      name,
      sizeWithin({ width: box.width, height: box.height, fit }, { width, height }),
    ]),
  );
};

/** The variants of pictures: their presets are those of the source. */
export const createVariants = (context: VariantsContext): Pick<Thumbnails, 'variant' | 'variants'> => ({
  variant: variantWith(context),
  variants: variantsWith(context),
});
