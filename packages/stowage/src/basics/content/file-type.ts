/** A file name in two parts. `extension` is as written, without the dot; empty when there is none. */
export interface NameParts {
  readonly stem: string;
  readonly extension: string;
}

/**
 * Splits `photo.v2.JPG` into `photo.v2` and `JPG`. A name that consists of an extension only (`.php`) has
 * none: servers treat such names differently.
 */
export const splitExtension = (name: string): NameParts => {
  const dot = name.lastIndexOf('.');
  return dot <= 0 || dot === name.length - 1
    ? { stem: name, extension: '' }
    : { stem: name.slice(0, dot), extension: name.slice(dot + 1) };
};

const TAIL = /[\s.\u200b\u2800\u3164]/u;

/** Index where the trailing dots and blanks begin, which some systems drop when they open a file. */
const endOf = (name: string): number => {
  let end = name.length;
  const last = name.charCodeAt(end - 1);
  // By far most names end with an ASCII letter or digit: takes a tenth of the time of the pattern.
  if (last > 0x2e && last < 0x7f) return end;
  while (end > 0 && TAIL.test(name.charAt(end - 1))) end -= 1;
  return end;
};

/**
 * The extension of a file in lower case, without dot; undefined when there is none. Ignores trailing dots and
 * blanks: `x.php. ` is a `php`.
 *
 * @see https://github.com/Studio-42/elFinder/issues/3458
 */
export const extensionOf = (name: string): string | undefined => {
  const end = endOf(name);
  // Called several times for each of 100,000 names in a listing, so no unused part is cut out.
  const dot = name.lastIndexOf('.', end - 1);
  return dot <= 0 ? undefined : name.slice(dot + 1, end).toLowerCase();
};

const familyOf = (name: string): string | undefined => {
  const extension = extensionOf(name);
  return extension === 'jpeg' ? 'jpg' : extension;
};

/** Whether two names have the same type: the same extension, where `jpg` and `jpeg` are equal. */
export const isSameType = (one: string, other: string): boolean => familyOf(one) === familyOf(other);

/** Whether a file may have this name: it needs one of `extensions` (lower case, without dots). */
export const hasAllowedExtension = (name: string, extensions: readonly string[]): boolean => {
  const extension = extensionOf(name);
  return extension !== undefined && extensions.includes(extension);
};

/** Stores serve this value unchanged, so text types include their charset. */
const TYPES: ReadonlyMap<string, string> = new Map(
  Object.entries({
    // images
    jpg: 'image/jpeg',
    jpeg: 'image/jpeg',
    jpe: 'image/jpeg',
    jfif: 'image/jpeg',
    png: 'image/png',
    apng: 'image/apng',
    gif: 'image/gif',
    webp: 'image/webp',
    avif: 'image/avif',
    heic: 'image/heic',
    heif: 'image/heif',
    bmp: 'image/bmp',
    ico: 'image/x-icon',
    svg: 'image/svg+xml',
    tif: 'image/tiff',
    tiff: 'image/tiff',
    psd: 'image/vnd.adobe.photoshop',
    ai: 'application/postscript',
    // texts
    txt: 'text/plain; charset=utf-8',
    md: 'text/markdown; charset=utf-8',
    csv: 'text/csv; charset=utf-8',
    css: 'text/css; charset=utf-8',
    html: 'text/html; charset=utf-8',
    htm: 'text/html; charset=utf-8',
    js: 'text/javascript; charset=utf-8',
    json: 'application/json',
    xml: 'application/xml',
    ini: 'text/plain; charset=utf-8',
    // documents
    pdf: 'application/pdf',
    rtf: 'application/rtf',
    doc: 'application/msword',
    docx: 'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
    xls: 'application/vnd.ms-excel',
    xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
    ppt: 'application/vnd.ms-powerpoint',
    pps: 'application/vnd.ms-powerpoint',
    pptx: 'application/vnd.openxmlformats-officedocument.presentationml.presentation',
    odt: 'application/vnd.oasis.opendocument.text',
    ods: 'application/vnd.oasis.opendocument.spreadsheet',
    odp: 'application/vnd.oasis.opendocument.presentation',
    epub: 'application/epub+zip',
    ttf: 'font/ttf',
    otf: 'font/otf',
    woff: 'font/woff',
    woff2: 'font/woff2',
    // archives
    zip: 'application/zip',
    rar: 'application/vnd.rar',
    '7z': 'application/x-7z-compressed',
    gz: 'application/gzip',
    tar: 'application/x-tar',
    // audio and video
    mp3: 'audio/mpeg',
    m4a: 'audio/mp4',
    aac: 'audio/aac',
    flac: 'audio/flac',
    ogg: 'audio/ogg',
    oga: 'audio/ogg',
    opus: 'audio/ogg',
    wav: 'audio/wav',
    mp4: 'video/mp4',
    m4v: 'video/mp4',
    mpg: 'video/mpeg',
    mpeg: 'video/mpeg',
    ogv: 'video/ogg',
    webm: 'video/webm',
    avi: 'video/x-msvideo',
    flv: 'video/x-flv',
    '3gp': 'video/3gpp',
    mov: 'video/quicktime',
    mkv: 'video/x-matroska',
    wmv: 'video/x-ms-wmv',
  }),
);

/**
 * The `Content-Type` of a file, by its extension and never by its content, with the charset of texts;
 * `application/octet-stream` for unknown extensions.
 */
export const mimeTypeOf = (name: string): string =>
  TYPES.get(extensionOf(name) ?? '') ?? 'application/octet-stream';

/** The media type without parameters, for programs that compare it. */
export const mediaTypeOf = (name: string): string => mimeTypeOf(name).replace(/;.*/u, '');

export const mediaTypeExtensions: readonly string[] = [...TYPES.keys()];
