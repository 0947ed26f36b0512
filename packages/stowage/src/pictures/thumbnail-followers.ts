import { NotEmptyError, NotFoundError } from '../errors/errors.ts';
import type { Logger } from '../basics/log/logger.ts';
import type { Entry, StorageAdapter } from '../storage/adapter.ts';
import type { SourcePath } from '../storage/source-path.ts';
import { isMadeOf, type Target, type ThumbnailCache } from './thumbnail-cache.ts';
import type { ThumbnailMaker } from './thumbnail-maker.ts';
import { createPlanner } from './thumbnail-plan.ts';
import { hasThumbnailFolder, variantNameOf } from './thumbnail-name.ts';
import type { SourceLocation, SourceVersion, Thumbnails } from './thumbnails.ts';

/** What followers work with. */
export interface FollowersContext {
  readonly maker: ThumbnailMaker;
  readonly cache: ThumbnailCache;
  readonly log: Logger;
  /** Whether items have icons of their own. */
  readonly hasGenerator: boolean;
}

/**
 * Where the thumbnails lie that may belong to an item: of an image its picture, with a generator also the
 * item's own icons.
 */
const pathsOf = (
  { hasGenerator }: FollowersContext,
  { source: { settings }, path }: SourceLocation,
): { readonly pictures: readonly SourcePath[]; readonly icons: readonly SourcePath[] } => {
  if (!hasThumbnailFolder(settings) || path.isRoot) return { pictures: [], icons: [] };
  const planner = createPlanner(settings, hasGenerator);
  const thumbs = path.parent.below(settings.thumbFolderName);
  const unknown = { name: path.name, size: undefined, modifiedAt: undefined };
  const plan = planner.plan({ ...unknown, kind: 'file' });
  const icons = (['file', 'folder'] as const)
    .map((kind) => planner.planIcon({ ...unknown, kind }))
    .flatMap((icon) => (icon.kind === 'item' ? [thumbs.below(icon.name)] : []));
  if (plan.kind !== 'picture') return { pictures: [], icons };
  // Files that programs draw have no variants.
  const presets = plan.program === undefined ? Object.entries(settings.imagePresets) : [];
  const variants = presets.map(([preset, { format }]) => {
    const { name } = variantNameOf(path.name, format, settings.imageExtensions);
    return thumbs.below(preset).below(name);
  });
  return { pictures: [thumbs.below(plan.name), ...variants], icons };
};

const targetsOf = async (
  context: FollowersContext,
  location: SourceLocation,
): Promise<{ pictures: readonly Target[]; icons: readonly Target[] }> => {
  const { pictures, icons } = pathsOf(context, location);
  if (pictures.length + icons.length === 0) return { pictures: [], icons: [] };
  const storage = await location.source.storage();
  const at = (path: SourcePath): Target => ({ storage, path });
  return { pictures: pictures.map(at), icons: icons.map(at) };
};

const removeIfThere = async ({ storage, path }: Target): Promise<void> => {
  try {
    await storage.removeFile(path);
  } catch (error) {
    if (!(error instanceof NotFoundError)) throw error;
  }
};

const dropAll = async ({ maker }: FollowersContext, targets: readonly Target[]): Promise<void> => {
  for (const target of targets) {
    await maker.forget(target);
    await removeIfThere(target);
  }
};

const drop = async (context: FollowersContext, location: SourceLocation): Promise<void> => {
  const { pictures, icons } = await targetsOf(context, location);
  await dropAll(context, [...pictures, ...icons]);
};

/**
 * Whether the thumbnail is at least as new as its image: only then it, which looks new at its next location,
 * tells the truth.
 */
const isCurrent = async ({ cache }: FollowersContext, target: Target, image: Entry): Promise<boolean> =>
  isMadeOf(cache, target, await target.storage.stat(target.path), image);

/** Takes a picture along inside one store. False when there was none to take. */
const take = async (
  context: FollowersContext,
  [from, to]: TargetPair,
  image: Entry,
  operation: (from: Target, to: Target) => Promise<unknown>,
): Promise<boolean> => {
  const { maker } = context;
  if (!from || !to || from.storage !== to.storage) return false;
  try {
    const isTrue = await isCurrent(context, from, image);
    await Promise.all([maker.forget(from), maker.forget(to)]);
    if (isTrue) await operation(from, to);
    return isTrue;
  } catch (error) {
    if (error instanceof NotFoundError) return false;
    throw error;
  }
};

type TargetPair = readonly [from: Target | undefined, to: Target | undefined];

/** The thumbnail and the variants of one picture with those that they become, in the order of the presets. */
const pairsOf = (old: readonly Target[], next: readonly Target[]): readonly TargetPair[] =>
  Array.from({ length: Math.max(old.length, next.length) }, (_, index) => [old[index], next[index]]);

const move = async (context: FollowersContext, from: SourceVersion, to: SourceLocation): Promise<void> => {
  const [old, next] = await Promise.all([targetsOf(context, from), targetsOf(context, to)]);
  for (const pair of pairsOf(old.pictures, next.pictures)) {
    const moved = await take(context, pair, from.stat, ({ storage, path }, target) =>
      storage.moveFile(path, target.path),
    );
    if (!moved)
      await dropAll(
        context,
        pair.filter((target) => target !== undefined),
      );
  }
  await dropAll(context, [...old.icons, ...next.icons]);
};

const copy = async (context: FollowersContext, from: SourceVersion, to: SourceLocation): Promise<void> => {
  const [old, next] = await Promise.all([targetsOf(context, from), targetsOf(context, to)]);
  for (const pair of pairsOf(old.pictures, next.pictures)) {
    const copied = await take(context, pair, from.stat, ({ storage, path }, target) =>
      storage.copyFile(path, target.path),
    );
    if (!copied && pair[1] !== undefined) await dropAll(context, [pair[1]]);
  }
  await dropAll(context, next.icons);
};

const exists = async (storage: StorageAdapter, path: SourcePath): Promise<boolean> => {
  try {
    await storage.stat(path);
    return true;
  } catch (error) {
    if (error instanceof NotFoundError) return false;
    throw error;
  }
};

/** Removes a folder that holds nothing. False when it holds something. */
const removeIfEmpty = async (storage: StorageAdapter, folder: SourcePath): Promise<boolean> => {
  try {
    await storage.removeEmptyFolder(folder);
    return true;
  } catch (error) {
    if (error instanceof NotFoundError) return true;
    if (error instanceof NotEmptyError) return false;
    throw error;
  }
};

/**
 * A thumbnail that was stored at the very moment when its folder went has brought the folder back. Removes
 * such thumbnails, and the folders that hold nothing else. Costs nothing where no thumbnail was made of late,
 * else one request to the store.
 */
const sweepBelow = async ({ maker }: FollowersContext, location: SourceLocation): Promise<void> => {
  if (!hasThumbnailFolder(location.source.settings) || location.path.isRoot) return;
  const storage = await location.source.storage();
  const written = await maker.forgetBelow({ storage, path: location.path });
  if (written.length === 0 || !(await exists(storage, location.path))) return;
  for (const path of written) {
    await removeIfThere({ storage, path });
    for (let folder = path.parent; location.path.contains(folder); folder = folder.parent) {
      if (!(await removeIfEmpty(storage, folder))) break;
    }
  }
};

/** Keeps thumbnails with their images. Failures are logged: a thumbnail is never worth an error. */
export const createFollowers = (
  context: FollowersContext,
): Pick<Thumbnails, 'pathsOf' | 'removed' | 'moved' | 'copied' | 'changed'> => {
  const quietly = async (work: () => Promise<void>): Promise<void> => {
    try {
      await work();
    } catch (error) {
      context.log.warn('A thumbnail could not follow its image.', { error });
    }
  };
  return {
    pathsOf: (location) => {
      const { pictures, icons } = pathsOf(context, location);
      return [...pictures, ...icons];
    },
    removed: (location) =>
      quietly(async () => {
        await drop(context, location);
        await sweepBelow(context, location);
      }),
    changed: (location) => quietly(() => drop(context, location)),
    moved: (from, to) =>
      quietly(async () => {
        await move(context, from, to);
        await sweepBelow(context, from);
      }),
    copied: (from, to) => quietly(() => copy(context, from, to)),
  };
};
