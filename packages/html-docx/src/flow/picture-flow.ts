import { pointsOf } from '../css/length.ts';
import type { Style } from '../css/style.ts';
import type { ElementNode } from '../html/nodes.ts';
import type { Block, Picture, PictureInline } from './model.ts';

/** Points per pixel. */
const PIXEL = 0.75;
/** Height in points that a picture leaves free on a page that it fills. */
const REST = 8;

interface Size {
  readonly width: number;
  readonly height: number;
}

/** Scales a size down to fit, preserving its aspect ratio. */
const fitted = ({ width, height }: Size, room: Size): Size => {
  const scale = Math.min(1, room.width / width, room.height / height);
  return { width: Math.max(1, width * scale), height: Math.max(1, height * scale) };
};

/**
 * The displayed size of a picture: from style or attributes, else its own; a missing side follows from the
 * aspect ratio.
 */
const shownSize = (picture: Picture, style: Style, room: number): Size => {
  const ratio = picture.height / picture.width;
  const wanted = pointsOf(style.width, room);
  const height = pointsOf(style.height);
  const limit = pointsOf(style.maxWidth, room) ?? Number.POSITIVE_INFINITY;
  const natural = height === undefined ? picture.width * PIXEL : height / ratio;
  const width = Math.min(Math.max(1, wanted ?? natural), Math.max(1, limit));
  const isStretched = wanted !== undefined && height !== undefined && width === wanted;
  return { width, height: isStretched ? Math.max(1, height) : width * ratio };
};

/** A picture in a line of text. @param line the width of the line, and the link around the picture */
export const pictureInline = (
  picture: Picture,
  node: ElementNode,
  style: Style,
  line: { readonly width: number; readonly pageHeight: number; readonly link: string | undefined },
): PictureInline => ({
  kind: 'picture',
  picture,
  ...fitted(shownSize(picture, style, line.width), { width: line.width, height: line.pageHeight - REST }),
  float: style.float,
  alt: (node.attributes.get('alt') ?? node.attributes.get('aria-label'))?.trim() ?? '',
  link: line.link,
});

/** The same blocks with pictures scaled down to the final width. */
export const withFittingPictures = (blocks: readonly Block[], room: number): readonly Block[] =>
  blocks.map((block) =>
    block.kind === 'table'
      ? block
      : {
          ...block,
          inlines: block.inlines.map((inline) =>
            inline.kind === 'picture'
              ? { ...inline, ...fitted(inline, { width: room, height: inline.height }) }
              : inline,
          ),
        },
  );
