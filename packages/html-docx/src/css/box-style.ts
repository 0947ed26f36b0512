import { parseColor } from './color.ts';
import { parseLength, pointsOf, type Length } from './length.ts';
import { type Border, type InheritedStyle, sidesOf, type Style } from './style.ts';
import { valueIn } from '../value-in.ts';

type Values = ReadonlyMap<string, string>;

/** Properties that are not inherited. */
type BoxStyle = Omit<Style, keyof InheritedStyle | 'display' | 'background'>;

const BORDER_KEYWORDS: Readonly<Record<string, string>> = { thin: '1px', medium: '3px', thick: '5px' };

const borderOf = (
  values: Values,
  side: string,
  size: number,
  color: string | undefined,
): Border | undefined => {
  const style = values.get(`border-${side}-style`)?.toLowerCase() ?? 'none';
  if (style === 'none' || style === 'hidden') return undefined;
  const width = values.get(`border-${side}-width`)?.toLowerCase() ?? 'medium';
  const points = pointsOf(parseLength(valueIn(BORDER_KEYWORDS, width) ?? width, size)) ?? 2.25;
  if (points <= 0) return undefined;
  return {
    style,
    width: points,
    color: parseColor(values.get(`border-${side}-color`) ?? '') ?? color ?? '000000',
  };
};

/** Computes an element's box. @param size its font size in points @param color its text colour */
export const boxStyle = (values: Values, size: number, color: string | undefined): BoxStyle => {
  const points = (property: string): number => pointsOf(parseLength(values.get(property) ?? '', size)) ?? 0;
  const length = (property: string): Length | undefined => parseLength(values.get(property) ?? '', size);
  const float = values.get('float')?.toLowerCase();
  return {
    margin: sidesOf((side) => points(`margin-${side}`)),
    centered: values.get('margin-left') === 'auto' && values.get('margin-right') === 'auto',
    padding: sidesOf((side) => Math.max(0, points(`padding-${side}`))),
    border: sidesOf((side) => borderOf(values, side, size, color)),
    width: length('width'),
    height: length('height'),
    maxWidth: length('max-width'),
    float: float === 'left' || float === 'right' ? float : undefined,
    verticalAlign: values.get('vertical-align')?.toLowerCase() ?? 'baseline',
    breakBefore: isPageBreak(values.get('break-before')),
    breakAfter: isPageBreak(values.get('break-after')),
  };
};

const isPageBreak = (value: string | undefined): boolean =>
  value !== undefined && /^(?:always|page|left|right|recto|verso)$/iu.test(value);
