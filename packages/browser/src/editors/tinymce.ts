import { h } from '../picker/dom.ts';
import { KnownFiles } from '../picker/names.ts';
import type { PickedFile } from '../picker/options.ts';
import { pickFiles } from '../picker/pick.ts';
import { createUploader, type UploaderOptions } from './upload.ts';

/** The argument of TinyMCE's upload handler. */
interface BlobInfo {
  readonly blob: () => Blob;
  readonly filename: () => string;
  readonly blobUri: () => string;
}

interface Editor {
  readonly getBody: () => HTMLElement;
  readonly on: (name: string, listener: (event: { readonly command: string }) => void) => unknown;
  readonly options: { readonly get: (name: string) => unknown };
  readonly dom: {
    readonly getParent: (node: Node, selector: string) => Element | null;
    readonly split: (parent: Element, element: Element) => unknown;
  };
}

type Progress = (percent: number) => void;
type Picked = (url: string, attributes: Readonly<Record<string, string | boolean>>) => void;

/** The options of TinyMCE that `tinymceFiles` sets. */
export interface TinymceFiles {
  readonly convert_urls: false;
  readonly image_caption: true;
  readonly file_picker_types: string;
  readonly file_picker_callback: (
    this: unknown,
    picked: Picked,
    value: string,
    meta: Readonly<Record<string, unknown>>,
  ) => void;
  readonly images_upload_handler: (blobInfo: BlobInfo, progress: Progress) => Promise<string>;
  readonly files_upload_handler: (
    blobInfo: BlobInfo,
    progress: Progress,
  ) => Promise<{ url: string; fileName: string }>;
  readonly setup: (editor: Editor) => void;
}

/** A pasted picture is a File; one that TinyMCE has changed is a Blob with the former name. */
const fileOf = (info: BlobInfo): Blob => {
  const blob = info.blob();
  return 'name' in blob ? blob : new File([blob], info.filename(), { type: blob.type });
};

const attributesOf = (values: Readonly<Record<string, string | number | undefined>>) =>
  Object.fromEntries(
    Object.entries(values).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]])),
  );

const captionOf = (file: PickedFile | undefined): string => file?.about?.caption ?? '';

/** Wraps a picture in a figure, as TinyMCE does. */
const addCaption = ({ dom }: Editor, image: HTMLImageElement, text: string): void => {
  const caption = h('figcaption', { contenteditable: 'true' }, text);
  const figure = h('figure', { class: 'image', contenteditable: 'false' }, caption);
  image.replaceWith(figure);
  figure.prepend(image);
  const block = dom.getParent(figure, 'p,h1,h2,h3,h4,h5,h6,pre');
  if (block !== null) dom.split(block, figure);
};

/** Sets the captions of files where TinyMCE has inserted its default text. */
const fillCaptions = (editor: Editor, known: KnownFiles): void => {
  for (const caption of editor.getBody().querySelectorAll('figcaption')) {
    const url = caption.parentElement?.querySelector('img')?.getAttribute('src') ?? '';
    if (caption.textContent === 'Caption') caption.textContent = captionOf(known.of(url)) || 'Caption';
  }
};

const hasPicture = (editor: Editor, info: BlobInfo): boolean =>
  [...editor.getBody().querySelectorAll('img')].some(({ src }) => src === info.blobUri());

/** Aborted when the editor of an upload is removed. TinyMCE does not name that editor. */
const signalOf = (editors: ReadonlyMap<Editor, AbortController>, info: BlobInfo): AbortSignal | undefined => {
  const all = [...editors];
  return all.find(([editor]) => all.length === 1 || hasPicture(editor, info))?.[1].signal;
};

/**
 * Options for `tinymce.init`: pasted, dropped and chosen pictures are uploaded, the buttons beside the fields
 * of its dialogs open the picker, and links are not converted. Your own `setup` must call the one of these
 * options too.
 */
export const tinymceFiles = (options: UploaderOptions): TinymceFiles => {
  const upload = createUploader(options);
  /** Each with the controller that closes its picker, and cancels its uploads. */
  const editors = new Map<Editor, AbortController>();
  const known = new KnownFiles();

  const store = async (info: BlobInfo, progress: Progress) => {
    try {
      return await upload(fileOf(info), {
        signal: signalOf(editors, info),
        onProgress: (sent, total) => progress(Math.round((100 * sent) / Math.max(1, total))),
      });
    } catch (error) {
      // TinyMCE shows `message`, and removes the picture from the text.
      throw Object.assign(error as Error, { remove: true });
    }
  };

  return {
    convert_urls: false,
    image_caption: true,
    file_picker_types: 'file image media',
    file_picker_callback(picked, _value, { filetype }) {
      const types = filetype === 'image' ? 'image' : undefined;
      // TinyMCE calls it with the editor as `this`.
      const signal = editors.get(this as Editor)?.signal;
      void pickFiles({ ...options, types, several: false }, { signal }).then(([file]) => {
        if (file === undefined) return;
        known.add(file);
        const { url, name, alt, width, height } = file;
        if (filetype === 'file') picked(url, { text: name });
        else picked(url, { ...attributesOf({ alt, width, height }), caption: captionOf(file) !== '' });
      });
    },
    images_upload_handler: async (info, progress) => {
      const file = await store(info, progress);
      const { url, alt, srcset } = file;
      known.add(file);
      // TinyMCE replaces only the address.
      for (const editor of editors.keys())
        for (const image of editor.getBody().querySelectorAll('img')) {
          if (image.src !== info.blobUri()) continue;
          if (!image.hasAttribute('alt')) image.alt = alt;
          if (srcset !== undefined) image.srcset = srcset;
          if (captionOf(file) !== '' && editor.options.get('image_caption') === true)
            addCaption(editor, image, captionOf(file));
        }
      return url;
    },
    files_upload_handler: async (info, progress) => {
      const { url, name } = await store(info, progress);
      return { url, fileName: name };
    },
    setup: (editor) => {
      editors.set(editor, new AbortController());
      editor.on('remove', () => {
        editors.get(editor)?.abort();
        editors.delete(editor);
      });
      editor.on('ExecCommand', ({ command }) => {
        if (command === 'mceUpdateImage') fillCaptions(editor, known);
      });
    },
  };
};
