import { parseDeclarations, winningValues } from './declarations.ts';
import { parseLength, pointsOf, ROOT_SIZE } from './length.ts';
import { type Sides, sides, sidesOf } from './style.ts';

/** Page settings of the caller, in points. They take precedence over the document. */
export interface PageWishes {
  readonly size?: { readonly width: number; readonly height: number } | undefined;
  readonly margin?: Sides<number> | undefined;
}

/** Size and margins of all pages, in points. */
export interface PageLayout {
  readonly width: number;
  readonly height: number;
  readonly margin: Sides<number>;
}

const MM = 72 / 25.4;
/** Paper sizes in portrait. */
const PAPER: ReadonlyMap<string, readonly [width: number, height: number]> = new Map([
  ['a5', [148 * MM, 210 * MM]],
  ['a4', [210 * MM, 297 * MM]],
  ['a3', [297 * MM, 420 * MM]],
  ['b5', [176 * MM, 250 * MM]],
  ['b4', [250 * MM, 353 * MM]],
  ['letter', [612, 792]],
  ['legal', [612, 1008]],
  ['ledger', [792, 1224]],
]);
const A4 = [210 * MM, 297 * MM] as const;
/** An inch. */
const MARGIN = 72;
/** Word supports pages of up to 22 inches; text needs a minimum width. */
const [SMALLEST, LARGEST, LEAST_ROOM] = [72, 1584, 20 * MM];

type Size = readonly [width: number, height: number];

/** Parses `size`: lengths, or a paper size, an orientation, or both. */
const readSize = (value: string): Size | undefined => {
  const words = value.toLowerCase().split(/\s+/u);
  const lengths = words.map((word) => pointsOf(parseLength(word, ROOT_SIZE)));
  const [width, height = width] = lengths;
  if (words.length <= 2 && width !== undefined && height !== undefined) {
    return [width, height].every((side) => side >= SMALLEST && side <= LARGEST) ? [width, height] : undefined;
  }
  const paper = words.map((word) => PAPER.get(word)).find((size) => size !== undefined) ?? A4;
  return words.includes('landscape') ? [paper[1], paper[0]] : paper;
};

const leavesRoom = ([width, height]: Size, { top, right, bottom, left }: Sides<number>): boolean =>
  Math.min(top, right, bottom, left) >= 0 &&
  width - left - right >= LEAST_ROOM &&
  height - top - bottom >= LEAST_ROOM;

/**
 * The page layout: by the settings of the caller, else by `@page` rules of the document, else A4 with margins
 * of an inch. Margins of the document that leave no room for text are ignored.
 * @param rules the content of `@page { }` rules
 */
export const pageLayout = (rules: readonly string[], wishes: PageWishes): PageLayout => {
  const values = winningValues(rules.flatMap(parseDeclarations));
  const asked = wishes.size === undefined ? readSize(values.get('size') ?? '') : undefined;
  const size: Size = wishes.size === undefined ? (asked ?? A4) : [wishes.size.width, wishes.size.height];
  const [width, height] = size;
  const own = sidesOf((side) => {
    const whole = side === 'left' || side === 'right' ? width : height;
    return pointsOf(parseLength(values.get(`margin-${side}`) ?? '', ROOT_SIZE), whole) ?? MARGIN;
  });
  return { width, height, margin: wishes.margin ?? (leavesRoom(size, own) ? own : sides(MARGIN)) };
};
