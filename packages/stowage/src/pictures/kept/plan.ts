import type { Settings } from '../../config/settings.ts';
import { extensionOf } from '../../basics/content/extension.ts';
import type { Entry } from '../../storage/entry.ts';
import type { ThumbnailFormat } from '../engine.ts';
import { drawingPrograms, type DrawingProgram } from '../previews/programs.ts';
import { fileIcon, folderIcon, itemIconName, type Icon } from './icon.ts';
import type { KeptPicture } from './kept-pictures.ts';
import { previewNameOf, thumbnailNameOf, variantNameOf } from './names.ts';

/** How an entry is shown, whatever exists. */
export type Plan =
  /** By itself: SVG images, and items without icons. */
  | { readonly kind: 'self' }
  /**
   * By a scaled-down picture in the thumbnail folder: of an image, or of what a program draws of the file.
   */
  | {
      readonly kind: 'picture';
      readonly name: string;
      readonly format: ThumbnailFormat;
      readonly program?: DrawingProgram;
    }
  /** By the icon of its extension or of folders. */
  | { readonly kind: 'icon'; readonly icon: Icon }
  /** By an icon of its own, drawn by the host's generator. */
  | { readonly kind: 'item'; readonly name: string };

type IconPlan = Extract<Plan, { kind: 'icon' }>;

/** Decides how the entries of one source are shown. */
export interface Planner {
  /** Whether items have icons of their own. */
  readonly hasItemIcons: boolean;
  plan(entry: Entry): Plan;
  /** For images that cannot be shown: as if they were ordinary files. */
  planIcon(entry: Entry): Plan;
  /** The icon of the entry's kind, for items whose generator failed. */
  defaultIcon(entry: Entry): Icon;
}

/** The thumbnail of an entry that is shown by a picture. */
export const thumbnailOf = (
  { thumbSize, thumbDensity, quality }: Pick<Settings, 'thumbSize' | 'thumbDensity' | 'quality'>,
  entry: Entry,
  { name, format, program }: Extract<Plan, { kind: 'picture' }>,
): KeptPicture => {
  const side = Math.round(thumbSize * thumbDensity);
  return { entry, name, spec: { width: side, height: side, fit: 'inside', quality, format }, program };
};

/** Whether a file of this name has variants: an image that is not a drawing. */
export const hasVariants = (
  { imageExtensions }: Pick<Settings, 'imageExtensions'>,
  entry: Entry,
): boolean => {
  const extension = entry.kind === 'file' ? (extensionOf(entry.name) ?? '') : '';
  return extension !== 'svg' && imageExtensions.includes(extension);
};

/** The variant of an image by a preset. */
export const variantOf = (
  settings: Settings,
  { format: wanted, ...box }: Settings['imagePresets'][string],
  entry: Entry,
): KeptPicture => {
  const { name, format } = variantNameOf(entry.name, wanted, settings.imageExtensions);
  const { width, height, fit, quality = settings.quality } = box;
  return { entry, name, spec: { width, height, fit, format, quality } };
};

/** Makes a planner for one listing: icons are drawn once per extension. */
export const createPlanner = (settings: Settings, hasGenerator: boolean): Planner => {
  const size = { width: settings.svgThumbWidth, height: settings.svgThumbHeight };
  const images = new Set(settings.imageExtensions);
  const programs = drawingPrograms(settings);
  // One plan object per icon, not per entry: a big folder has very many of the one and very few of the other.
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
    hasItemIcons: hasGenerator && settings.generateSvgThumbs,
    plan: (entry) => {
      const extension = (entry.kind === 'file' && extensionOf(entry.name)) || '';
      const program = programs.get(extension);
      if (program !== undefined) return { kind: 'picture', ...previewNameOf(entry.name), program };
      if (!images.has(extension)) return planIcon(entry);
      if (extension === 'svg') return { kind: 'self' };
      return { kind: 'picture', ...thumbnailNameOf(entry.name, settings.imageExtensions) };
    },
    planIcon,
    defaultIcon: (entry) => defaultPlan(entry).icon,
  };
};
