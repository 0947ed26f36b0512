import type { ByteRange } from '../storage/adapter.ts';

/**
 * Reads a `Range` header for a file of that size. Undefined: to be ignored (another unit, malformed, several ranges), the whole
 * file is sent. `unsatisfiable`: it lies outside of the file.
 * @see https://www.rfc-editor.org/rfc/rfc9110#section-14.1.2
 */
export const parseRange = (
  header: string | undefined,
  size: number,
): ByteRange | 'unsatisfiable' | undefined => {
  const match = /^bytes=\s*(\d*)-(\d*)\s*$/iu.exec(header ?? '');
  if (match === null) return undefined;
  const [, first = '', last = ''] = match;
  if (first === '' && last === '') return undefined;
  if (first === '') {
    const length = Math.min(Number(last), size);
    return length === 0 ? 'unsatisfiable' : { start: size - length, end: size - 1 };
  }
  const start = Number(first);
  const end = last === '' ? size - 1 : Math.min(Number(last), size - 1);
  if (last !== '' && Number(last) < start) return undefined;
  return start >= size ? 'unsatisfiable' : { start, end };
};
