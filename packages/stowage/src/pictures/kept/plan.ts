import { extensionOf } from '../../basics/content/file-type.ts';
import type { Settings } from '../../config/settings.ts';
import type { Entry } from '../../storage/entry.ts';
import type { ThumbnailFormat } from '../engine.ts';
import { type DrawingProgram, drawingPrograms } from '../previews/programs.ts';
import { asciiForm, shortHash, fileIcon, folderIcon, type Icon, itemIconName } from './icon.ts';
import type { KeptPicture } from './kept-pictures.ts';

/** Formats that a thumbnail preserves, by the extension of the image; all others become JPEG. */
const KEPT: Readonly<Record<string, ThumbnailFormat>> = {
  jpg: 'jpeg',
  jpeg: 'jpeg',
  png: 'png',
  gif: 'gif',
  webp: 'webp',
};

/** Leaves room for `.jpg` and for temporary names of stores within the limit of 255 bytes. */
const MAX_PLAIN_LENGTH = 200;

/** ASCII without characters that break the client, which joins names into URLs and HTML unchanged. */
const PLAIN = /^[ !$&'()*+,\-.0-9:;=@A-Z[\]^_`a-z{|}~]+$/u;
/** Suffix of hashed names; those that resemble one are hashed too, so that none share a thumbnail. */
const HASHED = /~[0-9a-f]{10}\.[0-9a-z]+$/iu;

const isPlain = (name: string): boolean =>
  name.length <= MAX_PLAIN_LENGTH && PLAIN.test(name) && !HASHED.test(name);

/** Whether the name equals the thumbnail name of another image: `a.bmp.jpg` is that of `a.bmp`. */
const takesAnothersName = (stem: string, suffix: string, imageExtensions: readonly string[]): boolean => {
  const other = extensionOf(stem);
  if (other === undefined || suffix.toLowerCase() !== '.jpg') return false;
  return KEPT[other] === undefined && other !== 'svg' && imageExtensions.includes(other);
};

export const hasThumbnailFolder = ({
  createThumb,
  imagePresets,
}: Pick<Settings, 'createThumb' | 'imagePresets'>): boolean =>
  createThumb || Object.keys(imagePresets).length > 0;

/** Whether this is the name of the source's folder of thumbnails, in any letter case. */
export const isThumbnailFolder = (settings: Settings, name: string): boolean =>
  hasThumbnailFolder(settings) && name.toLowerCase() === settings.thumbFolderName.toLowerCase();

interface ThumbnailName {
  readonly name: string;
  readonly format: ThumbnailFormat;
}

/**
 * Name of an image's thumbnail in the thumbnail folder: JPEG, PNG, GIF and WebP have the same name
 * (`cat.jpg`), others get `.jpg` appended (`a.bmp.jpg`). Names outside ASCII, very long ones and those that
 * would collide with another image's thumbnail (a JPEG with the name `a.bmp.jpg`) become an ASCII form with a
 * hash. Depends only on the name, so every listing finds it again.
 */
const thumbnailNameOf = (name: string, imageExtensions: readonly string[]): ThumbnailName => {
  const extension = extensionOf(name) ?? '';
  const format = KEPT[extension];
  // False when dots or blanks follow the extension.
  const ends = name.toLowerCase().endsWith(`.${extension}`);
  const stem = format !== undefined && ends ? name.slice(0, -extension.length - 1) : name;
  const suffix = format === undefined ? '.jpg' : ends ? name.slice(stem.length) : `.${extension}`;
  const taken = format !== undefined && takesAnothersName(stem, suffix, imageExtensions);
  const plain = ends && isPlain(stem + suffix) && !taken;
  return {
    name: plain ? stem + suffix : `${asciiForm(stem)}~${shortHash(name)}${suffix.toLowerCase()}`,
    format: format ?? 'jpeg',
  };
};

/** Name of a picture that a program has drawn of a file. Never the name of an image's thumbnail. */
const previewNameOf = (name: string): ThumbnailName => ({
  name: `${asciiForm(name)}~${shortHash(name)}.jpg`,
  format: 'jpeg',
});

/** Name of a variant in its preset's folder: `cat.jpg.webp`, or as for a thumbnail without a format. */
export const variantNameOf = (
  name: string,
  format: ThumbnailFormat | undefined,
  imageExtensions: readonly string[],
): ThumbnailName => {
  if (format === undefined) return thumbnailNameOf(name, imageExtensions);
  const extension = format === 'jpeg' ? 'jpg' : format;
  const plain = `${name}.${extension}`;
  return { name: isPlain(plain) ? plain : `${asciiForm(name)}~${shortHash(name)}.${extension}`, format };
};

/** How an entry is shown, regardless of existing files. */
export type Plan =
  /** By itself: SVG images, and items without icons. */
  | { readonly kind: 'self' }
  /** By a scaled picture in the thumbnail folder: of an image, or drawn by a program. */
  | {
      readonly kind: 'picture';
      readonly name: string;
      readonly format: ThumbnailFormat;
      readonly program?: DrawingProgram;
    }
  /** By the icon of its extension or of folders. */
  | { readonly kind: 'icon'; readonly icon: Icon }
  /** By its own icon, drawn by the host's generator. */
  | { readonly kind: 'item'; readonly name: string };

type IconPlan = Extract<Plan, { kind: 'icon' }>;

export const thumbnailOf = (
  { thumbSize, thumbDensity, quality }: Pick<Settings, 'thumbSize' | 'thumbDensity' | 'quality'>,
  entry: Entry,
  { name, format, program }: Extract<Plan, { kind: 'picture' }>,
): KeptPicture => {
  const side = Math.round(thumbSize * thumbDensity);
  return { entry, name, spec: { width: side, height: side, fit: 'inside', quality, format }, program };
};

/** Whether a file of this name has variants: an image that is not SVG. */
export const hasVariants = (
  { imageExtensions }: Pick<Settings, 'imageExtensions'>,
  entry: Entry,
): boolean => {
  const extension = entry.kind === 'file' ? (extensionOf(entry.name) ?? '') : '';
  return extension !== 'svg' && imageExtensions.includes(extension);
};

export const variantOf = (
  settings: Settings,
  { format: wanted, ...box }: Settings['imagePresets'][string],
  entry: Entry,
): KeptPicture => {
  const { name, format } = variantNameOf(entry.name, wanted, settings.imageExtensions);
  const { width, height, fit, quality = settings.quality } = box;
  return { entry, name, spec: { width, height, fit, format, quality } };
};

/** Decides how the entries of one source are shown, for one listing: icons are drawn once per extension. */
export const createPlanner = (settings: Settings, hasGenerator: boolean) => {
  const size = { width: settings.svgThumbWidth, height: settings.svgThumbHeight };
  const images = new Set(settings.imageExtensions);
  const programs = drawingPrograms(settings);
  // One plan object per icon, not per entry: a large folder has many entries and few icons.
  const iconPlans = new Map<string, IconPlan>();
  const iconPlan = (key: string, draw: () => Icon): IconPlan => {
    const known = iconPlans.get(key);
    if (known !== undefined) return known;
    const plan: IconPlan = { kind: 'icon', icon: draw() };
    iconPlans.set(key, plan);
    return plan;
  };
  const defaultPlan = ({ name, kind }: Entry): IconPlan => {
    if (kind === 'folder') return iconPlan('/', () => folderIcon(size));
    const extension = extensionOf(name) ?? '';
    return iconPlan(extension, () => fileIcon(extension, size));
  };
  const planIcon = (entry: Entry): Plan => {
    if (!settings.generateSvgThumbs) return { kind: 'self' };
    if (hasGenerator) return { kind: 'item', name: itemIconName(entry.name, entry.kind, size) };
    return defaultPlan(entry);
  };
  return {
    /** Whether items have their own icons. */
    hasItemIcons: hasGenerator && settings.generateSvgThumbs,
    plan: (entry: Entry): Plan => {
      const extension = (entry.kind === 'file' && extensionOf(entry.name)) || '';
      const program = programs.get(extension);
      if (program !== undefined) return { kind: 'picture', ...previewNameOf(entry.name), program };
      if (!images.has(extension)) return planIcon(entry);
      if (extension === 'svg') return { kind: 'self' };
      return { kind: 'picture', ...thumbnailNameOf(entry.name, settings.imageExtensions) };
    },
    /** For undrawable images: the same as for ordinary files. */
    planIcon,
    /** The icon of the entry's kind, for items whose generator failed. */
    defaultIcon: (entry: Entry): Icon => defaultPlan(entry).icon,
  };
};

export type Planner = ReturnType<typeof createPlanner>;

/**
 * Names in the thumbnail folder of files that may be derived from an item: its thumbnail, its own icon, and
 * its variants. Depends only on the item's name and kind.
 */
export const drawnNamesOf = (
  settings: Settings,
  hasGenerator: boolean,
  { name, kind }: Pick<Entry, 'name' | 'kind'>,
) => {
  const entry: Entry = { name, kind, size: undefined, modifiedAt: undefined };
  const planner = createPlanner(settings, hasGenerator);
  const [plan, icon] = [planner.plan(entry), planner.planIcon(entry)];
  const presets = hasVariants(settings, entry) ? Object.entries(settings.imagePresets) : [];
  return {
    thumbnail: plan.kind === 'picture' ? plan.name : undefined,
    icon: icon.kind === 'item' ? icon.name : undefined,
    variants: presets.map(([preset, { format }]) => ({
      preset,
      name: variantNameOf(name, format, settings.imageExtensions).name,
    })),
  };
};

/** @see Thumbnails.drawnNames */
export const drawnNames = (
  settings: Settings,
  hasGenerator: boolean,
  item: Pick<Entry, 'name' | 'kind'>,
): readonly string[] => {
  const { createThumb, serve, thumbFolderName } = settings;
  const { thumbnail, icon, variants } = drawnNamesOf(settings, hasGenerator, item);
  // Where the service serves files, derived ones are addressed by the item's name.
  const named = (kept: string): string => (serve === 'off' ? kept : encodeURIComponent(item.name));
  const thumbs = createThumb ? [thumbnail, icon].filter((name) => name !== undefined) : [];
  const names = [...thumbs.map(named), ...variants.map(({ preset, name }) => `${preset}/${named(name)}`)];
  return [...new Set(names)].map((inside) => `${thumbFolderName}/${inside}`);
};
