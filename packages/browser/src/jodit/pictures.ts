import type { Calls } from './calls.ts';
import type { Editor, UploadAnswer } from './editor.ts';
import { srcsetOf, sizesFor } from './srcset.ts';
import { type Location, plainPath } from './trash.ts';

/** Uploaded pictures that are remembered until they stand in the text. */
const REMEMBERED = 200;

interface Size {
  readonly width: number;
  readonly height: number;
}

/** What is known of a picture: its size, and where it lies. */
export interface KnownPicture {
  readonly size: Size | undefined;
  readonly source: string;
  readonly path: string;
  readonly name: string;
}

/** Pictures that were just uploaded, by the URL that the editor inserts. */
export interface UploadedPictures {
  readonly remember: (answer: UploadAnswer) => void;
  readonly of: (url: string) => KnownPicture | undefined;
}

const sizeOf = ({ width, height }: Partial<Size>): Size | undefined =>
  width === undefined || height === undefined ? undefined : { width, height };

export const createUploadedPictures = (): UploadedPictures => {
  const pictures = new Map<string, KnownPicture>();
  return {
    of: (url) => pictures.get(url),
    remember: ({ data: { baseurl = '', files = [], items = [] } }) => {
      items.forEach(({ source = '', path = '', name = '', ...item }, index) => {
        pictures.set(`${baseurl}${files[index] ?? ''}`, { size: sizeOf(item), source, path, name });
      });
      const tooMany = Math.max(0, pictures.size - REMEMBERED);
      for (const url of [...pictures.keys()].slice(0, tooMany)) pictures.delete(url);
    },
  };
};

const pathIn = (url: string): string => {
  const { pathname } = new URL(url, document.baseURI);
  try {
    return decodeURIComponent(pathname);
  } catch {
    return pathname;
  }
};

/**
 * Loads a changed picture of the text anew where Jodit 4.15.13 has written a time behind its address (`_tmp`)
 * when it was edited: the browser would go on showing what was at that address.
 */
export const showAnew = (editor: Editor, { path, name }: Pick<Location, 'path' | 'name'>): void => {
  const end = `/${plainPath(`${path}/${name}`)}`;
  for (const image of editor.container.querySelectorAll<HTMLImageElement>(
    '.jodit-wysiwyg img[src*="_tmp="]',
  )) {
    const isIt = pathIn(image.src).endsWith(end);
    const src = image.getAttribute('src') ?? '';
    if (isIt) image.setAttribute('src', src.replace(/_tmp=\d+/u, `_tmp=${String(Date.now())}`));
  }
  editor.synchronizeValues();
};

const setSize = (image: HTMLImageElement, { width, height }: Size): void => {
  const wanted = image.getAttribute('width') ?? '';
  // A share of the page has no height that is known here.
  if (wanted !== '' && !/^\d+(?:\.\d+)?(?:px)?$/u.test(wanted)) return;
  const shown = Math.min(wanted === '' ? width : Math.round(Number.parseFloat(wanted)), width);
  image.setAttribute('width', String(shown));
  image.setAttribute('height', String(Math.max(1, Math.round((shown * height) / width))));
};

/** What inserted pictures get. */
interface PictureOptions {
  readonly size: boolean;
  readonly srcset: true | readonly string[] | undefined;
}

/**
 * Gives a picture that is inserted its width and height, so that the text below does not jump when it has
 * loaded, and on request a `srcset`. Jodit 4.15.13 writes a width alone (`imageDefaultWidth`), and a wider
 * one than small pictures have.
 */
export const completeInsertedPictures = (
  editor: Editor,
  uploaded: UploadedPictures,
  calls: Calls,
  { size: withSize, srcset }: PictureOptions,
): void => {
  const known = (url: string): KnownPicture | undefined => {
    const item = editor.filebrowser.state.elements.find(({ fileURL }) => fileURL === url);
    if (item === undefined) return uploaded.of(url);
    const { sourceName: source, path, name = item.file ?? '' } = item;
    return { size: sizeOf(item), source, path, name };
  };
  const addSrcset = async (image: HTMLImageElement, picture: KnownPicture): Promise<void> => {
    const url = image.getAttribute('src');
    const found = await srcsetOf(calls, picture, srcset ?? []);
    // It may have been changed or removed meanwhile.
    if (found === undefined || !image.isConnected || image.getAttribute('src') !== url) return;
    image.setAttribute('srcset', found.srcset);
    image.setAttribute('sizes', sizesFor(image, found.width));
    editor.synchronizeValues();
  };
  editor.e.on('afterInsertImage', (image: HTMLImageElement) => {
    const picture = known(image.getAttribute('src') ?? '');
    if (picture === undefined) return;
    if (withSize && picture.size !== undefined) {
      setSize(image, picture.size);
      editor.synchronizeValues();
    }
    // Without one the picture is complete all the same.
    if (srcset !== undefined) void addSrcset(image, picture).catch(() => undefined);
  });
};
