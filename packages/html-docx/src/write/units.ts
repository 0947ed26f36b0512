import type { IBorderOptions } from 'docx';
import type { Border } from '../css/style.ts';
import { valueIn } from '../value-in.ts';

/** 22 inches: the largest distance in Word. */
const MAX_TWIPS = 31_680;
/** 1638 points: the largest font size in Word. */
const MAX_HALF_POINTS = 3276;

/** Word uses twentieths of a point, half points for font sizes and eighths for borders. */
export const twips = (points: number): number =>
  Math.max(-MAX_TWIPS, Math.min(MAX_TWIPS, Math.round(points * 20)));
export const halfPoints = (points: number): number =>
  Math.max(1, Math.min(MAX_HALF_POINTS, Math.round(points * 2)));
const eighths = (points: number): number => Math.min(96, Math.max(2, Math.round(points * 8)));
/** Pictures are measured in pixels of 1/96 inch, and their distances in English metric units. */
export const pixels = (points: number): number => Math.max(1, Math.round(points / 0.75));
export const emus = (points: number): number => Math.round(points * 12_700);

const STYLES: Readonly<Record<string, IBorderOptions['style']>> = {
  dotted: 'dotted',
  dashed: 'dashed',
  double: 'double',
  groove: 'threeDEngrave',
  ridge: 'threeDEmboss',
};

export const noBorder: IBorderOptions = { style: 'none', size: 0, color: 'auto' };

/** Writes one side of a border. @param space points between the line and the text, where it applies */
export const borderOptions = (border: Border, space?: number): IBorderOptions => ({
  style: valueIn(STYLES, border.style) ?? 'single',
  size: eighths(border.width),
  color: border.color,
  ...(space === undefined ? {} : { space: Math.min(31, Math.round(space)) }),
});
