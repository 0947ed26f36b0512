import type { TaskQueue } from '../../basics/concurrency/task-queue.ts';
import type { SharpLibrary } from '../../pictures/sharp-library.ts';
import type { Logger } from '../../basics/log/logger.ts';
import type { DocumentResources } from '../document-resources.ts';
import type { LoadResource } from './converter-thread.ts';
import { isSvg } from './drawing/draw-svg.ts';
import type { Drawings } from './drawing/drawings.ts';
import type { Picture } from 'stowage-html-docx';
import { preparePicture } from './prepare-picture.ts';

/** What loading needs. */
export interface ResourceLoaderParts {
  readonly resources: DocumentResources;
  readonly sharp: () => Promise<SharpLibrary>;
  readonly drawings: Drawings;
  /** Where pictures wait for their turn to be decoded. */
  readonly lanes: TaskQueue;
  readonly maxPixels: number;
  readonly signal: AbortSignal;
  readonly log: Logger;
}

/**
 * Loads the pictures and style sheets of one document, through the guarded door.
 */
export const createResourceLoader = (parts: ResourceLoaderParts): LoadResource => {
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
    // As in browsers, what says that it is something else is not a style sheet.
    const isSheet = /^\s*text\/css\b/iu.test(resource?.contentType ?? 'text/css');
    return isSheet ? resource?.bytes.toString('utf8') : undefined;
  };

  return async (request) => {
    if (request.kind === 'sheet') return sheet(request.url);
    if (request.kind === 'inline') return picture(Buffer.from(request.bytes.buffer));
    return picture((await resources.load(request.url, 'image/*,*/*;q=0.1'))?.bytes);
  };
};
