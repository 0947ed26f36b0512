import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';
import * as z from 'zod';
import { orUndefined } from '../../errors/errors.ts';
import { choiceField, countField, flagField, isBlank } from '../listing/fields.ts';
import { choice, filledField, pathField, sourceField } from '../../parameters/fields.ts';
import { type SourcePath, segmentOf } from '../../storage/source-path.ts';

export interface SearchCursor {
  readonly source: string;
  /** Position of the walk; undefined at its beginning. */
  readonly position: string | undefined;
}

/** Limits of a cursor: a position is a path and a slash. */
const MOST_CURSOR_LETTERS = 32_768;
const MOST_POSITION = 4096;
const CIPHER = 'aes-256-gcm';
const IV_BYTES = 12;
const TAG_BYTES = 16;

const content = z.tuple([z.string(), z.string().max(MOST_POSITION)]);

/** Names joined by slashes, perhaps with a trailing one; anything that could lead elsewhere is rejected. */
const isPosition = (text: string): boolean =>
  text
    .replace(/\/$/u, '')
    .split('/')
    .every((name) => segmentOf(name) !== undefined);

const parsed = (text: string): SearchCursor | undefined => {
  const [source, position] = content.parse(JSON.parse(text));
  if (position === '') return { source, position: undefined };
  return isPosition(position) ? { source, position } : undefined;
};

/**
 * Encodes cursors for clients. A walk may stop at an entry that the client must not know of, so cursors are
 * encrypted: with the first of the keys, and any of them decrypts; without keys with one of this process.
 */
export const createSearchCursors = (secrets: readonly string[]) => {
  const keys = secrets.map((secret) => createHash('sha256').update(`search cursor ${secret}`).digest());
  const own = keys[0] ?? randomBytes(32);
  const openBy = (key: Buffer, bytes: Buffer): SearchCursor | undefined => {
    const [iv, tag] = [bytes.subarray(0, IV_BYTES), bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES)];
    return orUndefined(() => {
      const cipher = createDecipheriv(CIPHER, key, iv, { authTagLength: TAG_BYTES }).setAuthTag(tag);
      const text = Buffer.concat([cipher.update(bytes.subarray(IV_BYTES + TAG_BYTES)), cipher.final()]);
      return parsed(text.toString());
    });
  };
  return {
    seal: ({ source, position = '' }: SearchCursor): string => {
      const iv = randomBytes(IV_BYTES);
      const cipher = createCipheriv(CIPHER, own, iv, { authTagLength: TAG_BYTES });
      const sealed = [cipher.update(JSON.stringify([source, position])), cipher.final()];
      return Buffer.concat([iv, cipher.getAuthTag(), ...sealed]).toString('base64url');
    },
    /** Undefined for a text that is not one of our cursors. A cursor grants no access. */
    open: (text: string): SearchCursor | undefined => {
      if (text.length > MOST_CURSOR_LETTERS || !/^[\w-]+$/u.test(text)) return undefined;
      const bytes = Buffer.from(text, 'base64url');
      for (const key of keys.length === 0 ? [own] : keys) {
        const cursor = openBy(key, bytes);
        if (cursor !== undefined) return cursor;
      }
      return undefined;
    },
  };
};

export type SearchCursors = ReturnType<typeof createSearchCursors>;

/** A cursor from a response. */
export const cursorField = filledField
  .meta({ maxLength: MOST_CURSOR_LETTERS })
  .describe('The `cursor` of the previous response. All other parameters must stay the same.');

const MOST_LETTERS = 400;
const MOST_ITEMS = 1000;
const ITEMS = 100;

const queryField = z
  .string()
  .refine((text) => text.trim() !== '', 'must not be empty')
  .refine((text) => text.length <= MOST_LETTERS, `must not be longer than ${String(MOST_LETTERS)} characters`)
  .transform((text) => text.split(/\s+/u).filter((word) => word !== ''))
  .describe(
    'Words that must all occur in the name or the description of the file, in any order and letter ' +
      'case.',
  );

const TIME = /^(\d{4}-\d\d-\d\d)(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:\d\d))?$/u;

/** Milliseconds since 1970, if valid: `Date.parse` alone would take February 30 for March 2. */
const timeOf = (text: string): number | undefined => {
  const day = TIME.exec(text)?.[1];
  if (day === undefined || Number.isNaN(Date.parse(text))) return undefined;
  return new Date(day).toISOString().startsWith(day) ? Date.parse(text) : undefined;
};

const timeField = z
  .unknown()
  .optional()
  .transform((value, context): number | undefined => {
    if (isBlank(value)) return undefined;
    const time = typeof value === 'string' ? timeOf(value.trim()) : undefined;
    if (time !== undefined) return time;
    const message = 'must be a date or time of ISO 8601, such as 2026-01-31 or 2026-01-31T12:00:00Z';
    context.issues.push({ code: 'custom', input: value, message });
    return z.NEVER;
  })
  .meta({ sent: { type: 'string' } });

export const searchParameters = z.object({
  source: sourceField,
  path: pathField.describe('The folder in which the search begins. Default: the root.'),
  query: queryField,
  type: choiceField(['image', 'file', 'folder']).describe(
    'Only items of this type, as in `files`; `file` means files that are not images.',
  ),
  in: choice(['name', 'about', 'all'])
    .transform((where = 'name') => where)
    .describe(
      'Where to search: in names (`name`, the default), in descriptions of files (`about`), or in both ' +
        '(`all`).',
    ),
  modifiedAfter: timeField.describe(
    'Changed at this moment or later. A date means the start of the day, in UTC.',
  ),
  modifiedBefore: timeField.describe('Changed before this moment.'),
  minBytes: countField.describe('Minimum size of files, in bytes.'),
  maxBytes: countField.describe('Maximum size of files, in bytes.'),
  // With zero items per page, the search would never advance.
  limit: countField
    .refine((count) => count !== 0, 'must be 1 or more')
    .transform((count) => Math.min(count ?? ITEMS, MOST_ITEMS))
    .meta({ sent: { type: 'integer', minimum: 1, maximum: MOST_ITEMS } })
    .describe(
      `Maximum number of items of a response, at most ${String(MOST_ITEMS)}. Default: ${String(ITEMS)}.`,
    ),
  cursor: cursorField,
  mods: z.preprocess(
    (value) => (isBlank(value) ? {} : value),
    z.object({
      details: flagField.describe('Adds bytes, modified, mime, etag, width and height, as in `files`.'),
    }),
  ),
});

export interface SearchParameters extends z.output<typeof searchParameters> {
  readonly path: SourcePath;
}
