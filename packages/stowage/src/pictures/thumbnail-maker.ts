import { Readable } from 'node:stream';
import { BrokenImageError, BusyError, NotFoundError } from '../errors/errors.ts';
import type { Logger } from '../basics/log/logger.ts';
import type { Entry, Stat } from '../storage/adapter.ts';
import { isSameVersion } from '../storage/same-version.ts';
import { SourcePath } from '../storage/source-path.ts';
import { MAX_PICTURE_BYTES } from './engine.ts';
import type { ThumbnailSpec } from './engine.ts';
import { collect, type ImagePool } from './image-pool.ts';
import type { Previews } from './previews/create-previews.ts';
import type { DrawingProgram } from './previews/drawing-program.ts';
import { createSingleFlight, type SingleFlight } from './single-flight.ts';
import { versionOf, type ThumbnailCache, type Target } from './thumbnail-cache.ts';

/**
 * How the making of a thumbnail ended. `broken`: the item cannot be drawn until it changes. `failed`: not
 * this time.
 */
export type Outcome = 'made' | 'broken' | 'failed';

/** Who wants a thumbnail. */
export interface MakingRequest {
  /**
   * The cache's turn when the request looked into the folder: what has been made since needs no second
   * making.
   */
  readonly since: number;
  readonly signal?: AbortSignal | undefined;
}

/** What a thumbnail is made of, and how. */
export interface ImageToShow {
  readonly path: SourcePath;
  readonly entry: Entry;
  readonly spec: ThumbnailSpec;
  /** Draws the file, which is not an image itself. */
  readonly program?: DrawingProgram | undefined;
}

/**
 * Makes single thumbnails: each once at a time, bounded over the whole connector. Its promises reject only
 * for the request's signal.
 */
export interface ThumbnailMaker {
  /** Reads the image, or has the program draw the file, scales it down and stores it. */
  picture(target: Target, image: ImageToShow, request: MakingRequest): Promise<Outcome>;
  /** Stores markup, or what has been drawn already, for this version of an item. */
  content(
    target: Target,
    item: { readonly version: string; readonly draw: () => Promise<string | Buffer> },
    request: MakingRequest,
  ): Promise<Outcome>;
  /** Stops what is being made for the target and forgets what was known. */
  forget(target: Target): Promise<void>;
  /**
   * The same for all that lies below a folder. Returns the thumbnails there that this process has written of
   * late.
   */
  forgetBelow(folder: Target): Promise<readonly SourcePath[]>;
}

const isExpected = (error: unknown): boolean =>
  error instanceof BusyError ||
  error instanceof NotFoundError ||
  (error instanceof Error && error.name === 'AbortError');

interface MakerContext {
  readonly pool: ImagePool;
  readonly previews: Previews;
  readonly cache: ThumbnailCache;
  readonly log: Logger;
  readonly flights: SingleFlight<Outcome>;
}

/** A thumbnail of one version of an item. */
interface Job {
  readonly target: Target;
  readonly version: string;
}

const store = async (
  { cache, log }: MakerContext,
  { target, version }: Job,
  content: Buffer,
  signal: AbortSignal,
): Promise<Outcome> => {
  try {
    const stream = Readable.from([content], { objectMode: false });
    // Clients cannot put a folder into a thumbnail folder.
    const options = { size: content.length, derived: true, signal };
    const { modifiedAt } = await target.storage.write(target.path, stream, options);
    cache.note(target, { version, outcome: 'made', modifiedAt });
    return 'made';
  } catch (error) {
    signal.throwIfAborted();
    const level = cache.noteRefusal(target) ? 'warn' : 'debug';
    log[level]('A thumbnail could not be stored.', { path: target.path.toString(), error });
    return 'failed';
  }
};

const failed = ({ cache, log }: MakerContext, { target, version }: Job, error: unknown): Outcome => {
  if (error instanceof BrokenImageError) {
    cache.note(target, { version, outcome: 'broken' });
    log.debug('An item cannot be drawn.', { path: target.path.toString(), error });
    return 'broken';
  }
  const level = isExpected(error) ? 'debug' : 'warn';
  log[level]('A thumbnail could not be made.', { path: target.path.toString(), error });
  return 'failed';
};

/** Runs the work of a target unless it is known how it ends. */
const once = async (
  context: MakerContext,
  job: Job,
  { since, signal }: MakingRequest,
  produce: (signal: AbortSignal) => Promise<Outcome>,
): Promise<Outcome> => {
  const { cache, flights } = context;
  const known = cache.find(job.target);
  if (known?.version === job.version && (known.outcome === 'broken' || known.turn > since))
    return known.outcome;
  if (cache.isRefused(job.target)) return 'failed';
  try {
    return await flights.run(cache.keyOf(job.target), job.version, produce, signal);
  } catch (error) {
    signal?.throwIfAborted();
    return failed(context, job, error);
  }
};

const forget = async ({ flights, cache }: MakerContext, target: Target): Promise<void> => {
  await flights.cancel(cache.keyOf(target));
  cache.forget(target);
};

const forgetBelow = async (context: MakerContext, folder: Target): Promise<readonly SourcePath[]> => {
  const { flights, cache } = context;
  const prefix = `${cache.keyOf(folder)}/`;
  const keys = new Set([...flights.keys(), ...cache.keys()].filter((key) => key.startsWith(prefix)));
  const paths = [...keys].map((key) => folder.path.join(SourcePath.parse(key.slice(prefix.length))));
  for (const path of paths) await forget(context, { storage: folder.storage, path });
  return paths;
};

/**
 * Drops what was stored when its item was replaced meanwhile, perhaps by another program or instance: it is
 * newer than the item, and would count as fresh for ever.
 */
const unlessReplaced = async (
  { cache, log }: MakerContext,
  { target, version }: Job,
  { path, drawn }: { readonly path: SourcePath; readonly drawn: Stat },
  signal: AbortSignal,
): Promise<Outcome> => {
  const { storage } = target;
  if (isSameVersion(drawn, await storage.stat(path, { signal }))) return 'made';
  cache.forget(target);
  log.debug('An item was replaced while its thumbnail was made.', { path: path.toString(), version });
  await storage.removeFile(target.path);
  return 'failed';
};

/** Makes a thumbnail of an image, within the memory for files from before it is read. */
const showImage = async (
  context: MakerContext,
  job: Job,
  { path, entry, spec }: ImageToShow,
  signal: AbortSignal,
): Promise<Outcome> => {
  const { pool } = context;
  if ((entry.size ?? 0) > MAX_PICTURE_BYTES) throw new BrokenImageError('The image file is too large.');
  const work = async (): Promise<Outcome> => {
    const { stat: drawn, stream } = await job.target.storage.read(path, { signal });
    const image = await collect(stream, MAX_PICTURE_BYTES, signal);
    const outcome = await store(context, job, await pool.engine.thumbnail(image, spec, signal), signal);
    return outcome === 'made' ? unlessReplaced(context, job, { path, drawn }, signal) : outcome;
  };
  return pool.hold('thumbnails', entry.size, work, signal);
};

/** Makes a thumbnail of what a program draws. */
const showDrawn = (
  context: MakerContext,
  job: Job,
  { path, entry, spec, program }: ImageToShow & { readonly program: DrawingProgram },
  signal: AbortSignal,
): Promise<Outcome> => {
  const { pool, previews } = context;
  const file = { storage: job.target.storage, path, size: entry.size };
  const side = Math.max(spec.width ?? 0, spec.height ?? 0);
  return previews.hold(async () => {
    const drawn = await job.target.storage.stat(path, { signal });
    const picture = await previews.draw(program, file, side, signal);
    const outcome = await store(context, job, await pool.engine.thumbnail(picture, spec, signal), signal);
    return outcome === 'made' ? unlessReplaced(context, job, { path, drawn }, signal) : outcome;
  }, signal);
};

/** Makes the maker of one connector. */
export const createThumbnailMaker = (
  shared: Pick<MakerContext, 'pool' | 'previews' | 'cache' | 'log'>,
): ThumbnailMaker => {
  const context: MakerContext = { ...shared, flights: createSingleFlight<Outcome>() };
  return {
    picture: (target, image, request) => {
      const job = { target, version: versionOf(image.entry) };
      const { program } = image;
      return once(context, job, request, (signal) =>
        program === undefined
          ? showImage(context, job, image, signal)
          : showDrawn(context, job, { ...image, program }, signal),
      );
    },
    content: (target, { version, draw }, request) => {
      const job = { target, version };
      return once(context, job, request, async (signal) =>
        store(context, job, Buffer.from(await draw()), signal),
      );
    },
    forget: (target) => forget(context, target),
    forgetBelow: (folder) => forgetBelow(context, folder),
  };
};
