import type { Editor, UploadAnswer } from './editor.ts';
import { type Location, plainPath } from './trash.ts';

/** Uploaded pictures whose sizes are remembered until they stand in the text. */
const REMEMBERED = 200;

interface Size {
  readonly width: number;
  readonly height: number;
}

/** Sizes of pictures that were just uploaded, by the URL that the editor inserts. */
export interface UploadedSizes {
  readonly remember: (answer: UploadAnswer) => void;
  readonly of: (url: string) => Size | undefined;
}

export const createUploadedSizes = (): UploadedSizes => {
  const sizes = new Map<string, Size>();
  return {
    of: (url) => sizes.get(url),
    remember: ({ data: { baseurl = '', files = [], items = [] } }) => {
      items.forEach(({ width, height }, index) => {
        if (width !== undefined && height !== undefined)
          sizes.set(`${baseurl}${files[index] ?? ''}`, { width, height });
      });
      for (const url of [...sizes.keys()].slice(0, Math.max(0, sizes.size - REMEMBERED))) sizes.delete(url);
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

/**
 * Gives a picture that is inserted its width and height, so that the text below does not jump when it has
 * loaded. Jodit 4.15.13 writes a width alone (`imageDefaultWidth`), and a wider one than small pictures have.
 */
export const sizeInsertedPictures = (editor: Editor, uploaded: UploadedSizes): void => {
  const sizeOf = (url: string): Size | undefined => {
    const item = editor.filebrowser.state.elements.find(({ fileURL }) => fileURL === url);
    if (item?.width !== undefined && item.height !== undefined)
      return { width: item.width, height: item.height };
    return uploaded.of(url);
  };
  editor.e.on('afterInsertImage', (image: HTMLImageElement) => {
    const size = sizeOf(image.getAttribute('src') ?? '');
    if (size === undefined) return;
    setSize(image, size);
    editor.synchronizeValues();
  });
};
