import type { DocxPage, Picture, PictureType } from 'stowage-html-docx';
import { DocumentLimitError, ShuttingDownError, BrokenImageError } from '../../errors/errors.ts';
import { requireInstalled } from '../../errors/optional-package.ts';
import { withOwnSignal } from '../../basics/concurrency/abort.ts';
import { createTaskQueue, type TaskQueue } from '../../basics/concurrency/queues.ts';
import { WarmPool } from '../../basics/concurrency/warm-pool.ts';
import {
  createSharpLoader,
  asBroken,
  type OpenedPicture,
  openPicture,
  type SharpLibrary,
} from '../../pictures/open-picture.ts';
import type { Logger } from '../../basics/log/logger.ts';
import type { RemoteFetcher } from '../../basics/network/remote.ts';
import {
  createDocumentResources,
  type DocumentClock,
  withinDocumentTime,
  type DocumentResources,
} from '../document-resources.ts';
import type { DocumentJob, DocxLimits } from '../documents.ts';
import { isSizeChosen, pageSizeOf, type PageSetup } from '../page-setup.ts';
import { ConverterThread, type LoadResource } from './converter-thread.ts';
import { createDrawings, type Drawings, isSvg } from './drawings.ts';

/** Longest side of a converted picture: larger than on any page. */
const MAX_SIDE = 3000;

const KEPT: Readonly<Record<string, PictureType>> = { png: 'png', jpeg: 'jpg', gif: 'gif' };

/** The type of a picture that Word supports unchanged: no other formats, no rotated or CMYK JPEGs. */
const keptType = ({ format, metadata }: OpenedPicture): PictureType | undefined => {
  const isPlain = metadata !== undefined && (metadata.orientation ?? 1) === 1 && metadata.space !== 'cmyk';
  return isPlain ? KEPT[format] : undefined;
};

/** A copy in its own memory, which can be transferred to a thread. */
const owned = (bytes: Buffer): Uint8Array => new Uint8Array(bytes);

const requireSize = ({ width, height }: { width: number; height: number }, maxPixels: number): void => {
  if (width * height > maxPixels) throw new BrokenImageError('The image has too many pixels.');
};

const converted = async (opened: OpenedPicture): Promise<Picture> => {
  const { width, height } = opened;
  const upright = (await opened.decode())
    .autoOrient()
    .toColourspace('srgb')
    .resize({ width: MAX_SIDE, height: MAX_SIDE, fit: 'inside', withoutEnlargement: true });
  return opened.format === 'jpeg'
    ? { type: 'jpg', bytes: owned(await upright.jpeg({ quality: 90 }).toBuffer()), width, height }
    : { type: 'png', bytes: owned(await upright.png().toBuffer()), width, height };
};

/**
 * Converts a picture for word processors: PNG, JPEG and GIF stay unchanged, other formats are converted. SVG
 * is not handled here.
 * @throws BrokenImageError when the bytes are not a picture, or one beyond the limits
 */
const preparePicture = (sharp: SharpLibrary, bytes: Buffer, maxPixels: number): Promise<Picture> =>
  asBroken(async () => {
    const opened = await openPicture(sharp, bytes, 'first');
    requireSize(opened, maxPixels);
    const type = keptType(opened);
    const { width, height } = opened;
    return type === undefined ? converted(opened) : { type, bytes: owned(bytes), width, height };
  });

interface ResourceLoaderParts {
  readonly resources: DocumentResources;
  readonly sharp: () => Promise<SharpLibrary>;
  readonly drawings: Drawings;
  /** Queue for decoding pictures. */
  readonly lanes: TaskQueue;
  readonly maxPixels: number;
  readonly signal: AbortSignal;
  readonly log: Logger;
}

/** Loads the pictures and style sheets of one document, with the checks of `resources`. */
const createResourceLoader = (parts: ResourceLoaderParts): LoadResource => {
  const { resources, drawings, lanes, maxPixels, signal, log } = parts;

  const picture = async (bytes: Buffer | undefined): Promise<Picture | undefined> => {
    if (bytes === undefined) return undefined;
    try {
      if (isSvg(bytes)) {
        return await lanes.run(() => drawings.draw({ svg: bytes, maxPixels }, signal), 1, signal);
      }
      const sharp = await parts.sharp();
      return await lanes.run(() => preparePicture(sharp, bytes, maxPixels), 1, signal);
    } catch (reason) {
      signal.throwIfAborted();
      log.info('A picture of a document is left out.', { reason });
      return undefined;
    }
  };

  const sheet = async (url: string): Promise<string | undefined> => {
    const resource = await resources.load(url, 'text/css,*/*;q=0.1');
    // As in browsers, a resource with another content type is not a style sheet.
    const isSheet = /^\s*text\/css\b/iu.test(resource?.contentType ?? 'text/css');
    return isSheet ? resource?.bytes.toString('utf8') : undefined;
  };

  return async (request) => {
    if (request.kind === 'sheet') return sheet(request.url);
    if (request.kind === 'inline') return picture(Buffer.from(request.bytes.buffer));
    return picture((await resources.load(request.url, 'image/*,*/*;q=0.1'))?.bytes);
  };
};

const PARALLEL_PICTURES = 2;

export interface DocxEngineParts {
  readonly remote: RemoteFetcher;
  readonly log: Logger;
  readonly limits: DocxLimits;
}

/** Page settings for the converter; without a chosen size the document's own rules apply. */
const docxPage = (setup: PageSetup = {}): DocxPage => {
  const { margin, header, footer } = setup;
  return { size: isSizeChosen(setup) ? pageSizeOf(setup) : undefined, margin, header, footer };
};

/** Creates DOCX files in threads, which start with the first document. @throws UnsupportedError */
export const createDocxEngine = ({ remote, log, limits }: DocxEngineParts) => {
  requireInstalled('Making DOCX files', ['docx', 'parse5'], (name) => import.meta.resolve(name));
  const { running: capacity, waiting: maxWaiting, maxWaitMs } = limits;
  const lanes = createTaskQueue({ capacity, maxWaiting, maxWaitMs });
  const pictureLanes = createTaskQueue({ capacity: PARALLEL_PICTURES, maxWaiting: 1000, maxWaitMs });
  const sharp = createSharpLoader();
  const pool = new WarmPool(() => new ConverterThread(limits.maxHeapMb), limits.idleMs);
  const drawings = createDrawings(limits);
  const closing = new AbortController();

  const convertIn = async (job: DocumentJob, deadline: DocumentClock): Promise<Uint8Array> => {
    const { signal } = deadline;
    const resources = deadline.time(createDocumentResources(remote, { ...job, signal }, log));
    const { maxPixels } = limits;
    const parts = { resources, sharp, drawings, lanes: pictureLanes, maxPixels, signal, log };
    const load = createResourceLoader(parts);
    return pool.use((thread) =>
      deadline.race(thread.convert(job.html, docxPage(job.page), load)).catch(async (error: unknown) => {
        // It may be busy forever, or in an inconsistent state.
        await thread.end();
        throw error;
      }),
    );
  };

  const convertWithin = (job: DocumentJob): Promise<Uint8Array> =>
    withOwnSignal([job.signal, closing.signal], (signal) => {
      signal.throwIfAborted();
      return withinDocumentTime({ ...job, signal }, limits.convertMs, (clock) => convertIn(job, clock));
    });

  return {
    convert: (job: DocumentJob): Promise<Uint8Array> => {
      if (job.html.length > limits.maxHtmlLength) throw new DocumentLimitError();
      return lanes.run(() => convertWithin(job), 1, job.signal);
    },
    close: async (): Promise<void> => {
      closing.abort(new ShuttingDownError());
      await Promise.all([drawings.close(), pool.close()]);
    },
  };
};

export type DocxEngine = ReturnType<typeof createDocxEngine>;
