import type { PickedFile } from '../picker/options.ts';
import { pickFiles } from '../picker/pick.ts';
import { englishTexts } from '../picker/texts.ts';
import { createUploader, type Upload, type UploaderOptions } from './upload.ts';

interface Button {
  set(values: Readonly<Record<string, unknown>>): void;
  on(event: 'execute', listener: () => void): void;
}

export interface CkeditorFilesOptions<Locale> extends UploaderOptions {
  /** CKEditor's button class, for the button `browseFiles`; without it there is no such button. */
  readonly ButtonView?: (new (locale: Locale) => Button) | undefined;
}

/** The used part of an editor. */
interface Editor<Locale> {
  readonly plugins: { has(name: string): boolean; get(name: string): object };
  readonly commands: { get(name: string): unknown };
  readonly model: {
    readonly schema: { checkChild(parent: object, child: string): boolean };
    readonly document: { readonly selection: { getSelectedElement(): object | null } };
    change(run: (writer: Writer) => void): unknown;
    insertContent(content: object): unknown;
  };
  readonly editing: { readonly view: { focus(): void } };
  readonly ui: {
    readonly componentFactory: { add(name: string, create: (locale: Locale) => Button): void };
  };
  execute(command: string, parameters: object): unknown;
}

interface Writer {
  createText(text: string, attributes?: Readonly<Record<string, unknown>>): object;
  createElement(name: 'caption'): object;
  append(child: object, parent: object): void;
  setAttributes(attributes: Readonly<Record<string, unknown>>, element: object): void;
}

interface FileRepository {
  /** Those that have not ended. */
  readonly loaders: Iterable<Loader>;
  createUploadAdapter?: (loader: Loader) => object;
}

interface Loader {
  readonly file: Promise<File | null>;
  uploaded: number;
  uploadTotal: number | null;
  abort(): void;
}

interface ImageUploads {
  on(
    event: 'uploadComplete',
    listener: (
      event: object,
      upload: { readonly data: { readonly stowage?: PickedFile }; readonly imageElement: object },
    ) => void,
  ): void;
}

/** A plug-in for the list `plugins` of an editor's configuration. */
export type CkeditorPlugin<Locale> = new (editor: Editor<Locale>) => {
  readonly init: () => void;
  readonly destroy: () => void;
};

const ICON = '<svg viewBox="0 0 20 20"><path d="M2 3h6l2 2h8v12H2zm1.5 1.5v11h13v-9h-7l-2-2z"/></svg>';

/** The attributes of a picture in CKEditor's model, without its addresses. */
const attributesOf = ({ alt, width, height }: PickedFile): Readonly<Record<string, unknown>> =>
  width === undefined || height === undefined ? { alt } : { alt, width, height };

/** Only block pictures have a caption, and only with the plug-in `ImageCaption`. */
const addCaption = <Locale>({ model }: Editor<Locale>, image: object, { about }: PickedFile): void => {
  const { caption = '' } = about ?? {};
  if (caption === '' || !model.schema.checkChild(image, 'caption')) return;
  model.change((writer) => {
    const element = writer.createElement('caption');
    writer.append(writer.createText(caption), element);
    writer.append(element, image);
  });
};

/** `/a.webp 480w, /b.webp 960w` as `{ 480: '/a.webp', 960: '/b.webp' }`. */
const byWidth = (srcset = ''): Readonly<Record<string, string>> =>
  Object.fromEntries([...srcset.matchAll(/(\S+) (\d+)w/gu)].map(([, url = '', width = '']) => [width, url]));

const adapterOf = (upload: Upload, loader: Loader): object => {
  const ending = new AbortController();
  return {
    upload: async () => {
      const file = await loader.file;
      if (file === null) return {};
      try {
        const stowage = await upload(file, {
          signal: ending.signal,
          onProgress: (sent, total) => {
            loader.uploadTotal = total;
            loader.uploaded = sent;
          },
        });
        return { default: stowage.url, ...byWidth(stowage.srcset), stowage };
      } catch (error) {
        // CKEditor shows a thrown string as the message.
        // oxlint-disable-next-line typescript/only-throw-error
        throw (error as Error).message;
      }
    },
    abort: () => ending.abort(),
  };
};

/**
 * A plug-in of CKEditor 5 that uploads pasted, dropped and chosen pictures, with their alternative text, size
 * and smaller variants. With `ButtonView` it adds the button `browseFiles` for the toolbar, which inserts
 * picked files: pictures, and links to other files if the editor supports links.
 */
export const ckeditorFiles = <Locale>(options: CkeditorFilesOptions<Locale>): CkeditorPlugin<Locale> => {
  const { ButtonView, texts = englishTexts } = options;
  const upload = createUploader(options);

  const browse = async (editor: Editor<Locale>, signal: AbortSignal): Promise<void> => {
    const types = editor.commands.get('link') === undefined ? 'image' : undefined;
    const files = await pickFiles({ types, several: true, ...options }, { signal });
    if (signal.aborted) return;
    for (const file of files) {
      const { url: src, name, srcset } = file;
      if (file.isImage) {
        editor.execute('insertImage', { source: { src, ...(srcset && { srcset }), ...attributesOf(file) } });
        const image = editor.model.document.selection.getSelectedElement();
        if (image !== null) addCaption(editor, image, file);
      } else
        editor.model.change((writer) => {
          editor.model.insertContent(writer.createText(name, { linkHref: src }));
        });
    }
    editor.editing.view.focus();
  };

  return class {
    readonly #editor: Editor<Locale>;
    readonly #ending = new AbortController();
    #repository: FileRepository | undefined;

    constructor(editor: Editor<Locale>) {
      this.#editor = editor;
    }

    init(): void {
      const editor = this.#editor;
      if (ButtonView !== undefined)
        editor.ui.componentFactory.add('browseFiles', (locale) => {
          const button = new ButtonView(locale);
          button.set({ label: texts.title, icon: ICON, tooltip: true });
          button.on('execute', () => void browse(editor, this.#ending.signal));
          return button;
        });
      if (!editor.plugins.has('ImageUploadEditing')) return;
      const repository = (this.#repository = editor.plugins.get('FileRepository') as FileRepository);
      repository.createUploadAdapter = (loader) => adapterOf(upload, loader);
      const uploads = editor.plugins.get('ImageUploadEditing') as ImageUploads;
      uploads.on('uploadComplete', (_event, { data: { stowage }, imageElement }) => {
        if (stowage === undefined) return;
        editor.model.change((writer) => writer.setAttributes(attributesOf(stowage), imageElement));
        addCaption(editor, imageElement, stowage);
      });
    }

    destroy(): void {
      this.#ending.abort();
      // CKEditor itself lets them continue.
      for (const loader of this.#repository?.loaders ?? []) loader.abort();
    }
  };
};
