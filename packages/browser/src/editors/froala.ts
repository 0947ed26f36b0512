import type { PickedFile } from '../picker/options.ts';
import { pickFiles } from '../picker/pick.ts';
import { englishTexts } from '../picker/texts.ts';
import { createUploader, type UploaderOptions } from './upload.ts';

/** A picture in the text, as Froala wraps it. */
interface Wrapped {
  remove(): void;
  get(index: 0): HTMLImageElement;
}

/** What is used here of an editor. */
interface Editor {
  readonly image: {
    insert(url: string, sanitize: boolean, attributes: object, replaced?: Wrapped, file?: PickedFile): void;
    edit(image: Wrapped): void;
    toggleCaption(): void;
    hideProgressBar(dismiss: boolean): void;
  };
  readonly events: {
    on(name: string, listener: (event: ClipboardEvent) => unknown, first: boolean): void;
  };
}

/** What is used here of the class `FroalaEditor`. */
interface Froala {
  RegisterCommand(
    name: string,
    command: { title: string; icon: string; callback: (this: Editor) => void },
  ): void;
}

export interface FroalaFilesOptions extends UploaderOptions {
  /** The class of Froala, which gets the command `browseFiles`; without it there is no such button. */
  readonly FroalaEditor?: Froala | undefined;
  /** Told why a file was not stored; `alert` when absent. */
  readonly onError?: ((message: string) => void) | undefined;
}

/** The options of Froala that `froalaFiles` sets. */
export interface FroalaFiles {
  readonly imageDefaultWidth: 0;
  readonly imageManagerLoadURL: string;
  readonly events: {
    readonly initialized: (this: Editor) => void;
    readonly 'image.beforeUpload': (this: Editor, files: readonly Blob[], image?: Wrapped) => false;
    readonly 'image.inserted': (this: Editor, image: Wrapped, file: unknown) => void;
    readonly 'image.replaced': (this: Editor, image: Wrapped, file: unknown) => void;
  };
}

const insert = (editor: Editor, file: PickedFile, replaced?: Wrapped): void => {
  const { url, alt, width, height } = file;
  editor.image.insert(url, false, { alt, width, height }, replaced, file);
};

/** Froala hands on what was inserted; what it has uploaded or was given by itself is of another kind. */
const addCaption = function (this: Editor, image: Wrapped, file: unknown): void {
  const { caption = '' } = (file as Partial<PickedFile> | undefined)?.about ?? {};
  if (caption === '') return;
  this.image.edit(image);
  this.image.toggleCaption();
  image.get(0).closest('.fr-img-caption')?.querySelector('.fr-inner')?.replaceChildren(caption);
};

/**
 * Options for `new FroalaEditor`: pictures that are pasted, dropped or chosen are uploaded, with their text and
 * size, and the image manager lists the folder of the uploads. With `FroalaEditor` there is a button
 * `browseFiles` for the toolbar, which opens the picker. Events of your own belong into the same object
 * `events`.
 */
export const froalaFiles = (options: FroalaFilesOptions): FroalaFiles => {
  const { FroalaEditor, texts = englishTexts, onError = (message) => alert(message), source, path } = options;
  const upload = createUploader(options);
  const store = (editor: Editor, [file]: readonly Blob[], image?: Wrapped): false => {
    if (file !== undefined)
      void upload(file).then(
        (stored) => insert(editor, stored, image),
        (error: unknown) => {
          image?.remove();
          editor.image.hideProgressBar(true);
          onError((error as Error).message);
        },
      );
    return false;
  };

  FroalaEditor?.RegisterCommand('browseFiles', {
    title: texts.title,
    icon: 'imageManager',
    callback() {
      const ending = new AbortController();
      this.events.on('destroy', () => ending.abort(), false);
      const { signal } = ending;
      void pickFiles({ ...options, types: 'image', several: false }, { signal }).then((files) => {
        for (const file of files) insert(this, file);
      });
    },
  });
  const folder = new URLSearchParams({
    responseType: 'froala',
    ...(source && { source }),
    ...(path && { path }),
  });
  return {
    imageDefaultWidth: 0,
    imageManagerLoadURL: `${String(options.url).replace(/\/+$/u, '')}/files?${folder.toString()}`,
    events: {
      initialized() {
        const paste = ({ clipboardData }: ClipboardEvent): boolean => {
          const { files = [], types = [] } = clipboardData ?? {};
          return files.length === 0 || types.includes('text/html') || store(this, [...files]);
        };
        // Froala drops the name of a pasted file.
        this.events.on('paste.before', paste, true);
      },
      'image.beforeUpload'(files, image) {
        return store(this, files, image);
      },
      'image.inserted': addCaption,
      'image.replaced': addCaption,
    },
  };
};
