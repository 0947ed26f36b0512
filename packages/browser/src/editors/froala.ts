import type { PickedFile } from '../picker/options.ts';
import { pickFiles } from '../picker/pick.ts';
import { englishTexts } from '../picker/texts.ts';
import { createUploader, type UploaderOptions } from './upload.ts';

/** A picture in the text, in Froala's wrapper. */
interface Wrapped {
  remove(): void;
  get(index: 0): HTMLImageElement;
}

/** The used part of an editor. */
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

/** The used part of the class `FroalaEditor`. */
interface Froala {
  RegisterCommand(
    name: string,
    command: { title: string; icon: string; callback: (this: Editor) => void },
  ): void;
}

export interface FroalaFilesOptions extends UploaderOptions {
  /** Froala's class, which gets the command `browseFiles`; without it there is no such button. */
  readonly FroalaEditor?: Froala | undefined;
  /** Called with the reason when a file was not stored; default: `alert`. */
  readonly onError?: ((message: string) => void) | undefined;
}

/** The options of Froala that `froalaFiles` sets. */
export interface FroalaFiles {
  readonly imageDefaultWidth: 0;
  readonly imageManagerLoadURL: string;
  readonly imageManagerLoadMethod: 'POST';
  readonly events: {
    readonly initialized: (this: Editor) => void;
    readonly 'image.beforeUpload': (this: Editor, files: readonly Blob[], image?: Wrapped) => false;
    readonly 'image.inserted': (this: Editor, image: object, file: unknown) => void;
    readonly 'image.replaced': (this: Editor, image: object, file: unknown) => void;
  };
}

/** Aborted when the editor is destroyed. */
const endOf = ({ events }: Editor): AbortSignal => {
  const ending = new AbortController();
  events.on('destroy', () => ending.abort(), false);
  return ending.signal;
};

/** Resolves when Froala has inserted the picture, which it does when the picture has loaded. */
const insert = (editor: Editor, file: PickedFile, replaced?: Wrapped): Promise<void> =>
  new Promise((resolve) => {
    const { url, alt, width, height } = file;
    for (const end of ['image.inserted', 'image.replaced', 'image.error'])
      editor.events.on(end, () => resolve(), false);
    editor.image.insert(url, false, { alt, width, height }, replaced, file);
  });

/** Froala passes the inserted value on; for its own uploads and other pictures it is of another type. */
const addCaption = function (this: Editor, given: object, file: unknown): void {
  const { caption = '' } = (file as Partial<PickedFile> | undefined)?.about ?? {};
  if (caption === '') return;
  // In Froala's types it is an object.
  const image = given as Wrapped;
  this.image.edit(image);
  this.image.toggleCaption();
  image.get(0).closest('.fr-img-caption')?.querySelector('.fr-inner')?.replaceChildren(caption);
};

/**
 * Options for `new FroalaEditor`: pasted, dropped and chosen pictures are uploaded, with their alternative
 * text and size, and the image manager lists the folder of the uploads. With `FroalaEditor` there is a button
 * `browseFiles` for the toolbar, which opens the picker. Add your own events to the same `events` object.
 */
export const froalaFiles = (options: FroalaFilesOptions): FroalaFiles => {
  const { FroalaEditor, texts = englishTexts, onError = (message) => alert(message), source, path } = options;
  const upload = createUploader({ ...options, types: 'image' });
  const storeAll = async (editor: Editor, files: readonly Blob[], image?: Wrapped): Promise<void> => {
    const signal = endOf(editor);
    const stored: PickedFile[] = [];
    for (const file of files)
      try {
        stored.unshift(await upload(file, { signal }));
      } catch (error) {
        if (signal.aborted) return;
        image?.remove();
        editor.image.hideProgressBar(true);
        onError((error as Error).message);
      }
    // The cursor stays in front of an inserted picture.
    for (const file of stored) if (!signal.aborted) await insert(editor, file, image);
  };
  const store = (editor: Editor, files: readonly Blob[], image?: Wrapped): false => {
    void storeAll(editor, files, image);
    return false;
  };

  FroalaEditor?.RegisterCommand('browseFiles', {
    title: texts.title,
    icon: 'imageManager',
    callback() {
      const signal = endOf(this);
      void pickFiles({ ...options, types: 'image', several: false }, { signal }).then((files) => {
        for (const file of files) void insert(this, file);
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
    // Froala's default is GET, which a connector with `onlyPOST` rejects.
    imageManagerLoadMethod: 'POST',
    imageManagerLoadURL: `${String(options.url).replace(/\/+$/u, '')}/files?${folder.toString()}`,
    events: {
      initialized() {
        const paste = ({ clipboardData }: ClipboardEvent): boolean => {
          const { files = [], types = [] } = clipboardData ?? {};
          return files.length === 0 || types.includes('text/html') || store(this, [...files]);
        };
        // Froala discards the name of a pasted file.
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
