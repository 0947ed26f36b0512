import { pickFiles } from '../picker/pick.ts';
import { createUploader, type UploaderOptions } from './upload.ts';

/** What TinyMCE hands to an upload handler. */
interface BlobInfo {
  readonly blob: () => Blob;
  readonly filename: () => string;
  readonly blobUri: () => string;
}

interface Editor {
  readonly getBody: () => HTMLElement;
  readonly on: (name: 'remove', listener: () => void) => unknown;
}

type Progress = (percent: number) => void;
type Picked = (url: string, attributes: Readonly<Record<string, string>>) => void;

/** The options of TinyMCE that `tinymceFiles` sets. */
export interface TinymceFiles {
  readonly convert_urls: false;
  readonly file_picker_types: string;
  readonly file_picker_callback: (
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

/** A pasted picture has its file; one that TinyMCE has changed only bytes, under the old name. */
const fileOf = (info: BlobInfo): Blob => {
  const blob = info.blob();
  return 'name' in blob ? blob : new File([blob], info.filename(), { type: blob.type });
};

const attributesOf = (values: Readonly<Record<string, string | number | undefined>>) =>
  Object.fromEntries(
    Object.entries(values).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]])),
  );

/**
 * Options for `tinymce.init`: pictures that are pasted, dropped or chosen are uploaded, the buttons beside the
 * fields of its dialogs open the picker, and links stay as they are on every page. A `setup` of your own must
 * call the one of these options too.
 */
export const tinymceFiles = (options: UploaderOptions): TinymceFiles => {
  const upload = createUploader(options);
  const editors = new Set<Editor>();

  const store = async (info: BlobInfo, progress: Progress) => {
    try {
      return await upload(fileOf(info), {
        onProgress: (sent, total) => progress(Math.round((100 * sent) / Math.max(1, total))),
      });
    } catch (error) {
      // TinyMCE shows `message`, and takes the picture out of the text.
      throw Object.assign(error as Error, { remove: true });
    }
  };

  return {
    convert_urls: false,
    file_picker_types: 'file image media',
    file_picker_callback: (picked, _value, { filetype }) => {
      const types = filetype === 'image' ? 'image' : undefined;
      void pickFiles({ ...options, types, several: false }).then(([file]) => {
        if (file === undefined) return;
        const { name, alt, width, height } = file;
        picked(file.url, attributesOf(filetype === 'file' ? { text: name } : { alt, width, height }));
      });
    },
    images_upload_handler: async (info, progress) => {
      const { url, alt, srcset } = await store(info, progress);
      // TinyMCE replaces the address alone.
      for (const editor of editors)
        for (const image of editor.getBody().querySelectorAll('img')) {
          if (image.src !== info.blobUri()) continue;
          if (!image.hasAttribute('alt')) image.alt = alt;
          if (srcset !== undefined) image.srcset = srcset;
        }
      return url;
    },
    files_upload_handler: async (info, progress) => {
      const { url, name } = await store(info, progress);
      return { url, fileName: name };
    },
    setup: (editor) => {
      editors.add(editor);
      editor.on('remove', () => editors.delete(editor));
    },
  };
};
