import {
  Bookmark,
  ExternalHyperlink,
  ImageRun,
  InternalHyperlink,
  PageNumber,
  SoftHyphen,
  Tab,
  TextRun,
  TextWrappingType,
  type IRunOptions,
  type ParagraphChild,
} from 'docx';
import type { Inline, PictureInline, TextFormat, TextInline } from '../flow/model.ts';
import { splitByDirection, type DirectedText } from './bidi.ts';
import { eastAsian, fontName } from './fonts.ts';
import type { BaseFormat } from './styles.ts';
import { emus, halfPoints, pixels, twips } from './units.ts';

/** Distance of text from a floating picture. */
const FLOAT_DISTANCE = 9;

/** Writes only differences from the paragraph's style, so that the document can be restyled. */
const differing = (format: TextFormat, base: BaseFormat): IRunOptions => {
  const size = halfPoints(format.size);
  return {
    ...(format.bold === base.bold ? {} : { bold: format.bold, boldComplexScript: format.bold }),
    ...(format.italic ? { italics: true, italicsComplexScript: true } : {}),
    ...(size === halfPoints(base.size) ? {} : { size, sizeComplexScript: size }),
    ...(format.color === undefined ? {} : { color: format.color }),
    ...(format.underline ? { underline: { type: 'single' as const } } : {}),
    ...(format.strike ? { strike: true } : {}),
    ...(format.smallCaps ? { smallCaps: true } : {}),
    ...(format.caps ? { allCaps: true } : {}),
    ...(format.spacing === 0 ? {} : { characterSpacing: twips(format.spacing) }),
    ...(format.background === undefined
      ? {}
      : { shading: { type: 'clear' as const, color: 'auto', fill: format.background } }),
  };
};

/**
 * Word itself reduces the size of superscript and subscript, so they are written in the size of the
 * surrounding text.
 */
const scripted = (format: TextFormat): TextFormat =>
  format.script === undefined ? format : { ...format, size: Math.round(format.size * 1.2 * 2) / 2 };

const fontOptions = (text: string, format: TextFormat): IRunOptions => {
  const name = format.family === undefined ? undefined : fontName(format.family);
  const asian = eastAsian(text, format.lang);
  if (name === undefined && asian === undefined) return {};
  const western = name === undefined ? {} : { ascii: name, hAnsi: name, cs: name };
  return {
    font: { ...western, ...(asian === undefined ? {} : { eastAsia: asian.font }) },
    ...(asian === undefined ? {} : { language: { eastAsia: asian.lang } }),
  };
};

export const runOptions = (text: string, format: TextFormat, base: BaseFormat): IRunOptions => ({
  ...differing(scripted(format), base),
  ...fontOptions(text, format),
  ...(format.script === 'sub' ? { subScript: true } : {}),
  ...(format.script === 'super' ? { superScript: true } : {}),
});

/** Characters that Word shows as blanks and hyphens unless they are elements. */
const ELEMENTS = { '\t': Tab, '\u00ad': SoftHyphen };
const isElement = (part: string): part is keyof typeof ELEMENTS => Object.hasOwn(ELEMENTS, part);

const withElements = (text: string): IRunOptions => {
  const parts = text.split(/([\t\u00ad])/u);
  return parts.length === 1
    ? { text }
    : { children: parts.map((part) => (isElement(part) ? new ELEMENTS[part]() : part)) };
};

const textRuns = (inline: TextInline, base: BaseFormat, rtlParagraph: boolean): readonly TextRun[] =>
  splitByDirection(inline.text, rtlParagraph).map(
    ({ text, rtl }: DirectedText) =>
      new TextRun({
        ...runOptions(text, inline.format, base),
        ...withElements(text),
        ...(rtl ? { rightToLeft: true } : {}),
      }),
  );

const floatingOptions = (side: 'left' | 'right') => ({
  horizontalPosition: { relative: 'column' as const, align: side },
  verticalPosition: { relative: 'paragraph' as const, offset: 0 },
  wrap: { type: TextWrappingType.SQUARE, side: 'bothSides' as const },
  margins: {
    top: 0,
    bottom: emus(FLOAT_DISTANCE / 2),
    left: emus(side === 'left' ? 0 : FLOAT_DISTANCE),
    right: emus(side === 'left' ? FLOAT_DISTANCE : 0),
  },
});

const pictureRun = ({ picture, width, height, float, alt }: PictureInline): ImageRun =>
  new ImageRun({
    type: picture.type,
    data: picture.bytes,
    transformation: { width: pixels(width), height: pixels(height) },
    ...(alt === '' ? {} : { altText: { name: alt.slice(0, 100), description: alt } }),
    ...(float === undefined ? {} : { floating: floatingOptions(float) }),
  });

const runsOf = (inline: Inline, base: BaseFormat, rtlParagraph: boolean): readonly ParagraphChild[] => {
  switch (inline.kind) {
    case 'text':
      return textRuns(inline, base, rtlParagraph);
    case 'number': {
      const { CURRENT, TOTAL_PAGES } = PageNumber;
      const children = [inline.of === 'page' ? CURRENT : TOTAL_PAGES];
      return [new TextRun({ ...runOptions('', inline.format, base), children })];
    }
    case 'break':
      return [new TextRun({ break: 1 })];
    case 'picture':
      return [pictureRun(inline)];
    case 'mark':
      return [new Bookmark({ id: inline.name, children: [] })];
  }
};

/** Writes the content of a paragraph. Adjacent parts with the same link become one link. */
export const paragraphChildren = (
  inlines: readonly Inline[],
  base: BaseFormat,
  rtlParagraph: boolean,
): readonly ParagraphChild[] => {
  const children: ParagraphChild[] = [];
  for (let at = 0; at < inlines.length;) {
    const link = linkOf(inlines[at]);
    let end = at + 1;
    while (end < inlines.length && link !== undefined && linkOf(inlines[end]) === link) end += 1;
    const runs = inlines.slice(at, end).flatMap((inline) => runsOf(inline, base, rtlParagraph));
    if (link === undefined) children.push(...runs);
    else children.push(hyperlink(link, runs));
    at = end;
  }
  return children;
};

const hyperlink = (link: string, children: readonly ParagraphChild[]): ParagraphChild =>
  link.startsWith('#')
    ? new InternalHyperlink({ anchor: link.slice(1), children })
    : new ExternalHyperlink({ link, children });

const linkOf = (inline: Inline | undefined): string | undefined =>
  inline?.kind === 'text' || inline?.kind === 'picture' ? inline.link : undefined;
