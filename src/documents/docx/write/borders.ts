import type { IBorderOptions } from 'docx';
import type { Border } from '../css/style.ts';
import { eighths } from './units.ts';

const STYLES: Readonly<Record<string, IBorderOptions['style']>> = {
  dotted: 'dotted',
  dashed: 'dashed',
  double: 'double',
  groove: 'threeDEngrave',
  ridge: 'threeDEmboss',
};

export const noBorder: IBorderOptions = { style: 'none', size: 0, color: 'auto' };

/** Writes one side of a frame. @param space points between the line and the text, where it has a say */
export const borderOptions = (border: Border, space?: number): IBorderOptions => ({
  style: STYLES[border.style] ?? 'single',
  size: eighths(border.width),
  color: border.color,
  ...(space === undefined ? {} : { space: Math.min(31, Math.round(space)) }),
});
