import type { ILevelsOptions, INumberingOptions } from 'docx';
import { LIST_INDENT, MARKER_INDENT } from '../flow/block-context.ts';
import { isCounting } from '../flow/flow-parts.ts';
import type { ListDefinition } from '../flow/model.ts';
import { twips } from './units.ts';
import { valueIn } from '../value-in.ts';

/** Word supports nine levels of lists. */
const MAX_LEVEL = 8;

/** Largest number in Word. */
const MAX_START = 2 ** 31 - 1;

const FORMATS: Readonly<Record<string, NonNullable<ILevelsOptions['format']>>> = {
  'lower-alpha': 'lowerLetter',
  'lower-latin': 'lowerLetter',
  'upper-alpha': 'upperLetter',
  'upper-latin': 'upperLetter',
  'lower-roman': 'lowerRoman',
  'upper-roman': 'upperRoman',
  'decimal-leading-zero': 'decimalZero',
  hebrew: 'hebrew1',
  hiragana: 'aiueo',
  katakana: 'aiueo',
  'cjk-ideographic': 'chineseCounting',
};

const MARKS: Readonly<Record<string, string>> = { disc: '•', circle: '◦', square: '▪' };

const markOf = (type: string): string =>
  valueIn(MARKS, type) ?? /^["'](.{1,8})["']$/u.exec(type)?.[1]?.trim() ?? '•';

/** The name by which paragraphs refer to a list. */
export const listReference = (list: number): string => `list-${list}`;

/** Limits the level of a list to those of Word. */
export const wordLevel = (level: number): number => Math.min(level, MAX_LEVEL);

const levelOf = ({ type, start }: ListDefinition, level: number): ILevelsOptions => ({
  level,
  start: Math.min(MAX_START, Math.max(0, start)),
  alignment: 'left',
  ...(isCounting(type)
    ? { format: valueIn(FORMATS, type) ?? 'decimal', text: `%${level + 1}.` }
    : { format: 'bullet', text: markOf(type) }),
  style: {
    paragraph: { indent: { left: twips(LIST_INDENT * (level + 1)), hanging: twips(MARKER_INDENT) } },
  },
});

/** Writes the definitions of all lists; each has the levels up to its own. */
export const documentNumbering = (lists: readonly ListDefinition[]): INumberingOptions => ({
  config: lists.map((list, index) => ({
    reference: listReference(index),
    levels: Array.from({ length: wordLevel(list.level) + 1 }, (_level, level) => levelOf(list, level)),
  })),
});
