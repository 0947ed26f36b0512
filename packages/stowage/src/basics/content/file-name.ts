import { splitExtension } from './file-type.ts';

/** Longest name of common file systems, in bytes of UTF-8. */
const MAX_BYTES = 255;
const REPLACEMENT = '_';
/** UTF-16 units of a longer text that count at each of its ends. */
const END_UNITS = 512;

// Invisible characters: zero-width ones, and those that change the direction in which a name is read.
const INVISIBLE = /[\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]/gu;
// Refused by some file system, or with a meaning in URLs and HTML, into which editors put names as they are;
// then control characters, line separators and halves of characters.
const UNSAFE = /[/?<>\\:*|"#%;\u0000-\u001f\u007f-\u009f\u2028\u2029]|\p{Surrogate}/gu;
const ONLY_DOTS = /^\.+$/u;
const WINDOWS_DEVICE = /^(?:con|prn|aux|nul|(?:com|lpt)[0-9¹²³])(?:\..*)?$/iu;

/** Whether Windows takes a name for a device: `CON`, `nul.txt`. */
export const isWindowsDevice = (name: string): boolean => WINDOWS_DEVICE.test(name);

const bytesOf = (text: string): number => Buffer.byteLength(text);

/** The longest beginning of the text that fits, never half a character. */
const cut = (text: string, bytes: number): string => {
  if (bytesOf(text) <= bytes) return text;
  const buffer = Buffer.from(text);
  let end = bytes;
  // 10xxxxxx continues a character, so the cut must go before its first byte.
  while (end > 0 && ((buffer[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return buffer.toString('utf8', 0, end);
};

/**
 * Without the dots and blanks at the end. No regular expression: `\s+$` is quadratic on long runs of blanks.
 */
const withoutTail = (name: string): string => {
  let end = name.length;
  while (end > 0 && /[\s.]/u.test(name.charAt(end - 1))) end -= 1;
  return name.slice(0, end);
};

const replaceTail = (name: string): string => {
  const kept = withoutTail(name);
  return kept === name ? name : kept + REPLACEMENT;
};

/** Full-width dots and slashes and the like become `_` when a layer below that folds them could read `..`. */
const withoutLookAlikes = (name: string): string =>
  name.normalize('NFKC').split(/[\\/]/u).includes('..')
    ? name.replaceAll(/[^\u0000-\u007f]/gu, (char) =>
        /[./\\]/u.test(char.normalize('NFKC')) ? REPLACEMENT : char,
      )
    : name;

/** Room for `stem` + `tail` in one name: the stem gives way. A tail that leaves no room is cut as well. */
const fit = (stem: string, tail: string): string => {
  const room = MAX_BYTES - bytesOf(tail);
  return withoutTail(room < 1 ? cut(stem + tail, MAX_BYTES) : cut(stem, room) + tail);
};

const tailOf = (extension: string): string => (extension === '' ? '' : `.${extension}`);

/**
 * A text of at most 1,024 UTF-16 units: of a longer one its beginning and its end, where the extension is.
 * All that is done with names afterwards takes time by the square of the length.
 */
export const withinBounds = (text: string): string =>
  text.length <= 2 * END_UNITS ? text : text.slice(0, END_UNITS) + text.slice(-END_UNITS);

/**
 * A name for a new file or folder, made of what a client wrote: unsafe characters become `_`, invisible ones
 * vanish, the rest (blanks and the letters of every script) stays. NFC, at most 255 bytes of UTF-8 with the
 * extension kept, no Windows device, no dot or blank at the end. Empty only when nothing visible was given.
 *
 * The result is always one harmless path segment; whether its extension is allowed is another question.
 */
export const sanitizeName = (text: string): string => {
  const visible = withinBounds(text).replaceAll(INVISIBLE, '').normalize('NFC');
  const safe = withoutLookAlikes(visible.replaceAll(UNSAFE, REPLACEMENT))
    .replace(ONLY_DOTS, REPLACEMENT)
    .replace(WINDOWS_DEVICE, REPLACEMENT);
  const { stem, extension } = splitExtension(replaceTail(safe));
  // The stem may have been cut to the name of a device.
  return fit(stem, tailOf(extension)).replace(WINDOWS_DEVICE, REPLACEMENT);
};

/** `photo.jpg` with `-1` is `photo-1.jpg`. Cuts the stem where the name would pass 255 bytes. */
export const withFileSuffix = (name: string, suffix: string): string => {
  const { stem, extension } = splitExtension(name);
  const tail = suffix + tailOf(extension);
  return fit(stem, tail);
};

/** `v1.2` with ` (1)` is `v1.2 (1)`: folders have no extension. */
export const withFolderSuffix = (name: string, suffix: string): string => fit(name, suffix);

/** `b` becomes `b.jpg`, `b.php` becomes `b.php.jpg`. A name that has the extension, in any case, stays. */
export const withExtension = (name: string, extension: string): string =>
  splitExtension(name).extension.toLowerCase() === extension.toLowerCase()
    ? name
    : fit(name, tailOf(extension));

/** `a.php.jpg` becomes `a_php.jpg`: some web servers run a file by any of its extensions. */
export const withSingleExtension = (name: string): string => {
  const { stem, extension } = splitExtension(name);
  return stem.replaceAll(/(?<!^)\./gu, REPLACEMENT) + tailOf(extension);
};

// Files that web servers obey. `extensions` may allow `ini` or `config`; these are never content.
const SERVER_CONFIG = /^(?:web\.config|php\.ini|\.user\.ini|\.ht.*)$/iu;

/** Whether a file of this name could steer a web server: `.htaccess`, `.user.ini`, `web.config`. */
export const isServerConfigName = (name: string): boolean => SERVER_CONFIG.test(name);

/** Whether a file of this name is hidden: a leading dot, as `../a` gets one too. */
export const isHiddenName = (name: string): boolean => name.startsWith('.');

/** A name and its numbered variants, in the order in which they are tried. */
export interface NumberedNames {
  /** `at(0)` is the name itself. Never longer than 255 bytes. */
  at(number: number): string;
  /** The number for which `at` gives this name; undefined when there is none. */
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
    // `a-01` has the number of `a-1` and is another name, so the way back decides.
    return isNamed(Number(digits)) ? Number(digits) : undefined;
  },
});

/** `name.ext`, `name-1.ext`, `name-2.ext`…: uploads that meet their own name. */
export const uploadNames = (name: string): NumberedNames =>
  numbered((number) => (number === 0 ? name : withFileSuffix(name, `-${String(number)}`)), /-(\d+)$/u);

const COPY = / \((\d+)\)$/u;

/** `name.ext`, `name (1).ext`, `name (2).ext`…: copies of files. */
export const fileCopyNames = (name: string): NumberedNames =>
  numbered((number) => (number === 0 ? name : withFileSuffix(name, ` (${String(number)})`)), COPY);

/** `name`, `name (1)`, `name (2)`…: copies of folders, whose names have no extension. */
export const folderCopyNames = (name: string): NumberedNames =>
  numbered((number) => (number === 0 ? name : withFolderSuffix(name, ` (${String(number)})`)), COPY, String);

/**
 * A text in a form that all its spellings in other letter cases share. Both ways, because some letters have
 * one upper-case form for several lower-case ones (σ and ς, s and ſ), others the reverse.
 */
export const withoutCase = (text: string): string =>
  // Most names: the rest is expensive when there are 100,000 of them.
  /^[\u0000-\u007f]*$/u.test(text) ? text.toUpperCase() : text.normalize('NFC').toLowerCase().toUpperCase();

/** As people search: the dot of İ is all that would keep `istanbul` from İstanbul. */
const searched = (text: string): string => withoutCase(text).replaceAll('I\u0307', 'I');

/** The test whether a name holds all of these words, whatever their case. */
export const holdsWords = (words: readonly string[]): ((name: string) => boolean) => {
  const wanted = words.map(searched);
  return (name) => {
    const text = searched(name);
    return wanted.every((word) => text.includes(word));
  };
};

/** A name or path as a store compares it: without its case where `a` and `A` are one. */
export const foldedFor = (
  { capabilities }: { readonly capabilities: { readonly caseSensitive: boolean } },
  text: string,
): string => (capabilities.caseSensitive ? text : withoutCase(text));

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
