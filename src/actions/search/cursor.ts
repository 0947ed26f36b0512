import * as z from 'zod';
import { isSegment } from '../../storage/source-path.ts';

/** Where a search goes on. */
export interface SearchCursor {
  /** Key of the source. */
  readonly source: string;
  /** In the walk; undefined at its beginning. */
  readonly position: string | undefined;
}

/** What can stand in a cursor: a position is a path and a slash. */
const MOST_LETTERS = 16_384;
const MOST_POSITION = 4096;

const content = z.tuple([z.string(), z.string().max(MOST_POSITION)]);

/** Names joined by slashes, perhaps with one more: what else a forger writes leads nowhere. */
const isPosition = (text: string): boolean =>
  text
    .replace(/\/$/u, '')
    .split('/')
    .every((name) => isSegment(name.normalize('NFC')));

const decode = (text: string): SearchCursor | undefined => {
  if (text.length > MOST_LETTERS || !/^[\w-]+$/u.test(text)) return undefined;
  let written: unknown;
  try {
    written = JSON.parse(Buffer.from(text, 'base64url').toString());
  } catch {
    return undefined;
  }
  const parsed = content.safeParse(written);
  if (!parsed.success) return undefined;
  const [source, position] = parsed.data;
  if (position === '') return { source, position: undefined };
  return isPosition(position) ? { source, position } : undefined;
};

/** The cursor as clients get it: opaque to them. */
export const encodeCursor = ({ source, position = '' }: SearchCursor): string =>
  Buffer.from(JSON.stringify([source, position])).toString('base64url');

/**
 * A cursor that an answer gave; undefined when absent or empty. It says where to go on, and allows nothing.
 */
export const cursorField = z
  .string()
  .optional()
  .transform((text, context): SearchCursor | undefined => {
    if (text === undefined || text === '') return undefined;
    const cursor = decode(text);
    if (cursor !== undefined) return cursor;
    context.issues.push({ code: 'custom', input: text, message: 'must be what an answer gave' });
    return z.NEVER;
  })
  .describe('Goes on where the answer ended that gave it; all other parameters stay the same.');
