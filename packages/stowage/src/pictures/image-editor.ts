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

/** Divisor: files in memory, waiting or about to be stored, may take this fraction of the memory. */
const FILE_SHARE = 4;
/** Maximum number of files in memory. One of unknown size counts as a quarter of their memory. */
const MAX_FILES = 16;

/** The client of an edit waits for it and can retry; a listing merely shows fewer thumbnails. */
const EDITS = { maxWaiting: 32, maxWaitMs: 10_000 };
const THUMBNAILS = { maxWaiting: 10_000, maxWaitMs: 30_000 };

/** Threads of the runtime without `UV_THREADPOOL_SIZE`. */
const DEFAULT_THREADS = 4;
const DEFAULT_MEMORY = 512 * 1024 * 1024;

interface ImagePoolOptions {
  /** Memory in bytes for all pictures being decoded; files and results take half as much again. */
  readonly memory?: number;
  /** Threads of the runtime, which all file operations share. */
  readonly threads?: number | undefined;
}

/** Decoder, cores and memory, shared by all image processing of one connector. */
export interface ImagePool {
  readonly engine: ImageEngine;
  /** Runs work that holds this number of bytes until its result is stored; edits have priority. */
  readonly hold: <Result>(
    kind: 'edits' | 'thumbnails',
    bytes: number | undefined,
    work: () => Promise<Result>,
    signal?: AbortSignal,
  ) => Promise<Result>;
}

/**
 * Creates a pool that processes as many pictures concurrently as the process has cores, within the memory
 * limit. One of the `threads` is left for file operations: otherwise every download would stall while
 * pictures are decoded.
 */
export const createImagePool = ({
  memory = DEFAULT_MEMORY,
  threads = DEFAULT_THREADS,
}: ImagePoolOptions = {}): ImagePool => {
  const tasks = Math.max(1, Math.min(availableParallelism(), threads - 1));
  const limits = { edits: EDITS, thumbnails: THUMBNAILS };
  // Started work holds its file until it ends: if all files were read before one is finished, all would stay
  // in memory.
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

/** Bytes of memory that cleaning takes per byte of a file. */
const CLEANING_FACTOR = 6;

/**
 * Processes whole pictures for single requests. Bounded in number and memory, from reading a picture until
 * its result is used.
 *
 * Errors: BusyError when too many wait or the wait takes too long, BrokenImageError, the signal's reason, and
 * errors of the callbacks.
 */
export interface ImageEditor {
  /** Edits a picture by the result of `plan` for its displayed size, and passes the result to `use`. */
  edit<Result>(
    picture: PictureFile,
    plan: (seen: PictureSize) => Edit,
    use: (result: Buffer) => Promise<Result>,
    signal: AbortSignal,
  ): Promise<Result>;
  /** Passes the form to be stored to `use`. @throws UnsupportedError for HEIC without its decoder */
  receive<Result>(
    picture: PictureFile,
    policy: ReceivingPolicy,
    use: (received: Received) => Promise<Result>,
    signal: AbortSignal,
  ): Promise<Result>;
  /**
   * Passes the cleaned content to `use` if the file is SVG, or XML that is a drawing. Resolves with
   * undefined, without calling `use`, for all other files: they stay unchanged. `open` may be called twice.
   * @throws BrokenImageError when it is malformed or too large; TypeNotAllowedError for XML that browsers
   *   show as a page
   */
  clean<Result>(
    name: string,
    file: PictureFile,
    use: (cleaned: CleanedSvg) => Promise<Result>,
    signal: AbortSignal,
  ): Promise<Result | undefined>;
  /** The displayed size, by its header, if possible. `open` may be called twice. Never fails. */
  measure(name: string, picture: PictureFile): Promise<PictureSize | undefined>;
  /** @see readTexts */
  texts(picture: PictureFile, signal: AbortSignal): Promise<About | undefined>;
  /** Checks that the bytes decode completely. Resolves with the default extension of their format. */
  verify(picture: PictureFile, signal: AbortSignal): Promise<string>;
}

const HEAD_BYTES = 256 * 1024;

/** Bytes that suffice for most headers. */
const measureWith =
  ({ engine, hold }: ImagePool): ImageEditor['measure'] =>
  async (name, picture) => {
    try {
      const head = await beginningOf(await picture.open(), HEAD_BYTES);
      if (extensionOf(name) === 'svg') return (await import('./svg/svg-size.ts')).svgSize(head);
      if (sniffPicture(head) === undefined) return undefined;
      const seen = await engine.size(head);
      if (seen !== undefined || head.length === picture.size) return seen;
      // Some formats store their structure at the end.
      const whole = async (): Promise<PictureSize | undefined> =>
        engine.size(await collect(await picture.open(), MAX_PICTURE_BYTES));
      return await hold('edits', picture.size, whole);
    } catch {
      return undefined;
    }
  };

export const createImageEditor = (pool: ImagePool): ImageEditor => {
  const { engine, hold } = pool;
  /** Reads a picture into memory and processes it there. */
  const withPicture = <Result>(
    picture: PictureFile,
    signal: AbortSignal,
    work: (image: Buffer) => Promise<Result>,
  ): Promise<Result> => {
    const read = async (): Promise<Result> =>
      work(await collect(await picture.open(), MAX_PICTURE_BYTES, signal));
    return hold('edits', picture.size, read, signal);
  };
  return {
    edit: (picture, plan, use, signal) =>
      withPicture(picture, signal, async (image) => use(await engine.edit(image, plan, signal))),
    receive: (picture, policy, use, signal) =>
      withPicture(picture, signal, async (image) => use(await engine.receive(image, policy, signal))),
    clean: async (name, file, use, signal) => {
      const extension = extensionOf(name);
      if (extension !== 'svg' && extension !== 'xml') return undefined;
      // The XML parser is loaded with the first such file, so that the service starts faster.
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
  };
};
