/** Characters that XML does not allow; some word processors reject a whole document because of one. */
const INVALID = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|\p{Surrogate}/gu;

const ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

/** Removes characters that XML does not allow. */
export const withoutInvalid = (text: string): string => text.replaceAll(INVALID, '');

/** Escapes a text for XML content and attributes. */
export const escapeXml = (text: string): string =>
  withoutInvalid(text).replaceAll(/[&<>"]/gu, (char) => ESCAPES[char] ?? '');
