import { createHash } from 'node:crypto';

const MAX_STEM_LENGTH = 80;

export const shortHash = (text: string): string =>
  createHash('sha256').update(text).digest('hex').slice(0, 10);

/** Letters, digits and a few signs of ASCII that resemble the text; for readable names. */
export const asciiForm = (text: string): string => {
  const form = text
    .normalize('NFKD')
    .replaceAll(/\p{Mark}+/gu, '')
    .replaceAll(/[^0-9A-Za-z._-]+/gu, '-')
    .replaceAll(/^[-.]+|[-.]+$/gu, '')
    .slice(0, MAX_STEM_LENGTH);
  return form === '' ? 'item' : form;
};

export interface Icon {
  readonly name: string;
  readonly svg: string;
}

export interface IconSize {
  readonly width: number;
  readonly height: number;
}

/** Kinds of files with a colour each. */
const COLOURS: readonly (readonly [colour: string, extensions: string])[] = [
  ['#c0392b', 'pdf ps'],
  ['#2b5fb4', 'doc docx odt rtf txt md'],
  ['#1f8a4c', 'xls xlsx ods csv'],
  ['#d2691e', 'ppt pptx pps odp'],
  ['#8e6b1f', 'zip rar 7z gz tar bz2 xz'],
  ['#8e44ad', 'mp4 avi mov mkv wmv webm flv 3gp'],
  ['#c2378a', 'mp3 wav ogg flac m4a'],
  ['#12858a', 'html htm css js json xml ini'],
  ['#34638c', 'ai psd svg jpg jpeg png gif webp bmp ico tif tiff avif heic'],
  ['#6a5acd', 'ttf otf woff woff2'],
];
const OTHER_COLOURS: readonly string[] = ['#5d6d7e', '#7d6608', '#6e4b8b', '#1e6f6f', '#935116', '#2e6b3f'];
const NO_EXTENSION_COLOUR = '#7f8c8d';
const MAX_LABEL_LENGTH = 6;

const colourOf = (extension: string): string => {
  if (extension === '') return NO_EXTENSION_COLOUR;
  const known = COLOURS.find(([, extensions]) => extensions.split(' ').includes(extension));
  if (known) return known[0];
  const sum = [...extension].reduce((total, letter) => total + (letter.codePointAt(0) ?? 0), 0);
  return OTHER_COLOURS[sum % OTHER_COLOURS.length] ?? NO_EXTENSION_COLOUR;
};

const XML_SPECIAL = /[&<>"'\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|\p{Surrogate}/u;
const XML_ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Escapes a text for XML content and attributes; characters that are not allowed in XML are dropped. */
export const escapeXml = (text: string): string =>
  // Most text in a large drawing is numbers: a test is cheaper than a replacement.
  XML_SPECIAL.test(text)
    ? text.replaceAll(new RegExp(XML_SPECIAL, 'gu'), (char) => XML_ESCAPES[char] ?? '')
    : text;

const frame = ({ width, height }: IconSize, content: string): string =>
  `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 100 100">${content}</svg>\n`;

const fileDrawing = (extension: string): string => {
  const colour = colourOf(extension);
  const letters = [...extension.toUpperCase()].slice(0, MAX_LABEL_LENGTH);
  const fontSize = letters.length <= 4 ? 18 : 13;
  const label =
    letters.length === 0
      ? ''
      : `<rect x="12" y="54" width="76" height="26" rx="4" fill="${colour}"/>` +
        `<text x="50" y="73" text-anchor="middle" font-family="Arial, Helvetica, sans-serif" font-size="${fontSize}" ` +
        `font-weight="bold" fill="#ffffff">${escapeXml(letters.join(''))}</text>`;
  return (
    `<path d="M22 6h40l18 18v66a4 4 0 0 1-4 4H24a4 4 0 0 1-4-4V10a4 4 0 0 1 4-4z" fill="#ffffff" stroke="${colour}" stroke-width="3"/>` +
    `<path d="M62 6v14a4 4 0 0 0 4 4h14" fill="none" stroke="${colour}" stroke-width="3"/>` +
    `<path d="M32 34h36M32 44h36" stroke="#d5d8dc" stroke-width="4" stroke-linecap="round"/>${label}`
  );
};

const FOLDER_DRAWING =
  '<path d="M8 24a6 6 0 0 1 6-6h24l9 10h39a6 6 0 0 1 6 6v8H8z" fill="#d99a26"/>' +
  '<path d="M8 36h84v42a6 6 0 0 1-6 6H14a6 6 0 0 1-6-6z" fill="#f5bd4f"/>';

/** The name contains a hash of the drawing, so that an existing file is never rewritten. */
const named = (stem: string, svg: string): Icon => ({ name: `${stem}~${shortHash(svg)}.svg`, svg });

/** The icon for an extension: lower case, without dot, empty for files without one. It is escaped. */
export const fileIcon = (extension: string, size: IconSize): Icon =>
  named(extension === '' ? 'file' : `file-${asciiForm(extension)}`, frame(size, fileDrawing(extension)));

export const folderIcon = (size: IconSize): Icon => named('folder', frame(size, FOLDER_DRAWING));

const ICON_NAME = /^(?:(file)(?:-([0-9a-z._-]+))?|folder)~[0-9a-f]{10}\.svg$/iu;

/** Whether a file in a thumbnail folder is a default icon, of any size. */
export const isDefaultIcon = (name: string): boolean => ICON_NAME.test(name);

/** The markup of a default icon, by its name; undefined for others. Extensions are shown in ASCII. */
export const iconNamed = (name: string, size: IconSize): string | undefined => {
  const [found, isFile, extension = ''] = ICON_NAME.exec(name) ?? [];
  if (found === undefined) return undefined;
  return (isFile === undefined ? folderIcon(size) : fileIcon(extension, size)).svg;
};

/** File name of an item's icon by the host's generator. Never the name of a default icon. */
export const itemIconName = (item: string, kind: 'file' | 'folder', { width, height }: IconSize): string =>
  `item-${asciiForm(item)}~${shortHash(`${kind} ${width}x${height} ${item}`)}.svg`;
