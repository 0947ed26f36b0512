import { splitExtension } from './file-type.ts';

/** Longest name of common file systems, in bytes of UTF-8. */
const MAX_BYTES = 255;
const REPLACEMENT = '_';
/** UTF-16 units kept at each end of a longer text. */
const END_UNITS = 512;

// Invisible characters: zero-width ones, and those that change the reading direction.
const INVISIBLE = /[\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]/gu;
// Rejected by some file systems, or with a meaning in URLs and HTML, where editors insert names unencoded;
// also control characters, line separators, lone surrogates, the replacement character (bytes of no text), and
// noncharacters: XML cannot hold them, so a store that lists in XML may fail for the whole folder.
const UNSAFE =
  /[/?<>\\:*|"#%;\u0000-\u001f\u007f-\u009f\u2028\u2029\ufffd\p{Surrogate}\p{Noncharacter_Code_Point}]/gu;
const ONLY_DOTS = /^\.+$/u;
const WINDOWS_DEVICE = /^(?:con|prn|aux|nul|(?:com|lpt)[0-9¹²³])(?:\..*)?$/iu;

/** Whether Windows treats a name as a device: `CON`, `nul.txt`. */
export const isWindowsDevice = (name: string): boolean => WINDOWS_DEVICE.test(name);

const bytesOf = (text: string): number => Buffer.byteLength(text);

/** The longest prefix of the text that fits, never half a character. */
const cut = (text: string, bytes: number): string => {
  if (bytesOf(text) <= bytes) return text;
  const buffer = Buffer.from(text);
  let end = bytes;
  // 10xxxxxx continues a character, so the cut must be before its first byte.
  while (end > 0 && ((buffer[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return buffer.toString('utf8', 0, end);
};

/** Removes trailing dots and blanks. Not a regular expression: `\s+$` is quadratic on runs of blanks. */
const withoutTail = (name: string): string => {
  let end = name.length;
  while (end > 0 && /[\s.]/u.test(name.charAt(end - 1))) end -= 1;
  return name.slice(0, end);
};

const replaceTail = (name: string): string => {
  const kept = withoutTail(name);
  return kept === name ? name : kept + REPLACEMENT;
};

/** Replaces full-width dots, slashes and similar by `_` when a lower layer could fold them into `..`. */
const withoutLookAlikes = (name: string): string =>
  name.normalize('NFKC').split(/[\\/]/u).includes('..')
    ? name.replaceAll(/[^\u0000-\u007f]/gu, (char) =>
        /[./\\]/u.test(char.normalize('NFKC')) ? REPLACEMENT : char,
      )
    : name;

/** Shortens the stem so that `stem` + `tail` fits into a name. A tail that is too long is shortened too. */
const fit = (stem: string, tail: string): string => {
  const room = MAX_BYTES - bytesOf(tail);
  return withoutTail(room < 1 ? cut(stem + tail, MAX_BYTES) : cut(stem, room) + tail);
};

const tailOf = (extension: string): string => (extension === '' ? '' : `.${extension}`);

/**
 * Limits a text to 1,024 UTF-16 units: the beginning and the end, with the extension, of a longer one. Later
 * processing of names takes quadratic time.
 */
export const withinBounds = (text: string): string =>
  text.length <= 2 * END_UNITS ? text : text.slice(0, END_UNITS) + text.slice(-END_UNITS);

/**
 * A safe name for a new file or folder from client text: unsafe characters become `_`, invisible ones are
 * removed, others (blanks and the letters of every script) stay. NFC, at most 255 bytes of UTF-8 with the
 * extension kept, not a Windows device, no dot or blank at the end. Empty only when the text has no visible
 * characters.
 *
 * The result is always one harmless path segment; whether its extension is allowed is checked separately.
 */
export const sanitizeName = (text: string): string => {
  const visible = withinBounds(text).replaceAll(INVISIBLE, '').normalize('NFC');
  const safe = visible
    .replaceAll(UNSAFE, REPLACEMENT)
    .replace(ONLY_DOTS, REPLACEMENT)
    .replace(WINDOWS_DEVICE, REPLACEMENT);
  const { stem, extension } = splitExtension(replaceTail(safe));
  // Shortening the stem may have produced the name of a device, or look-alikes of `..` at its end.
  return withoutLookAlikes(fit(stem, tailOf(extension))).replace(WINDOWS_DEVICE, REPLACEMENT);
};

/** As `sanitizeName`, for messages: a Windows device keeps its name. */
export const shownName = (text: string): string =>
  isWindowsDevice(text) ? sanitizeName(REPLACEMENT + text).slice(REPLACEMENT.length) : sanitizeName(text);

/** `photo.jpg` with `-1` is `photo-1.jpg`. Shortens the stem when the name would exceed 255 bytes. */
export const withFileSuffix = (name: string, suffix: string): string => {
  const { stem, extension } = splitExtension(name);
  const tail = suffix + tailOf(extension);
  return fit(stem, tail);
};

/** `v1.2` with ` (1)` is `v1.2 (1)`: folders have no extension. */
export const withFolderSuffix = (name: string, suffix: string): string => fit(name, suffix);

/** `b` becomes `b.jpg`, `b.php` becomes `b.php.jpg`. A name with the extension, in any letter case, stays. */
export const withExtension = (name: string, extension: string): string =>
  splitExtension(name).extension.toLowerCase() === extension.toLowerCase()
    ? name
    : fit(name, tailOf(extension));

/** `a.php.jpg` becomes `a_php.jpg`: some web servers execute a file by any of its extensions. */
export const withSingleExtension = (name: string): string => {
  const { stem, extension } = splitExtension(name);
  return stem.replaceAll(/(?<!^)\./gu, REPLACEMENT) + tailOf(extension);
};

// Configuration files of web servers. `extensions` may allow `ini` or `config`; these are never content.
const SERVER_CONFIG = /^(?:web\.config|php\.ini|\.user\.ini|\.ht.*)$/iu;

/** Whether a file of this name could configure a web server: `.htaccess`, `.user.ini`, `web.config`. */
export const isServerConfigName = (name: string): boolean => SERVER_CONFIG.test(name);

/** Whether the name is hidden by a leading dot, which a sanitised `../a` has as well. */
export const isHiddenName = (name: string): boolean => name.startsWith('.');

/** A name and its numbered variants, in the order in which they are tried. */
export interface NumberedNames {
  /** `at(0)` is the name itself. Never longer than 255 bytes. */
  at(number: number): string;
  /** The number for which `at` returns this name; undefined when there is none. */
  numberOf(name: string, ignoreCase: boolean): number | undefined;
}

const numbered = (
  at: (number: number) => string,
  digitsAt: RegExp,
  partOf: (name: string) => string = (name) => splitExtension(name).stem,
): NumberedNames => ({
  at,
  numberOf: (name, ignoreCase) => {
    const isNamed = (number: number): boolean =>
      ignoreCase ? withoutCase(at(number)) === withoutCase(name) : at(number) === name;
    if (isNamed(0)) return 0;
    const digits = digitsAt.exec(partOf(name))?.[1];
    if (digits === undefined || digits.length > 9) return undefined;
    // `a-01` has the digits of `a-1` but is another name, so the number must lead back to the name.
    return isNamed(Number(digits)) ? Number(digits) : undefined;
  },
});

/** `name.ext`, `name-1.ext`, `name-2.ext`…: names of uploads whose name is taken. */
export const uploadNames = (name: string): NumberedNames =>
  numbered((number) => (number === 0 ? name : withFileSuffix(name, `-${String(number)}`)), /-(\d+)$/u);

const COPY = / \((\d+)\)$/u;

/** `name.ext`, `name (1).ext`, `name (2).ext`…: names of copies. Those of folders have no extension. */
export const copyNames = (name: string, kind: 'file' | 'folder'): NumberedNames => {
  const withSuffix = kind === 'file' ? withFileSuffix : withFolderSuffix;
  const at = (number: number): string => (number === 0 ? name : withSuffix(name, ` (${String(number)})`));
  return numbered(at, COPY, kind === 'file' ? undefined : String);
};

/**
 * A form of the text that is the same for all letter cases. Converts both ways, because some letters have one
 * upper-case form for several lower-case ones (σ and ς, s and ſ), others the reverse.
 */
export const withoutCase = (text: string): string =>
  // Most names are ASCII: the rest is expensive for 100,000 of them.
  /^[\u0000-\u007f]*$/u.test(text) ? text.toUpperCase() : text.normalize('NFC').toLowerCase().toUpperCase();

/** Form of a text for searching: without the dot of İ, which would keep `istanbul` from matching İstanbul. */
const searched = (text: string): string => withoutCase(text).replaceAll('I\u0307', 'I');

/** Returns a test whether a name contains all of these words, ignoring letter case. */
export const holdsWords = (words: readonly string[]): ((name: string) => boolean) => {
  const wanted = words.map(searched);
  return (name) => {
    const text = searched(name);
    return wanted.every((word) => text.includes(word));
  };
};

/** Files of macOS and Windows that appear beside others on network drives: `._cat.jpg` is not a picture. */
export const SYSTEM_FILES = String.raw`\._.*|\.DS_Store|Thumbs\.db|desktop\.ini`;
const systemFile = new RegExp(`^(?:${SYSTEM_FILES})$`, 'iu');

export const isSystemFile = ({ kind, name }: { readonly kind: string; readonly name: string }): boolean =>
  kind === 'file' && systemFile.test(name);

/** A name or path as a store compares it: without letter case where the store ignores it. */
export const foldedFor = (
  { capabilities }: { readonly capabilities: { readonly caseSensitive: boolean } },
  text: string,
): string => (capabilities.caseSensitive ? text : withoutCase(text));

/** Encodes a value by RFC 8187, which allows fewer characters than parts of a URL. */
const encodeExtended = (text: string): string =>
  encodeURIComponent(text).replaceAll(
    /['()*]/gu,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );

/**
 * A `Content-Disposition` header with a name that every client understands: a quoted ASCII one, and the exact
 * one as `filename*` when they differ.
 * @see https://www.rfc-editor.org/rfc/rfc6266 and https://www.rfc-editor.org/rfc/rfc8187
 */
export const contentDisposition = (kind: 'inline' | 'attachment', filename: string): string => {
  const name = filename.replaceAll(/\p{Surrogate}/gu, '_');
  // Some clients decode percent escapes in the quoted form too.
  const ascii = name.replaceAll(/[^\x20-\x7e]|["\\%]/gu, '_');
  const exact = ascii === name ? '' : `; filename*=UTF-8''${encodeExtended(name)}`;
  return `${kind}; filename="${ascii}"${exact}`;
};
