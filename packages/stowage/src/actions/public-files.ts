import { ifNoSuch, NotFoundError, orUndefined, UnsafeNameError, UnsafePathError } from '../errors/errors.ts';
import { MOST_ADDRESS_UNITS } from '../parameters/fields.ts';
import { variantNameOf } from '../pictures/kept/plan.ts';
import type { Source } from '../sources/source.ts';
import { SourcePath } from '../storage/source-path.ts';
import type { Item } from '../view/folder-view.ts';
import { presentOf } from '../view/moved.ts';
import type { SourceView } from '../view/source-view.ts';
import type { SourceViews } from '../view/source-views.ts';

/** Decodes once. A `%` that does not encode UTF-8, as browsers leave it, is copied. */
const decoded = (segment: string): string =>
  segment.replaceAll(
    /(?:%[0-9a-f]{2})+/giu,
    (escapes) => orUndefined(() => decodeURIComponent(escapes)) ?? escapes,
  );

const segmentsOf = (url: URL): string[] =>
  url.pathname
    .split('/')
    .filter((part) => part !== '')
    .map(decoded);

/** The path of decoded segments; undefined for one that no file can have. */
export const pathOfSegments = (segments: readonly string[]): SourcePath | undefined =>
  orUndefined(
    // Segment by segment: an encoded slash or dot inside one is rejected, not resolved.
    () => segments.reduce((path, segment) => path.child(segment), SourcePath.root),
    UnsafeNameError,
    UnsafePathError,
  );

export const NO_HOST = 'http://no-host.invalid';

/** Absolute, protocol-relative or path-only; anything else (`a.jpg`, `mailto:`) is not a public file. */
const PUBLIC = /^\s*(?:(?:https?:)?\/\/|\/)/iu;

const parseUrl = (text: string, base: string): URL | undefined => {
  if (text.length > MOST_ADDRESS_UNITS || !URL.canParse(text, base)) return undefined;
  const url = new URL(text, base);
  return url.username === '' && url.password === '' ? url : undefined;
};

/**
 * The path inside a source that a public URL means: scheme, host and port must be those of `baseurl` (as far
 * as the URL has them), and its path must begin with that of `baseurl`, compared by whole decoded segments.
 * Query and fragment are ignored. Undefined when the URL lies elsewhere or is not a valid path; the root
 * itself is not a file.
 */
const pathOfPublicUrl = (text: string, baseurl: string): SourcePath | undefined => {
  // With a path-only base URL, absolute links match by the aliases.
  const base = new URL(baseurl, NO_HOST);
  const url = parseUrl(text.trim(), base.href);
  if (url?.origin !== base.origin) return undefined;
  const prefix = segmentsOf(base);
  const segments = segmentsOf(url);
  if (!prefix.every((part, index) => segments[index] === part)) return undefined;
  const inside = segments.slice(prefix.length);
  return inside.length === 0 ? undefined : pathOfSegments(inside);
};

export interface PublicFile {
  readonly source: Source;
  readonly path: SourcePath;
}

/** The files that a public URL may mean, by the base URLs of all sources; the longest match is first. */
export const filesOfPublicUrl = (sources: readonly Source[], url: string): PublicFile[] =>
  (PUBLIC.test(url) ? sources : [])
    .flatMap((source) =>
      [...new Set([source.baseurl, ...source.baseurlAliases])].flatMap((baseurl) => {
        const path = pathOfPublicUrl(url, baseurl);
        return path === undefined ? [] : [{ source, path }];
      }),
    )
    // A shorter path inside means a longer base URL.
    .sort((one, other) => one.path.segments.length - other.path.segments.length);

/** A link to the thumbnail of an entry, or to its variant by a preset. */
export interface ShownEntry {
  readonly entry: SourcePath;
  readonly preset?: string;
}

/** The entry whose thumbnail or variant a path of a serving source means; undefined for other paths. */
export const entryShownBy = ({ settings }: Source, path: SourcePath): ShownEntry | undefined => {
  const { createThumb, thumbFolderName, imagePresets } = settings;
  const folder = path.parent;
  if (createThumb && folder.name === thumbFolderName) return { entry: folder.parent.child(path.name) };
  if (folder.parent.name !== thumbFolderName || !Object.hasOwn(imagePresets, folder.name)) return undefined;
  return { entry: folder.parent.parent.child(path.name), preset: folder.name };
};

/** The name of the picture whose variant is stored under a name; undefined when there is none. */
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
  // A hashed name does not reveal the original. A link may name any folder, existing or not.
  return view.findName(folder, isOf).catch(ifNoSuch);
};

/**
 * The entry whose thumbnail or variant a public URL shows. Where another server serves the files, a variant
 * is recognised by its stored name; thumbnails are not linked from pages there.
 */
export const entryShownAt = async (view: SourceView, path: SourcePath): Promise<ShownEntry | undefined> => {
  const shown = entryShownBy(view.source, path);
  if (shown === undefined || view.source.settings.serve !== 'off') return shown;
  const { entry, preset } = shown;
  if (preset === undefined) return undefined;
  const original = await originalOf(view, entry.parent, { kept: entry.name, preset });
  return original === undefined ? undefined : { entry: entry.parent.child(original), preset };
};

/**
 * The item that a link to this path means: the one at the path, else a moved item that had the path before.
 * Does not check access; the caller must, at the item's path. @throws NotFoundError
 */
export const itemAt = async (views: SourceViews, view: SourceView, path: SourcePath): Promise<Item> => {
  try {
    return await view.lookUp(path);
  } catch (error) {
    const item = error instanceof NotFoundError ? await presentOf(views, view, path) : undefined;
    if (item === undefined) throw error;
    return item;
  }
};
