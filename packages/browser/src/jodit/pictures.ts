import type { KnownFiles } from '../picker/names.ts';
import type { PickedFile } from '../picker/options.ts';
import { type Service, trimmed } from '../picker/service.ts';
import type { Connection } from './connection.ts';
import type { Editor } from './editor.ts';

const pathIn = (url: string): string => {
  const { pathname } = new URL(url, document.baseURI);
  try {
    return decodeURIComponent(pathname);
  } catch {
    return pathname;
  }
};

/**
 * Reloads an edited picture of the text, to whose address Jodit 4.15.13 has appended a time (`_tmp`): the
 * browser would show its cached content otherwise.
 */
export const showAnew = (
  editor: Editor,
  { path, name }: { readonly path: string; readonly name: string },
): void => {
  const end = `/${trimmed(`${path}/${name}`)}`;
  for (const image of editor.container.querySelectorAll<HTMLImageElement>(
    '.jodit-wysiwyg img[src*="_tmp="]',
  )) {
    const src = image.getAttribute('src') ?? '';
    if (pathIn(image.src).endsWith(end))
      image.setAttribute('src', src.replace(/_tmp=\d+/u, `_tmp=${String(Date.now())}`));
  }
  editor.setEditorValue();
};

const setSize = (image: HTMLImageElement, width: number, height: number): void => {
  const wanted = image.getAttribute('width') ?? '';
  // The height of a relative width is unknown here.
  if (wanted !== '' && !/^\d+(?:\.\d+)?(?:px)?$/u.test(wanted)) return;
  const shown = Math.min(wanted === '' ? width : Math.round(Number.parseFloat(wanted)), width);
  image.setAttribute('width', String(shown));
  image.setAttribute('height', String(Math.max(1, Math.round((shown * height) / width))));
};

/** The displayed width of a picture: its own, on narrow pages that of the page. */
const sizesFor = (image: HTMLImageElement, natural: number): string => {
  const wanted = image.getAttribute('width') ?? '';
  if (wanted.endsWith('%')) return `${String(Number.parseFloat(wanted))}vw`;
  const width = `${String(Math.round(Number.parseFloat(wanted)) || natural)}px`;
  return `(max-width: ${width}) 100vw, ${width}`;
};

/**
 * Completes inserted pictures: their alternative text, width and height, so that the text below does not
 * shift when they have loaded, and optionally a `srcset`. Jodit 4.15.13 sets only a width
 * (`imageDefaultWidth`), which may be larger than the picture.
 */
export const completeInsertedPictures = (
  editor: Editor,
  known: KnownFiles,
  service: Service,
  { size = true, srcset }: NonNullable<Connection['pictures']> = {},
): void => {
  const addSrcset = async (image: HTMLImageElement, picture: PickedFile): Promise<void> => {
    const url = image.getAttribute('src');
    const found = await service.find(picture, srcset);
    // It may have been changed or removed meanwhile.
    if (
      found?.srcset === undefined ||
      found.width === undefined ||
      !image.isConnected ||
      image.getAttribute('src') !== url
    )
      return;
    image.setAttribute('srcset', found.srcset);
    image.setAttribute('sizes', sizesFor(image, found.width));
    editor.setEditorValue();
  };
  editor.e.on('afterInsertImage', (image: HTMLImageElement) => {
    const picture = known.of(image.getAttribute('src') ?? '');
    if (picture === undefined) return;
    const { width, height, alt } = picture;
    if (size && width !== undefined && height !== undefined) setSize(image, width, height);
    if (image.alt === '') image.alt = alt;
    editor.setEditorValue();
    // The `srcset` is optional: a failure is ignored.
    if (srcset !== undefined) void addSrcset(image, picture).catch(() => undefined);
  });
};
