import type { Logger } from '../../basics/log/logger.ts';
import { createImagePool, type ImagePool } from '../image-editor.ts';
import { createPreviews } from '../previews/previews.ts';
import { followersWith } from './follow.ts';
import { iconNamed } from './icon.ts';
import type { KeptContext } from './kept-pictures.ts';
import { createBacklog, describeWith, makeAllWith } from './listing.ts';
import { KeptMemory } from './memory.ts';
import { drawnNames } from './plan.ts';
import { createPictureSizes, type PictureSizes } from './sizes.ts';
import { showWith } from './show.ts';
import { variantsWith } from './thumbnail-view.ts';
import type { SvgGenerator, Thumbnails } from './thumbnails.ts';

/** What thumbnails are made with. */
export interface ThumbnailsOptions {
  readonly log: Logger;
  /** Where pictures are decoded. Default: a pool of its own. */
  readonly pool?: ImagePool | undefined;
  /** Learns the sizes of the pictures that are decoded. */
  readonly sizes?: PictureSizes | undefined;
  /** @see KeptContext.focusOf. Default: nothing has been said of any picture. */
  readonly focusOf?: KeptContext['focusOf'] | undefined;
  /** Draws icons in place of the default ones. */
  readonly svgGenerator?: SvgGenerator | undefined;
}

/** The thumbnails of one connector. */
export const createThumbnails = (options: ThumbnailsOptions): Thumbnails => {
  const { log, svgGenerator, pool = createImagePool(), sizes = createPictureSizes(pool) } = options;
  const { focusOf = () => Promise.resolve(undefined) } = options;
  const memory = new KeptMemory();
  const backlog = createBacklog();
  const context = { pool, previews: createPreviews(log), memory, sizes, focusOf, log, svgGenerator };
  return {
    describe: describeWith(context, backlog),
    show: showWith(context),
    variants: variantsWith(context),
    makeAll: makeAllWith(context),
    iconNamed: ({ settings: { svgThumbWidth: width, svgThumbHeight: height } }, name) =>
      iconNamed(name, { width, height }),
    drawnNames: ({ settings }, item) => drawnNames(settings, svgGenerator !== undefined, item),
    ...followersWith(context),
    close: () => backlog.close(),
  };
};
