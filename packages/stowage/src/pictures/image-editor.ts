import { availableParallelism } from 'node:os';
import { addAbortSignal } from 'node:stream';
import { createSharedQueues, type TaskQueue } from '../basics/concurrency/queues.ts';
import { extensionOf } from '../basics/content/file-type.ts';
import type { About } from '../storage/about/about.ts';
import {
  type Edit,
  type ImageEngine,
  MAX_PICTURE_BYTES,
  type PictureSize,
  type Received,
  type ReceivingPolicy,
} from './engine.ts';
import { beginningOf, collect, type PictureFile, sniffPicture } from './picture-file.ts';
import { createSharpEngine } from './sharp-engine.ts';
import type { CleanedSvg } from './svg/clean-svg.ts';

/** Part of the memory for files that have been read, wait, or are about to be stored. */
const FILE_SHARE = 4;
/**
 * Files in memory at the same time, however small. A file of unknown size counts as a quarter of the memory
 * for files.
 */
const MAX_FILES = 16;

/** A client waits for an edit and can be told to come back; a listing just shows fewer thumbnails. */
const EDITS = { maxWaiting: 32, maxWaitMs: 10_000 };
const THUMBNAILS = { maxWaiting: 10_000, maxWaitMs: 30_000 };

/** Threads of the runtime when `UV_THREADPOOL_SIZE` is not set. */
const DEFAULT_THREADS = 4;
const DEFAULT_MEMORY = 512 * 1024 * 1024;

interface ImagePoolOptions {
  /**
   * Bytes that all pictures that are decoded at the same time may take; half as much again goes to files in
   * memory and results.
   */
  readonly memory?: number;
  /** Threads of the runtime, which all reading and writing of files shares. */
  readonly threads?: number | undefined;
}

/** What all work on pictures of one connector shares: the decoder, its cores and its memory. */
export interface ImagePool {
  readonly engine: ImageEngine;
  /**
   * Runs work that holds this many bytes, from before they are read until the result is stored; edits go
   * before thumbnails.
   */
  readonly hold: <Result>(
    kind: 'edits' | 'thumbnails',
    bytes: number | undefined,
    work: () => Promise<Result>,
    signal?: AbortSignal,
  ) => Promise<Result>;
}

/**
 * Sets up a pool that works on as many pictures at a time as the process may use cores, as far as their
 * memory goes. One of the `threads` stays free for files: else every download would stand still while
 * pictures are decoded.
 */
export const createImagePool = ({
  memory = DEFAULT_MEMORY,
  threads = DEFAULT_THREADS,
}: ImagePoolOptions = {}): ImagePool => {
  const tasks = Math.max(1, Math.min(availableParallelism(), threads - 1));
  const limits = { edits: EDITS, thumbnails: THUMBNAILS };
  // Work that has begun holds its file until it ends: all would hold theirs if each began before one ended.
  const order = { begun: EDITS, ...limits };
  const fileMemory = Math.max(memory / FILE_SHARE, MAX_PICTURE_BYTES);
  const files: Readonly<Record<'edits' | 'thumbnails', TaskQueue>> = createSharedQueues(
    { weight: fileMemory, tasks: MAX_FILES },
    limits,
  );
  return {
    engine: createSharpEngine(createSharedQueues({ weight: memory, tasks }, order), memory),
    hold: (kind, bytes, work, signal) => files[kind].run(work, bytes ?? fileMemory / 4, signal),
  };
};

/** Bytes of memory that cleaning takes for each byte of a file. */
const CLEANING_FACTOR = 6;

/**
 * Works on whole pictures for single requests. Bounded in number and memory from before a picture is read
 * until its result is used.
 *
 * Errors: BusyError when too many wait or the wait takes too long, BrokenImageError, the signal's reason, and
 * whatever the callbacks throw.
 */
export interface ImageEditor {
  /** Edits a picture by what `plan` decides for the size that is seen, and gives `use` the result. */
  edit<Result>(
    picture: PictureFile,
    plan: (seen: PictureSize) => Edit,
    use: (result: Buffer) => Promise<Result>,
    signal: AbortSignal,
  ): Promise<Result>;
  /**
   * Gives `use` what is to be stored of a picture that comes in.
   * @throws UnsupportedError for HEIC without the package that reads it
   */
  receive<Result>(
    picture: PictureFile,
    policy: ReceivingPolicy,
    use: (received: Received) => Promise<Result>,
    signal: AbortSignal,
  ): Promise<Result>;
  /**
   * Gives `use` what is to be stored of a file under this name where uploads are cleaned: an SVG file comes
   * out cleaned, and so does an XML file that is a drawing. Resolves with undefined, without a call of `use`,
   * for everything else: it stays as it is. `open` may be called twice.
   * @throws BrokenImageError when it is malformed or too large; TypeNotAllowedError for XML that browsers
   *   show as a page
   */
  clean<Result>(
    name: string,
    file: PictureFile,
    use: (cleaned: CleanedSvg) => Promise<Result>,
    signal: AbortSignal,
  ): Promise<Result | undefined>;
  /**
   * The size of a picture of this name as it is seen, by its header; undefined when that cannot be found out.
   * `open` may be called twice. Never fails.
   */
  measure(name: string, picture: PictureFile): Promise<PictureSize | undefined>;
  /** @see readTexts */
  texts(picture: PictureFile, signal: AbortSignal): Promise<About | undefined>;
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

const HEAD_BYTES = 256 * 1024;

/** The first bytes of a file. */
const measureWith =
  ({ engine, hold }: ImagePool): ImageEditor['measure'] =>
  async (name, picture) => {
    try {
      const head = await beginningOf(await picture.open(), HEAD_BYTES);
      if (extensionOf(name) === 'svg') return (await import('./svg/svg-size.ts')).svgSize(head);
      if (sniffPicture(head) === undefined) return undefined;
      const seen = await engine.size(head);
      if (seen !== undefined || head.length === picture.size) return seen;
      // Some formats keep at their end where things are.
      const whole = async (): Promise<PictureSize | undefined> =>
        engine.size(await collect(await picture.open(), MAX_PICTURE_BYTES));
      return await hold('edits', picture.size, whole);
    } catch {
      return undefined;
    }
  };

/** The editor of one connector. */
export const createImageEditor = (pool: ImagePool): ImageEditor => {
  const { engine, hold } = pool;
  /** Works on a whole picture in memory. */
  const withPicture = <Result>(
    picture: PictureFile,
    signal: AbortSignal,
    work: (image: Buffer) => Result | Promise<Result>,
    limit = MAX_PICTURE_BYTES,
    refuse?: () => Error,
  ): Promise<Result> =>
    hold(
      'edits',
      picture.size,
      async () => work(await collect(await picture.open(), limit, signal, refuse)),
      signal,
    );
  return {
    edit: (picture, plan, use, signal) =>
      withPicture(picture, signal, async (image) => use(await engine.edit(image, plan, signal))),
    receive: (picture, policy, use, signal) =>
      withPicture(picture, signal, async (image) => use(await engine.receive(image, policy, signal))),
    clean: async (name, file, use, signal) => {
      const extension = extensionOf(name);
      if (extension !== 'svg' && extension !== 'xml') return undefined;
      // The parser of XML is loaded with the first such file: a service starts without it.
      if (extension === 'xml') {
        const { checkXml } = await import('./svg/strict-xml.ts');
        const kind = await checkXml(addAbortSignal(signal, await file.open()));
        if (kind === 'data') return undefined;
      }
      const { cleanDrawing, MAX_SVG_BYTES } = await import('./svg/clean-svg.ts');
      const bytes = Math.min(file.size ?? MAX_SVG_BYTES, MAX_SVG_BYTES) * CLEANING_FACTOR;
      return hold(
        'edits',
        bytes,
        async () => {
          const svg = await collect(await file.open(), MAX_SVG_BYTES, signal);
          return use(await cleanDrawing(svg, signal));
        },
        signal,
      );
    },
    measure: measureWith(pool),
    texts: async (picture, signal) => (await import('./metadata/texts.ts')).readTexts(hold, picture, signal),
    verify: (picture, signal) => withPicture(picture, signal, (image) => engine.verify(image, signal)),
    load: async (picture, { bytes, refuse }, use, signal) => {
      const limit = Math.min(bytes, MAX_PICTURE_BYTES);
      if ((picture.size ?? 0) > limit) throw refuse();
      return withPicture(picture, signal, use, limit, refuse);
    },
  };
};
