import type { Logger } from '../log/logger.ts';
import type { SvgGenerator } from './svg-generator.ts';
import type { Thumbnails } from './thumbnails.ts';

/** What thumbnails are made with. */
export interface ThumbnailsOptions {
  readonly log: Logger;
  /** Pictures decoded at the same time over the whole connector. Default: as many as the process may use cores. */
  readonly concurrency?: number | undefined;
  /** Draws icons in place of the default ones. */
  readonly svgGenerator?: SvgGenerator | undefined;
}

/** The thumbnails of one connector. Holds no timers, threads or handles: there is nothing to close. */
export const createThumbnails = (_options: ThumbnailsOptions): Thumbnails => ({
  describe: async (_source, _folder, entries) => entries.map(() => undefined),
  removed: async () => undefined,
  moved: async () => undefined,
  copied: async () => undefined,
  changed: async () => undefined,
});
