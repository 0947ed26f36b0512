import type { PickedFile } from './options.ts';

/** Names that do not describe the picture. */
const WORDLESS = /^(?:dsc[fn]?|image|img|photo|picture|pxl|screenshot|untitled)?[\s\d]*$/iu;

/** The alternative text of a picture, else words from its name: `red-cat_2.jpg` as `red cat 2`. */
export const altOf = ({ name, about }: Pick<PickedFile, 'name' | 'about'>): string => {
  if (about?.alt !== undefined) return about.alt;
  const words = name
    .replace(/\.[^.]*$/u, '')
    .replaceAll(/[\s_-]+/gu, ' ')
    .trim();
  return WORDLESS.test(words) ? '' : words;
};

/** Device names of Windows. */
const DEVICE = /^(?:con|prn|aux|nul|(?:com|lpt)\d)$/iu;

/**
 * Whether every connector stores this name unchanged. In others it may replace characters, and the responses
 * of most actions do not contain the new name.
 */
export const isKept = (name: string): boolean =>
  /^[\p{L}\p{M}\p{N}_(-](?:[\p{L}\p{M}\p{N} _()+,=@&'-]{0,58}[\p{L}\p{M}\p{N}_()-])?$/u.test(name) &&
  !DEVICE.test(name) &&
  name === name.normalize('NFC');

/** The name of an entry after a rename: a file keeps its extension. Undefined unless `isKept`. */
export const renamedAs = (
  { type, name }: { readonly type: 'folder' | 'image' | 'file'; readonly name: string },
  wanted: string,
): string | undefined => {
  const extension = type === 'folder' ? '' : (/\.[^.]*$/u.exec(name)?.[0] ?? '');
  const hasExtension = wanted.toLowerCase().endsWith(extension.toLowerCase());
  const stem = hasExtension ? wanted.slice(0, wanted.length - extension.length) : wanted;
  if (!isKept(stem)) return undefined;
  return hasExtension ? wanted : `${wanted}${extension}`;
};

/** Default names that programs give to pasted pictures. */
const NAMELESS =
  /^(?:blob|blobid|clipboard|file|image|imagetools|mceclip|undefined|unnamed|untitled)?[-_ ]?\d*$/iu;

const EXTENSIONS: Readonly<Record<string, string>> = { jpeg: 'jpg', plain: 'txt', 'svg+xml': 'svg' };

/**
 * The file with a unique name: a pasted `image.png` or `blobid0.png` becomes `image-2026-11-23-101530.png`.
 */
export const named = (file: Blob): File => {
  // A file that was pasted into an iframe is an instance of that frame's `File`.
  const { name = '' } = file as Partial<File>;
  const [, stem = '', extension] = /^(.*?)(?:\.([^.]*))?$/su.exec(name) ?? [];
  if (!NAMELESS.test(stem)) return file as File;
  const [kind = '', subtype = ''] = file.type.split(';', 1)[0]?.split('/') ?? [];
  const now = new Date(Date.now() - new Date().getTimezoneOffset() * 60_000).toISOString();
  const moment = now.slice(0, 19).replace('T', '-').replaceAll(':', '');
  const ending = extension ?? EXTENSIONS[subtype] ?? subtype;
  const given = `${kind === 'image' ? 'image' : 'file'}-${moment}`;
  return new File([file], ending === '' ? given : `${given}.${ending}`, { type: file.type });
};

/** Files that are remembered until they are inserted. */
const REMEMBERED = 200;

/** The files that were uploaded or picked recently, by the addresses that editors insert. */
export class KnownFiles {
  readonly #files = new Map<string, PickedFile>();

  add(file: PickedFile): void {
    this.#files.set(file.url, file);
    for (const oldest of this.#files.keys()) {
      if (this.#files.size <= REMEMBERED) return;
      this.#files.delete(oldest);
    }
  }

  of(url: string): PickedFile | undefined {
    return this.#files.get(url);
  }
}
