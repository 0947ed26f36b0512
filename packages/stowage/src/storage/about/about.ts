import * as z from 'zod';
import { parsedRecord, recordName } from '../records.ts';
import type { SourcePath } from '../source-path.ts';

/**
 * Hidden folder beside files that holds their descriptions. Reserved in every source, whatever its thumbnail
 * settings: descriptions cannot be regenerated.
 */
export const ABOUT_FOLDER = '.stowage-about';

/** Maximum characters of a text, number of tags, and characters of a tag. */
export const MOST_TEXT = 2000;
export const MOST_TAGS = 50;
export const MOST_TAG = 64;

/** Whether a text has at most `most` characters; one outside the basic plane counts once. */
export const isWithin = (text: string, most: number): boolean =>
  text.length <= most || (text.length <= 2 * most && Array.from(text).length <= most);

const text = z.string().refine((value) => value !== '' && isWithin(value, MOST_TEXT));
const tag = z.string().refine((value) => value !== '' && isWithin(value, MOST_TAG));
const share = z.number().min(0).max(1);

/** The description of a file: its texts and its focal point. */
export const aboutSchema = z
  .object({
    alt: text.optional().describe('A description of the picture for readers who do not see it.'),
    title: text.optional(),
    caption: text.optional(),
    credit: text.optional(),
    tags: z.array(tag).min(1).max(MOST_TAGS).optional(),
    focalPoint: z
      .object({ x: share, y: share })
      .optional()
      .describe(
        'The most important point of a picture, as fractions of its width and height from the upper left corner.',
      ),
  })
  .describe('The description of the file, in plain text, if it has one.');

export type About = Readonly<z.output<typeof aboutSchema>>;

export const ABOUT_FIELDS = Object.keys(aboutSchema.shape) as readonly (keyof About)[];

/** Changes to a description: undefined keeps a field, null removes it. */
export type AboutPatch = { readonly [Field in keyof About]?: About[Field] | null };

/** Whether all fields are undefined. */
export const isNothing = (about: AboutPatch): boolean =>
  Object.values(about).every((value) => value === undefined);

export const patched = (about: About, patch: AboutPatch): About => {
  const fields = ABOUT_FIELDS.map((field) => [
    field,
    patch[field] === undefined ? about[field] : patch[field],
  ]);
  return Object.fromEntries(fields.filter(([, value]) => value !== undefined && value !== null)) as About;
};

/** Plain text: removes control characters, and replaces lone surrogates. */
export const plainText = (value: string): string =>
  value.replaceAll(/\p{Cs}/gu, '\ufffd').replaceAll(/[\0-\u0008\u000b\u000c\u000e-\u001f\u007f]/gu, '');

/** Paths of the records with the descriptions of a folder's files, named by a hash of the file's name. */
export const aboutPaths = {
  all: (folder: SourcePath): SourcePath => folder.below(ABOUT_FOLDER),
  record: ({ parent, name }: SourcePath): SourcePath => aboutPaths.all(parent).below(recordName(name)),
};

const written = z.array(z.object({ name: z.string(), about: aboutSchema }));

/** The descriptions in a record, with the names of their files; empty when it is not a valid record. */
export type WrittenAbout = z.output<typeof written>;

export const parseAbout = (text: string | undefined): WrittenAbout =>
  parsedRecord(text, (value) => written.parse(value)) ?? [];
