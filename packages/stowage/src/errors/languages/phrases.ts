import { filled } from '../table.ts';

/**
 * English texts that are more specific than the error table, and summaries of successful requests. Those
 * without a full stop follow the name of a parameter, or its user-facing name. Values are in braces:
 * `{most}`.
 */
const english = [
  'The name',
  'The new name',
  'The folder',
  'The item',
  'The address',
  'The document',
  'The box',
  'The width',
  'The height',
  'The left edge',
  'The top edge',
  'is required',
  'must be a number',
  'must be a text',
  'must be a list',
  'must be a set of values',
  'must be true or false',
  'must be given only once',
  'must be greater than zero',
  'must be from 0 to 1',
  'must be a whole number of pixels',
  'must be a whole number, zero or more',
  'must be one of {values}',
  'must be a single name',
  'must name a file or folder',
  'must not be empty',
  'must not be negative',
  'must not be longer than {most} characters',
  'must not be more than {most}',
  'must not have more than 100 megapixels',
  'must not be given together with {other}',
  'No file was sent.',
  'No files were sent.',
  'The name must not be empty.',
  'This name is reserved.',
  'The path is too long.',
  'The path is too deep.',
  'The path leaves the source.',
  'The path holds characters that are not allowed.',
  'This is a folder, not a file.',
  'This is a file, not a folder.',
  'This file is not an image.',
  'This file has no variants.',
  'There is no such preset.',
  'The file is too large.',
  'The image file is too large.',
  'The SVG file is too large.',
  'The image has too many pixels.',
  'The result would have too many pixels.',
  'The image takes too long to decode.',
  'The box must lie inside of the image of {size} pixels.',
  'An icon can be {most} pixels wide and high at most.',
  'One of angle and flip must be given.',
  'Something must be said about the file.',
  'SVG images cannot be edited this way.',
  'Pictures of several pages cannot be edited.',
  'Animated PNG images cannot be edited.',
  'TIFF images in Lab colours or of floating-point numbers cannot be edited.',
  'The file is malformed XML.',
  'The file is too large to be inspected.',
  'The document takes too long to make.',
  'The document has too many parts.',
  'The document is nested too deeply.',
  'The margins, header and footer leave no room for the text.',
  'The address is too long.',
  'The address is not valid.',
  'Only http and https addresses can be fetched.',
  'The folder holds something that cannot leave its source.',
  'The item is called "{name}" now.',
  'This upload is not known here, or has expired.',
  'The file "{name}" was uploaded.',
  'The file "{name}" was uploaded. Scripts, references or other parts that are not allowed in drawings were removed from it.',
  'The file "{name}" was replaced.',
  'The folder "{name}" was created.',
  'The source "{name}" cannot be reached now.',
] as const;

/** The same texts in another language. */
export type Phrases = Readonly<Record<(typeof english)[number], string>>;

const templates = english
  .filter((text) => text.includes('{'))
  .map((text) => [text, new RegExp(`^${text.replace(/\{(\w+)\}/u, '(?<$1>.+)')}$`, 'u')] as const);

const isPhrase = (text: string): text is keyof Phrases => (english as readonly string[]).includes(text);

const phraseIn = (phrases: Phrases, text: string): string | undefined => {
  if (isPhrase(text)) return phrases[text];
  for (const [template, pattern] of templates) {
    const values = pattern.exec(text)?.groups;
    if (values !== undefined) return filled(phrases[template], values);
  }
  return undefined;
};

const OF_PARAMETER = /^(.+?):? ((?:must|is) .+?)\.?$/u;

/** The translation of an English message; undefined when there is no phrase for it. */
export const translated = (phrases: Phrases, message: string): string | undefined => {
  const whole = phraseIn(phrases, message);
  if (whole !== undefined) return whole;
  const [, parameter = '', problem = ''] = OF_PARAMETER.exec(message) ?? [];
  const phrase = phraseIn(phrases, problem);
  return phrase === undefined ? undefined : `${phraseIn(phrases, parameter) ?? parameter}: ${phrase}`;
};
