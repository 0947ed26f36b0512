import type { Logger } from '../../basics/log/logger.ts';
import { BrokenImageError, BusyError, ifRefused, NotFoundError } from '../../errors/errors.ts';
import { type DerivedStore, derivedStoreOf, type Source } from '../../sources/source.ts';
import type { About } from '../../storage/about/about.ts';
import { type Entry, isSameVersion, type Stat } from '../../storage/entry.ts';
import { findNames, type Names } from '../../storage/records.ts';
import type { LocationLocks } from '../../storage/location.ts';
import type { ReadableStore } from '../../storage/readable.ts';
import type { SourcePath } from '../../storage/source-path.ts';
import { MAX_PICTURE_BYTES, type ThumbnailSpec } from '../engine.ts';
import type { ImagePool } from '../image-editor.ts';
import { inMemory } from '../picture-file.ts';
import type { Previews } from '../previews/previews.ts';
import type { DrawingProgram } from '../previews/programs.ts';
import { type KeptMemory, type MakingRequest, type Outcome, type Target } from './memory.ts';
import type { PictureSizes } from './sizes.ts';

export interface KeptContext {
  readonly pool: ImagePool;
  readonly previews: Previews;
  readonly memory: KeptMemory;
  readonly sizes: PictureSizes;
  /** The focal point of a picture, if it has one. @throws errors of the store */
  readonly focusOf: (
    store: ReadableStore,
    path: SourcePath,
    signal: AbortSignal,
  ) => Promise<About['focalPoint']>;
  /** Those of changes: a folder stays where it is while a thumbnail is stored. */
  readonly locations: Pick<LocationLocks, 'tryName' | 'mayHaveLeft'>;
  readonly log: Logger;
}

/** A picture that is derived from an entry and stored in a folder beside it: its name, and how it is made. */
export interface KeptPicture {
  readonly entry: Entry;
  readonly name: string;
  readonly spec: ThumbnailSpec;
  /** Set when the file is not an image itself: the program that draws it. */
  readonly program?: DrawingProgram | undefined;
}

/** A power failure may leave a file that was just written empty. */
const isWhole = ({ size }: Entry): boolean => size !== 0;

const isExpected = (error: unknown): boolean =>
  error instanceof BusyError ||
  error instanceof NotFoundError ||
  (error instanceof Error && error.name === 'AbortError');

interface Job {
  readonly target: Target;
  readonly item: Entry;
  /** Of the item. */
  readonly path: SourcePath;
}

/** Stores a derived file, unless its folder is being moved or removed, or has been: it would come again. */
const store = async (
  { memory, log, locations }: KeptContext,
  { target, item, path }: Job,
  content: Buffer,
  signal: AbortSignal,
): Promise<Outcome> => {
  const { files } = target.store;
  const location = { storage: files, path: target.path };
  const write = async (): Promise<Stat> => {
    if (locations.mayHaveLeft(location)) await files.stat(path, { signal });
    return target.store.write(target.path, content, { signal });
  };
  try {
    const made = await locations.tryName(location, undefined, write);
    if (made === undefined) return { failure: new BusyError() };
    memory.note(target, { item, outcome: 'made', made });
    return 'made';
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof NotFoundError) return { failure: error };
    const level = memory.noteRefusal(target, error) ? 'warn' : 'debug';
    log[level]('A thumbnail could not be stored.', { path: target.path.toString(), error });
    return { failure: error };
  }
};

/** Runs `work`, shared among requests. Rejects only for the request's signal. */
const once = async (
  { memory, log }: KeptContext,
  { target, item }: Job,
  request: MakingRequest,
  work: (signal: AbortSignal) => Promise<Outcome>,
): Promise<Outcome> => {
  const path = target.path.toString();
  try {
    return await memory.once(target, item, request, work);
  } catch (error) {
    request.signal?.throwIfAborted();
    if (error instanceof BrokenImageError) {
      memory.note(target, { item, outcome: 'broken' });
      log.debug('An item cannot be drawn.', { path, error });
      return 'broken';
    }
    log[isExpected(error) ? 'debug' : 'warn']('A thumbnail could not be made.', { path, error });
    return { failure: error };
  }
};

interface Drawn {
  readonly bytes: Buffer;
  readonly original: Stat;
}

const dropOutrun = async ({ memory }: KeptContext, { target }: Job): Promise<Outcome> => {
  memory.drop(target);
  await target.store.remove(target.path);
  return { failure: new BusyError() };
};

const isSameFocus = (one: About['focalPoint'], other: About['focalPoint']): boolean =>
  one?.x === other?.x && one?.y === other?.y;

/**
 * Stores a drawn picture, and removes it if its item was replaced meanwhile, perhaps by another instance: it
 * is newer than the item, and would count as fresh forever.
 */
const storeDrawn = async (
  context: KeptContext,
  job: Job,
  { bytes, original }: Drawn,
  signal: AbortSignal,
): Promise<Outcome> => {
  const { target, path } = job;
  const outcome = await store(context, job, bytes, signal);
  if (outcome !== 'made' || isSameVersion(original, await target.store.files.stat(path, { signal })))
    return outcome;
  context.log.debug('An item was replaced while its thumbnail was made.', { path: path.toString() });
  return dropOutrun(context, job);
};

/** Scales an image down, within the memory for files from reading until the result is stored. */
const makeOfImage = async (
  context: KeptContext,
  job: Job,
  { entry, spec }: KeptPicture,
  signal: AbortSignal,
): Promise<Outcome> => {
  const { pool } = context;
  const { path } = job;
  const { store: derived } = job.target;
  const focusNow = (): Promise<About['focalPoint']> =>
    spec.fit === 'cover' ? context.focusOf(derived.files, path, signal) : Promise.resolve(undefined);
  if ((entry.size ?? 0) > MAX_PICTURE_BYTES) throw new BrokenImageError('The image file is too large.');
  const work = async (): Promise<Outcome> => {
    const read = await derived.files.read(path, { signal, bytesUpTo: MAX_PICTURE_BYTES });
    const image = await inMemory(read, MAX_PICTURE_BYTES, signal);
    const focus = await focusNow();
    const bytes = await pool.engine.thumbnail(image, { ...spec, focus }, signal);
    if (isSameVersion(read.stat, { ...entry, etag: entry.etag }))
      await context.sizes.learn(derived.files, path, entry, image);
    const outcome = await storeDrawn(context, job, { bytes, original: read.stat }, signal);
    if (outcome !== 'made' || isSameFocus(focus, await focusNow())) return outcome;
    return dropOutrun(context, job);
  };
  return pool.hold('thumbnails', entry.size, work, signal);
};

const makeByProgram = (
  context: KeptContext,
  job: Job,
  { entry, spec, program }: KeptPicture & { readonly program: DrawingProgram },
  signal: AbortSignal,
): Promise<Outcome> => {
  const { pool, previews } = context;
  const { path } = job;
  const storage = job.target.store.files;
  const side = Math.max(spec.width ?? 0, spec.height ?? 0);
  return previews.hold(async () => {
    const original = await storage.stat(path, { signal });
    const picture = await previews.draw(program, { storage, path, size: entry.size }, side, signal);
    const bytes = await pool.engine.thumbnail(picture, spec, signal);
    return storeDrawn(context, job, { bytes, original }, signal);
  }, signal);
};

interface ReadFolder {
  readonly context: KeptContext;
  readonly store: DerivedStore;
  readonly originals: SourcePath;
  readonly folder: SourcePath;
  readonly existing: ReadonlyMap<string, Entry>;
  readonly request: MakingRequest;
}

/** A folder of derived pictures, as read by one request. */
export class KeptFolder {
  readonly #read: ReadFolder;

  /** @see openKeptFolder */
  constructor(read: ReadFolder) {
    this.#read = read;
  }

  pathOf(name: string): SourcePath {
    return this.#read.folder.child(name);
  }

  has(name: string): boolean {
    return this.#read.existing.has(name);
  }

  /** Whether the file of this name exists and was made of the current version of the entry. */
  isFresh(name: string, entry: Entry): boolean {
    const { existing, context } = this.#read;
    const made = existing.get(name);
    return made !== undefined && context.memory.isMadeOf(this.#target(name), made, entry);
  }

  /** Whether the entry is known to be undrawable. */
  isBroken(name: string, entry: Entry): boolean {
    return this.#read.context.memory.isBroken(this.#target(name), entry);
  }

  /** Makes the picture unless it exists and is fresh. Rejects only for the signal (the request's). */
  async ensure(picture: KeptPicture, signal = this.#read.request.signal): Promise<Outcome | 'current'> {
    const { entry, name, program } = picture;
    if (this.isFresh(name, entry)) return 'current';
    const { context, originals, request } = this.#read;
    const path = originals.child(entry.name);
    const job = { target: this.#target(name), item: entry, path };
    return once(context, job, { ...request, signal }, (aborted) =>
      program === undefined
        ? makeOfImage(context, job, picture, aborted)
        : makeByProgram(context, job, { ...picture, program }, aborted),
    );
  }

  /** Stores markup, or a drawn picture, for the given version of an item. Rejects only for the signal. */
  async put(name: string, item: Entry, draw: () => Promise<string | Buffer>): Promise<Outcome> {
    const { context, originals, request } = this.#read;
    const job = { target: this.#target(name), item, path: originals.child(item.name) };
    return once(context, job, request, async (signal) =>
      store(context, job, Buffer.from(await draw()), signal),
    );
  }

  #target(name: string): Target {
    return { store: this.#read.store, path: this.pathOf(name) };
  }
}

/**
 * Reads which of these names exist in a folder's thumbnail folder, or in that of a preset: one request to the
 * store, none without names. Those that the store denies, such as files of another user after a
 * restore, count as missing, and are made again. @throws other errors of the store
 */
export const openKeptFolder = async (
  context: KeptContext,
  source: Source,
  { folder, preset, names }: { folder: SourcePath; preset?: string | undefined; names: Names },
  signal: AbortSignal | undefined,
  find = findNames,
): Promise<KeptFolder> => {
  const store = await derivedStoreOf(source);
  const thumbs = folder.child(source.settings.thumbFolderName);
  const kept = preset === undefined ? thumbs : thumbs.child(preset);
  const since = context.memory.sequence;
  const found = await find(store.files, kept, names, { signal }).catch(ifRefused);
  const existing = new Map([...(found ?? [])].filter(([, entry]) => isWhole(entry)));
  // Where nothing is shown, the pictures count that this process has made.
  const request = { since: found === undefined ? 0 : since, signal };
  return new KeptFolder({ context, store, originals: folder, folder: kept, existing, request });
};
