import type { IStylesOptions } from 'docx';
import { ROOT_SIZE } from '../css/length.ts';
import type { HeadingLevel } from '../flow/model.ts';
import { DEFAULT_FONT } from './fonts.ts';
import { halfPoints } from './units.ts';

/** Text format of a paragraph's style. */
export interface BaseFormat {
  readonly size: number;
  readonly bold: boolean;
}

const HEADING_SIZES: Readonly<Record<HeadingLevel, number>> = {
  1: 2 * ROOT_SIZE,
  2: 1.5 * ROOT_SIZE,
  3: 1.17 * ROOT_SIZE,
  4: ROOT_SIZE,
  5: 0.83 * ROOT_SIZE,
  6: 0.67 * ROOT_SIZE,
};

/** Headings look as in browsers. */
export const baseFormat = (heading: HeadingLevel | undefined): BaseFormat =>
  heading === undefined ? { size: ROOT_SIZE, bold: false } : { size: HEADING_SIZES[heading], bold: true };

const headingStyle = (level: HeadingLevel) => {
  const { size } = baseFormat(level);
  return {
    run: {
      size: halfPoints(size),
      sizeComplexScript: halfPoints(size),
      bold: true,
      boldComplexScript: true,
      color: '000000',
      font: DEFAULT_FONT,
    },
    paragraph: { keepNext: true },
  };
};

/** The styles on which paragraphs of a document are based. */
export const documentStyles = (lang: string | undefined): IStylesOptions => ({
  default: {
    document: {
      run: {
        font: { ascii: DEFAULT_FONT, hAnsi: DEFAULT_FONT, cs: DEFAULT_FONT, eastAsia: 'Microsoft YaHei' },
        size: halfPoints(ROOT_SIZE),
        sizeComplexScript: halfPoints(ROOT_SIZE),
        ...(lang === undefined ? {} : { language: { value: lang } }),
      },
    },
    heading1: headingStyle(1),
    heading2: headingStyle(2),
    heading3: headingStyle(3),
    heading4: headingStyle(4),
    heading5: headingStyle(5),
    heading6: headingStyle(6),
  },
});
