/** Characters that XML cannot hold; some word processors refuse a whole document for one of them. */
const INVALID = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|\p{Surrogate}/gu;

const ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

/** A text without the characters that XML cannot hold. */
export const withoutInvalid = (text: string): string => text.replaceAll(INVALID, '');

/** A text as it stands in XML and its attributes. */
export const escapeXml = (text: string): string =>
  withoutInvalid(text).replaceAll(/[&<>"]/gu, (char) => ESCAPES[char] ?? '');
