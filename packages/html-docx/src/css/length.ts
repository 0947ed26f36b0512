/** Points of one unit, for units that mean the same everywhere. */
const UNITS: Readonly<Record<string, number>> = {
  px: 0.75,
  pt: 1,
  in: 72,
  cm: 72 / 2.54,
  mm: 72 / 25.4,
  q: 72 / 101.6,
  pc: 12,
};

/** Font size of the document's root in points: 16 px. */
export const ROOT_SIZE = 12;

/** No page is larger; what is said to be is a mistake or an attack. */
const MAX_POINTS = 5000;

/** A length in points, or a part of something that is only known later. */
export type Length = { readonly points: number } | { readonly percent: number };

const bounded = (value: number): number => Math.max(-MAX_POINTS, Math.min(MAX_POINTS, value));

/**
 * Reads a CSS length. A number without a unit counts as pixels, as in HTML attributes. Undefined for `auto`
 * and everything else.
 * @param em the font size in points that `em` means
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
  const factor = UNITS[unit === '' ? 'px' : unit];
  return factor === undefined ? undefined : { points: bounded(value * factor) };
};

/** The points of a length; a percentage is of `whole`, and nothing where that is not known. */
export const pointsOf = (length: Length | undefined, whole?: number): number | undefined => {
  if (length === undefined) return undefined;
  if ('points' in length) return length.points;
  return whole === undefined ? undefined : (length.percent / 100) * whole;
};
