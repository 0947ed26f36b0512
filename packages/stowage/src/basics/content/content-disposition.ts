/** RFC 8187: what may stand in an extended value as it is, less than in a part of an address. */
const encodeExtended = (text: string): string =>
  encodeURIComponent(text).replaceAll(
    /['()*]/gu,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );

/**
 * A `Content-Disposition` with a name that every client understands: a quoted ASCII one, and the exact one as
 * `filename*` when they differ.
 * @see https://www.rfc-editor.org/rfc/rfc6266 and https://www.rfc-editor.org/rfc/rfc8187
 */
export const contentDisposition = (kind: 'inline' | 'attachment', filename: string): string => {
  const name = filename.replaceAll(/\p{Surrogate}/gu, '_');
  // Some clients decode percent escapes in the quoted form too.
  const ascii = name.replaceAll(/[^\x20-\x7e]|["\\%]/gu, '_');
  const exact = ascii === name ? '' : `; filename*=UTF-8''${encodeExtended(name)}`;
  return `${kind}; filename="${ascii}"${exact}`;
};
