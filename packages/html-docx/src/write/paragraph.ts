import { Paragraph, type IParagraphOptions } from 'docx';
import type { Sides } from '../css/style.ts';
import type { ParagraphBlock, ParagraphFormat } from '../flow/model.ts';
import { listReference, wordLevel } from './numbering.ts';
import { paragraphChildren, runOptions } from './runs.ts';
import { baseFormat, type BaseFormat } from './styles.ts';
import { borderOptions, twips } from './units.ts';

/**
 * Undefined for the start edge. The library swaps left and right in right-to-left paragraphs, as the format
 * requires.
 */
const alignment = ({ align, rtl }: ParagraphFormat): IParagraphOptions['alignment'] => {
  switch (align) {
    case 'center':
      return 'center';
    case 'justify':
      return 'both';
    case 'start':
      return undefined;
    case 'end':
      return rtl ? 'left' : 'right';
    case 'left':
      return rtl ? 'left' : undefined;
    case 'right':
      return rtl ? undefined : 'right';
  }
};

const indent = ({
  indentStart,
  indentEnd,
  firstLine,
}: ParagraphFormat): NonNullable<IParagraphOptions['indent']> => ({
  left: twips(indentStart),
  ...(indentEnd === 0 ? {} : { right: twips(indentEnd) }),
  ...(firstLine > 0 ? { firstLine: twips(firstLine) } : {}),
  ...(firstLine < 0 ? { hanging: twips(-firstLine) } : {}),
});

const spacing = ({ format, before, after }: ParagraphBlock): NonNullable<IParagraphOptions['spacing']> => {
  const { lineHeight } = format;
  return {
    before: twips(before),
    after: twips(after),
    ...(lineHeight !== undefined && 'factor' in lineHeight
      ? // `normal` in browsers is about 1.15 of the font size, which is 1 in Word.
        { line: Math.round((240 * Math.max(0.5, lineHeight.factor)) / 1.15), lineRule: 'auto' as const }
      : {}),
    ...(lineHeight !== undefined && 'points' in lineHeight && lineHeight.points > 0
      ? { line: twips(lineHeight.points), lineRule: 'atLeast' as const }
      : {}),
  };
};

const SIDES: readonly (keyof Sides<unknown>)[] = ['top', 'right', 'bottom', 'left'];

const frame = ({ border, padding }: ParagraphFormat): NonNullable<IParagraphOptions['border']> =>
  Object.fromEntries(
    SIDES.flatMap((side) => {
      const line = border[side];
      return line === undefined ? [] : [[side, borderOptions(line, Math.max(1, padding[side]))]];
    }),
  );

/** The format of the paragraph mark applies to empty lines and to list numbers. */
const markOptions = ({ inlines }: ParagraphBlock, base: BaseFormat): IParagraphOptions['run'] => {
  const first = inlines.find((inline) => inline.kind === 'text');
  if (first?.kind !== 'text') return undefined;
  const mark = { ...first.format, underline: false, strike: false, background: undefined, script: undefined };
  return runOptions('', mark, base);
};

const isFramed = ({ border }: ParagraphFormat): boolean => SIDES.some((side) => border[side] !== undefined);

export const paragraph = (block: ParagraphBlock): Paragraph => {
  const { format } = block;
  const base = baseFormat(format.heading);
  const { item } = format;
  const [align, mark] = [alignment(format), item === undefined ? undefined : markOptions(block, base)];
  const isIndented = format.indentStart !== 0 || format.indentEnd !== 0 || format.firstLine !== 0;
  return new Paragraph({
    children: paragraphChildren(block.inlines, base, format.rtl),
    ...(format.heading === undefined ? {} : { heading: `Heading${format.heading}` as const }),
    ...(align === undefined ? {} : { alignment: align }),
    ...(format.rtl ? { bidirectional: true } : {}),
    ...(isIndented ? { indent: indent(format) } : {}),
    spacing: spacing(block),
    ...(item === undefined
      ? {}
      : { numbering: { reference: listReference(item.list), level: wordLevel(item.level) } }),
    ...(format.background === undefined
      ? {}
      : { shading: { type: 'clear' as const, color: 'auto', fill: format.background } }),
    ...(isFramed(format) ? { border: frame(format) } : {}),
    ...(format.pageBreakBefore ? { pageBreakBefore: true } : {}),
    ...(mark === undefined ? {} : { run: mark }),
  });
};
