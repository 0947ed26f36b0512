import { encodeExtended } from 'content-disposition';

/**
 * A `Content-Disposition` with a name that every client understands: a quoted ASCII one, and the exact one as
 * `filename*` when they differ.
 * @see https://www.rfc-editor.org/rfc/rfc6266 and https://www.rfc-editor.org/rfc/rfc8187
 */
export const contentDisposition = (kind: 'inline' | 'attachment', filename: string): string => {
  const name = filename.replaceAll(/\p{Surrogate}/gu, '_');
  // Some clients decode percent escapes in the quoted form too.
  const ascii = name.replaceAll(/[^\x20-\x7e]|["\\%]/gu, '_');
  const exact = ascii === name ? '' : `; filename*=${encodeExtended(name)}`;
  return `${kind}; filename="${ascii}"${exact}`;
};
