import type { Logger } from '../../basics/log/logger.ts';
import { createImagePool, type ImagePool } from '../image-editor.ts';
import { createPreviews } from '../previews/previews.ts';
import { iconNamed, isDefaultIcon } from './icon.ts';
import { type KeptContext, openKeptFolder } from './kept-pictures.ts';
import { createBacklog, describeWith, makeAllWith } from './listing.ts';
import { KeptMemory, type Target } from './memory.ts';
import {
  drawnNames,
  drawnNamesOf,
  createPlanner,
  hasThumbnailFolder,
  isThumbnailFolder,
  thumbnailOf,
} from './plan.ts';
import { createPictureSizes, type PictureSizes } from './sizes.ts';
import { showWith } from './show.ts';
import { variantsWith, type ViewContext } from './thumbnail-view.ts';
import type {
  SvgGenerator,
  Thumbnails,
  DrawnThumbnail,
  SourceLocation,
  SourceVersion,
} from './thumbnails.ts';
import { BrokenImageError, BusyError, ifMissing, ifOnly, NotFoundError } from '../../errors/errors.ts';
import { derivedStoreOf, type Source } from '../../sources/source.ts';
import { isSameVersion, type Entry } from '../../storage/entry.ts';
import { createLocationLocks } from '../../storage/location.ts';
import type { SourcePath } from '../../storage/source-path.ts';

/** Thumbnails of larger uploads are left to the first listing: they would wait in memory meanwhile. */
const MAX_DRAWN_BYTES = 256 * 1024;

/** Derived files that may belong to an item: thumbnail, variants, and icons of a generator. */
interface Derived<Location> {
  readonly pictures: readonly Location[];
  readonly icons: readonly Location[];
}

const pathsOf = (
  hasGenerator: boolean,
  { source: { settings }, path }: SourceLocation,
): Derived<SourcePath> => {
  if (!hasThumbnailFolder(settings) || path.isRoot) return { pictures: [], icons: [] };
  const thumbs = path.parent.below(settings.thumbFolderName);
  const [file, folder] = (['file', 'folder'] as const).map((kind) =>
    drawnNamesOf(settings, hasGenerator, { name: path.name, kind }),
  );
  const inFolder = (...names: readonly (string | undefined)[]): readonly SourcePath[] =>
    names.flatMap((name) => (name === undefined ? [] : [thumbs.below(name)]));
  const variants = (file?.variants ?? []).map(({ preset, name }) => thumbs.below(preset).below(name));
  return { pictures: [...inFolder(file?.thumbnail), ...variants], icons: inFolder(file?.icon, folder?.icon) };
};

const targetsOf = async ({ svgGenerator }: ViewContext, location: SourceLocation) => {
  const { pictures, icons } = pathsOf(svgGenerator !== undefined, location);
  if (pictures.length + icons.length === 0) return { pictures: [], icons: [] };
  const store = await derivedStoreOf(location.source);
  const at = (path: SourcePath): Target => ({ store, path });
  return { pictures: pictures.map(at), icons: icons.map(at) };
};

const drop = async ({ memory }: KeptContext, targets: readonly (Target | undefined)[]): Promise<void> => {
  for (const target of targets) {
    if (target === undefined) continue;
    await memory.forget(target);
    await target.store.remove(target.path);
  }
};

const dropAll = async (context: ViewContext, location: SourceLocation): Promise<void> => {
  await context.sizes.forget(location);
  const { pictures, icons } = await targetsOf(context, location);
  await drop(context, [...pictures, ...icons]);
};

/**
 * Moves or copies a thumbnail within a store along with its image, unless it is stale: at its new path it
 * would look fresh. False when there was none to take.
 */
const take = async (
  { memory }: KeptContext,
  kind: 'move' | 'copy',
  { from, to, image }: { from: Target | undefined; to: Target | undefined; image: Entry },
): Promise<boolean> => {
  if (!from || !to || from.store.files !== to.store.files) return false;
  try {
    const made = await from.store.files.stat(from.path, { expects: 'file', mayMiss: true });
    const isCurrent = memory.isMadeOf(from, made, image);
    await Promise.all([memory.forget(from), memory.forget(to)]);
    if (!isCurrent) return false;
    await to.store[kind](from.path, to.path, made);
    // Some stores change the times of both, but not the tag.
    const unknown = { modifiedAt: undefined };
    if (made.etag !== undefined && made.changedAt === undefined)
      memory.note(to, { item: { ...image, ...unknown }, outcome: 'made', made: { ...made, ...unknown } });
    return true;
  } catch (error) {
    if (error instanceof NotFoundError) return false;
    throw error;
  }
};

const follow = async (
  context: ViewContext,
  kind: 'move' | 'copy',
  from: SourceVersion,
  to: SourceLocation,
): Promise<void> => {
  const [old, next] = await Promise.all([targetsOf(context, from), targetsOf(context, to)]);
  const isMoved = kind === 'move';
  for (let index = 0; index < Math.max(old.pictures.length, next.pictures.length); index += 1) {
    const [source, target] = [old.pictures[index], next.pictures[index]];
    if (await take(context, kind, { from: source, to: target, image: from.stat })) continue;
    await drop(context, isMoved ? [source, target] : [target]);
  }
  await drop(context, isMoved ? [...old.icons, ...next.icons] : next.icons);
};

/**
 * A thumbnail that was stored while its folder was removed may have recreated the folder. Removes such
 * thumbnails, and folders that are empty then. Costs nothing if no thumbnail was stored recently, else one
 * request to the store.
 */
const sweepBelow = async ({ memory }: KeptContext, { source, path }: SourceLocation): Promise<void> => {
  if (!hasThumbnailFolder(source.settings) || path.isRoot) return;
  const store = await derivedStoreOf(source);
  const written = await memory.forgetBelow({ store, path });
  if (written.length === 0) return;
  if ((await store.files.stat(path).catch(ifMissing)) === undefined) return;
  for (const one of written) {
    await store.remove(one);
    await store.removeEmptyFolders(one, path);
  }
};

/** Thumbnail of an uploaded picture of this name; undefined where a program or an icon is used. */
const uploadedOf = (source: Source, entry: Entry): ReturnType<typeof thumbnailOf> | undefined => {
  const plan = createPlanner(source.settings, false).plan(entry);
  if (plan.kind !== 'picture' || plan.program !== undefined) return undefined;
  return thumbnailOf(source.settings, entry, plan);
};

const drawWith =
  ({ pool }: KeptContext): Thumbnails['draw'] =>
  async (source, name, picture, signal) => {
    const entry = { name, kind: 'file', size: undefined, modifiedAt: undefined } as const;
    const spec = source.settings.createThumb ? uploadedOf(source, entry)?.spec : undefined;
    if (spec === undefined) return undefined;
    const drawing = pool.engine.thumbnail(picture, spec, signal, 'begun');
    const bytes = await drawing.catch(ifOnly(BrokenImageError, BusyError));
    if (bytes === undefined || bytes.length > MAX_DRAWN_BYTES) return undefined;
    return { format: spec.format, bytes };
  };

/** Stores the thumbnail. False when the picture was replaced or removed meanwhile: it is wrong then. */
const keep = async (
  context: KeptContext,
  { source, path, stat }: SourceVersion,
  { format, bytes }: DrawnThumbnail,
): Promise<boolean> => {
  const entry = { ...stat, name: path.name };
  const thumbnail = uploadedOf(source, entry);
  if (thumbnail?.spec.format !== format) return true;
  const kept = await openKeptFolder(context, source, { folder: path.parent, names: new Set() }, undefined);
  if ((await kept.put(thumbnail.name, entry, async () => bytes)) !== 'made') return true;
  const { files } = await derivedStoreOf(source);
  return isSameVersion(stat, await files.stat(path));
};

/** Updates thumbnails along with their images. Failures are logged and never reach the client. */
const followersWith = (
  context: ViewContext,
): Pick<Thumbnails, 'derivedIn' | 'removed' | 'moved' | 'copied' | 'changed' | 'draw' | 'keep'> => {
  const quietly = async (work: () => Promise<void>): Promise<void> => {
    try {
      await work();
    } catch (error) {
      context.log.warn('A thumbnail could not follow its image.', { error });
    }
  };
  const changed = (location: SourceLocation): Promise<void> => quietly(() => dropAll(context, location));
  return {
    derivedIn: (source) => ({
      of: (path) => {
        const { pictures, icons } = pathsOf(context.svgGenerator !== undefined, { source, path });
        return [...pictures, ...icons];
      },
      isShared: ({ name, parent }) =>
        isThumbnailFolder(source.settings, name) ||
        (isThumbnailFolder(source.settings, parent.name) && isDefaultIcon(name)),
    }),
    removed: (location) =>
      quietly(async () => {
        await dropAll(context, location);
        await sweepBelow(context, location);
      }),
    changed,
    moved: (from, to) =>
      quietly(async () => {
        await follow(context, 'move', from, to);
        await sweepBelow(context, from);
      }),
    copied: (from, to) => quietly(() => follow(context, 'copy', from, to)),
    draw: drawWith(context),
    keep: async (stored, drawn) => {
      const isTrue = await keep(context, stored, drawn).catch(() => false);
      if (!isTrue) await changed(stored);
    },
  };
};

export interface ThumbnailsOptions {
  readonly log: Logger;
  /** Pool for decoding. Default: its own. */
  readonly pool?: ImagePool | undefined;
  /** Cache that receives the sizes of decoded pictures. */
  readonly sizes?: PictureSizes | undefined;
  /** @see KeptContext.focusOf. Default: no picture has a focal point. */
  readonly focusOf?: KeptContext['focusOf'] | undefined;
  /** Default: its own. */
  readonly locations?: KeptContext['locations'] | undefined;
  /** Draws icons that replace the default ones. */
  readonly svgGenerator?: SvgGenerator | undefined;
}

export const createThumbnails = (options: ThumbnailsOptions): Thumbnails => {
  const { log, svgGenerator, pool = createImagePool(), sizes = createPictureSizes(pool) } = options;
  const { focusOf = () => Promise.resolve(undefined), locations = createLocationLocks() } = options;
  const memory = new KeptMemory();
  const backlog = createBacklog();
  const context = {
    pool,
    previews: createPreviews(log),
    memory,
    sizes,
    focusOf,
    locations,
    log,
    svgGenerator,
  };
  return {
    describe: describeWith(context, backlog),
    show: showWith(context),
    variants: variantsWith(context),
    makeAll: makeAllWith(context),
    iconNamed: ({ settings: { svgThumbWidth: width, svgThumbHeight: height } }, name) =>
      iconNamed(name, { width, height }),
    drawnNames: ({ settings }, item) => drawnNames(settings, svgGenerator !== undefined, item),
    ...followersWith(context),
    close: () => backlog.close(),
  };
};
