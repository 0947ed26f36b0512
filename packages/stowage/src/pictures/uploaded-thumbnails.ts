import { BrokenImageError, BusyError } from '../errors/errors.ts';
import type { Source } from '../sources/source.ts';
import { isSameVersion } from '../storage/same-version.ts';
import type { ThumbnailFormat } from './engine.ts';
import type { ImagePool } from './image-pool.ts';
import { versionOf, type ThumbnailCache } from './thumbnail-cache.ts';
import type { ThumbnailMaker } from './thumbnail-maker.ts';
import { createPlanner, specOf, type Plan } from './thumbnail-plan.ts';
import type { DrawnThumbnail, Thumbnails } from './thumbnails.ts';

/** What thumbnails of uploads are made with. */
export interface UploadedThumbnailsContext {
  readonly pool: ImagePool;
  readonly cache: ThumbnailCache;
  readonly maker: ThumbnailMaker;
  /** Drops the thumbnail of a picture that has changed. */
  readonly changed: Thumbnails['changed'];
}

/** Larger ones are left to the first listing: they wait in memory until the upload is stored. */
const MAX_DRAWN_BYTES = 256 * 1024;

const formatOf = (plan: Plan): ThumbnailFormat | undefined =>
  plan.kind === 'picture' && plan.program === undefined ? plan.format : undefined;

const planOf = ({ settings }: Source, name: string): Plan =>
  createPlanner(settings, false).plan({ name, kind: 'file', size: undefined, modifiedAt: undefined });

const drawWith =
  ({ pool }: UploadedThumbnailsContext): Thumbnails['draw'] =>
  async (source, name, picture, signal) => {
    const format = source.settings.createThumb ? formatOf(planOf(source, name)) : undefined;
    if (format === undefined) return undefined;
    try {
      const bytes = await pool.engine.thumbnail(picture, specOf(source.settings, format), signal, 'begun');
      return bytes.length > MAX_DRAWN_BYTES ? undefined : { format, bytes };
    } catch (error) {
      if (error instanceof BrokenImageError || error instanceof BusyError) return undefined;
      throw error;
    }
  };

/** Stores it. False when the picture is another one by now, or gone: then it would show what is not there. */
const store = async (
  { cache, maker }: UploadedThumbnailsContext,
  { source, path, stat }: Parameters<Thumbnails['keep']>[0],
  drawn: DrawnThumbnail,
): Promise<boolean> => {
  const plan = planOf(source, path.name);
  if (plan.kind !== 'picture' || formatOf(plan) !== drawn.format) return true;
  const storage = await source.storage();
  const thumbs = path.parent.child(source.settings.thumbFolderName);
  const target = { storage, path: thumbs.child(plan.name) };
  const content = {
    version: versionOf({ ...stat, name: path.name }),
    draw: () => Promise.resolve(drawn.bytes),
  };
  const outcome = await maker.content(target, content, { since: cache.turn() });
  return outcome !== 'made' || isSameVersion(stat, await storage.stat(path));
};

/** Thumbnails of pictures that come in, of the bytes that are at hand: nothing is read for them. */
export const createUploadedThumbnails = (
  context: UploadedThumbnailsContext,
): Pick<Thumbnails, 'draw' | 'keep'> => ({
  draw: drawWith(context),
  keep: async (stored, drawn) => {
    const isTrue = await store(context, stored, drawn).catch(() => false);
    if (!isTrue) await context.changed(stored);
  },
});
