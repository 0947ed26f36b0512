import { valueIn } from '../value-in.ts';

/** Points per unit, for absolute units. */
const UNITS: Readonly<Record<string, number>> = {
  px: 0.75,
  pt: 1,
  in: 72,
  cm: 72 / 2.54,
  mm: 72 / 25.4,
  q: 72 / 101.6,
  pc: 12,
};

/** Font size of the root element in points: 16 px. */
export const ROOT_SIZE = 12;

/** Larger than any page; larger values are mistakes or attacks. */
const MAX_POINTS = 5000;

/** A length in points, or a percentage of a length that is known later. */
export type Length = { readonly points: number } | { readonly percent: number };

const bounded = (value: number): number => Math.max(-MAX_POINTS, Math.min(MAX_POINTS, value));

/**
 * Parses a CSS length. A number without a unit is in pixels, as in HTML attributes. Undefined for `auto` and
 * everything else.
 * @param em the font size in points to which `em` refers
 */
export const parseLength = (text: string, em: number): Length | undefined => {
  const match = /^([+-]?(?:\d+\.?\d*|\.\d+))(%|[a-z]*)$/u.exec(text.trim().toLowerCase());
  if (match === null) return undefined;
  const value = Number(match[1]);
  const unit = match[2] ?? '';
  if (unit === '%') return { percent: bounded(value) };
  if (unit === 'em') return { points: bounded(value * em) };
  if (unit === 'rem') return { points: bounded(value * ROOT_SIZE) };
  if (unit === 'ex' || unit === 'ch') return { points: bounded((value * em) / 2) };
  const factor = valueIn(UNITS, unit === '' ? 'px' : unit);
  return factor === undefined ? undefined : { points: bounded(value * factor) };
};

/** Converts a length to points; a percentage refers to `whole`, and is undefined without it. */
export const pointsOf = (length: Length | undefined, whole?: number): number | undefined => {
  if (length === undefined) return undefined;
  if ('points' in length) return length.points;
  return whole === undefined ? undefined : (length.percent / 100) * whole;
};
