import type { Readable } from 'node:stream';
import { collect } from './collect.ts';
import type { Edit, PictureSize } from './engine.ts';
import { MAX_PICTURE_BYTES } from './limits.ts';
import { memoryWeight, type Workshop } from './workshop.ts';

/** A stored or uploaded picture. */
export interface PictureFile {
  /** Bytes; undefined where the store does not report it. */
  readonly size: number | undefined;
  /** Opens it; called at most once. */
  readonly open: () => Readable | Promise<Readable>;
}

/**
 * Works on whole pictures for single requests. Bounded in number and memory from before a picture is read until its result is used.
 *
 * Errors: BusyError when too many wait or the wait takes too long, BrokenImageError, the signal's reason, and whatever the callbacks throw.
 */
export interface ImageEditor {
  /** Edits a picture by what `plan` decides for the size that is seen, and gives `use` the result. */
  edit<Result>(
    picture: PictureFile,
    plan: (seen: PictureSize) => Edit,
    use: (result: Buffer) => Promise<Result>,
    signal: AbortSignal,
  ): Promise<Result>;
  /** Makes sure that the bytes decode to their end. Tells the usual extension of their format. */
  verify(picture: PictureFile, signal: AbortSignal): Promise<string>;
  /** Reads a file of at most `limit` bytes as it is. @throws what `refuse` makes when it is larger */
  load<Result>(
    picture: PictureFile,
    limit: { readonly bytes: number; readonly refuse: () => Error },
    use: (content: Buffer) => Result | Promise<Result>,
    signal: AbortSignal,
  ): Promise<Result>;
}

/** The editor of one connector. */
export const createImageEditor = ({ engine, memory }: Workshop): ImageEditor => {
  const read = async (picture: PictureFile, signal: AbortSignal): Promise<Buffer> =>
    collect(await picture.open(), MAX_PICTURE_BYTES, signal);
  return {
    edit: (picture, plan, use, signal) =>
      memory.edits.run(
        async () => use(await engine.edit(await read(picture, signal), plan, signal)),
        memoryWeight(picture.size),
        signal,
      ),
    verify: (picture, signal) =>
      memory.edits.run(
        async () => engine.verify(await read(picture, signal), signal),
        memoryWeight(picture.size),
        signal,
      ),
    load: async (picture, { bytes, refuse }, use, signal) => {
      const limit = Math.min(bytes, MAX_PICTURE_BYTES);
      if ((picture.size ?? 0) > limit) throw refuse();
      return memory.edits.run(
        async () => use(await collect(await picture.open(), limit, signal, refuse)),
        memoryWeight(picture.size),
        signal,
      );
    },
  };
};
