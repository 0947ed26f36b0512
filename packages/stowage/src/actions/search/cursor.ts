import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';
import * as z from 'zod';
import { segmentOf } from '../../storage/source-path.ts';

/** Where a search goes on. */
export interface SearchCursor {
  /** Key of the source. */
  readonly source: string;
  /** In the walk; undefined at its beginning. */
  readonly position: string | undefined;
}

/** What can stand in a cursor: a position is a path and a slash. */
const MOST_LETTERS = 32_768;
const MOST_POSITION = 4096;
const CIPHER = 'aes-256-gcm';
const IV_BYTES = 12;
const TAG_BYTES = 16;

const content = z.tuple([z.string(), z.string().max(MOST_POSITION)]);

/** Names joined by slashes, perhaps with one more: what leads anywhere else is refused. */
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
 * Writes cursors as clients get them. A walk may stop at something that the client must not hear of, so they
 * are encrypted: by the first of the keys, which any of them opens; without keys by one of this process.
 */
export interface SearchCursors {
  seal(cursor: SearchCursor): string;
  /** Undefined for what no answer gave. What it says allows nothing. */
  open(text: string): SearchCursor | undefined;
}

/** The cursors of one connector. */
export const createSearchCursors = (secrets: readonly string[]): SearchCursors => {
  const keys = secrets.map((secret) => createHash('sha256').update(`search cursor ${secret}`).digest());
  const own = keys[0] ?? randomBytes(32);
  const openBy = (key: Buffer, bytes: Buffer): SearchCursor | undefined => {
    const [iv, tag] = [bytes.subarray(0, IV_BYTES), bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES)];
    try {
      const cipher = createDecipheriv(CIPHER, key, iv, { authTagLength: TAG_BYTES }).setAuthTag(tag);
      const text = Buffer.concat([cipher.update(bytes.subarray(IV_BYTES + TAG_BYTES)), cipher.final()]);
      return parsed(text.toString());
    } catch {
      return undefined;
    }
  };
  return {
    seal: ({ source, position = '' }) => {
      const iv = randomBytes(IV_BYTES);
      const cipher = createCipheriv(CIPHER, own, iv, { authTagLength: TAG_BYTES });
      const sealed = [cipher.update(JSON.stringify([source, position])), cipher.final()];
      return Buffer.concat([iv, cipher.getAuthTag(), ...sealed]).toString('base64url');
    },
    open: (text) => {
      if (text.length > MOST_LETTERS || !/^[\w-]+$/u.test(text)) return undefined;
      const bytes = Buffer.from(text, 'base64url');
      for (const key of keys.length === 0 ? [own] : keys) {
        const cursor = openBy(key, bytes);
        if (cursor !== undefined) return cursor;
      }
      return undefined;
    },
  };
};

/** A cursor that an answer gave; undefined when absent or empty. */
export const cursorField = z
  .string()
  .optional()
  .transform((text) => (text === '' ? undefined : text))
  .meta({ maxLength: MOST_LETTERS })
  .describe('Goes on where the answer ended that gave it; all other parameters stay the same.');
