import { altOf, fullSrcset, type PickedFile, type PickerOptions } from '../picker/options.ts';
import { isAbort, Service, trimmed } from '../picker/service.ts';
import { languageFor, loadTexts } from '../picker/texts.ts';
import { uploadFile } from '../transfer/upload.ts';

/** Where an editor's files go, and how the connector is reached. `pickFiles` takes the same object. */
export interface UploaderOptions extends PickerOptions {
  /** Name of the source that takes the files; the first one of the connector when absent. */
  readonly source?: string | undefined;
  /** The folder inside the source; its root when absent. */
  readonly path?: string | undefined;
}

export interface UploadOptions {
  /** Ends the upload. */
  readonly signal?: AbortSignal | undefined;
  /** Told how many bytes of the file have left, and of how many. */
  readonly onProgress?: ((sent: number, total: number) => void) | undefined;
}

/**
 * Stores a file, and resolves to what a document needs of it. The limits of the connector are checked before a
 * byte is sent. Large files go in parts where the connector takes parts.
 * @throws Error with a message for the person in front of the editor: that of the connector, where it has
 * answered; the signal's reason
 */
export type Upload = (file: Blob, options?: UploadOptions) => Promise<PickedFile>;

/** What programs call a picture that was pasted. */
const NAMELESS =
  /^(?:blob|blobid|clipboard|file|image|imagetools|mceclip|undefined|unnamed|untitled)?[-_ ]?\d*$/iu;

const EXTENSIONS: Readonly<Record<string, string>> = { jpeg: 'jpg', plain: 'txt', 'svg+xml': 'svg' };

/** The file under a name that says something: a pasted `image.png` or `blobid0.png` becomes `image-2026-11-23.png`. */
const named = (file: Blob): File => {
  // A file that was pasted into a frame is a File of that frame.
  const { name = '' } = file as Partial<File>;
  const [, stem = '', extension] = /^(.*?)(?:\.([^.]*))?$/su.exec(name) ?? [];
  if (!NAMELESS.test(stem)) return file as File;
  const [kind = '', subtype = ''] = file.type.split(';', 1)[0]?.split('/') ?? [];
  const now = new Date();
  const day = [now.getFullYear(), now.getMonth() + 1, now.getDate()].map((part) =>
    String(part).padStart(2, '0'),
  );
  const ending = extension ?? EXTENSIONS[subtype] ?? subtype;
  const given = [kind === 'image' ? 'image' : 'file', ...day].join('-');
  return new File([file], ending === '' ? given : `${given}.${ending}`, { type: file.type });
};

/** Makes the function that stores files for an editor. Nothing is asked of the connector before its first call. */
export const createUploader = (options: UploaderOptions): Upload => {
  const { source = 'default', path = '', language } = options;
  // Servers that render pages make uploaders too; only pages have what this needs.
  let known: Service | undefined;
  return async (blob, { signal = new AbortController().signal, onProgress } = {}) => {
    const service = (known ??= new Service(options));
    const texts = options.texts ?? (await loadTexts(languageFor(language)));
    const file = named(blob);
    const { limits } = await service.rightsIn({ source, path });
    const obstacle = service.obstacleTo(file, limits, texts);
    if (obstacle !== undefined) throw new Error(obstacle);
    try {
      const { items } = await uploadFile(service.reach, {
        ...{ file, source, path, limits, signal },
        onProgress: (sent) => onProgress?.(sent, file.size),
      });
      if (limits?.bytesLeft !== undefined) service.forgetRights();
      const [item] = items;
      if (item === undefined) throw new Error(texts.trouble.noAnswer);
      const isImage = item.mime.startsWith('image/');
      const stored = {
        ...item,
        path: trimmed(item.path),
        alt: altOf({ name: file === blob ? file.name : '', about: item.about }),
        isImage,
      };
      // A listing says what the answer to an upload does not: a link that fits the page, and smaller variants.
      const { url = item.url, srcset } = (await service.find(stored).catch(() => undefined)) ?? {};
      return { ...stored, url, srcset: fullSrcset({ ...stored, url, srcset }) };
    } catch (error) {
      if (signal.aborted || isAbort(error)) throw error;
      throw new Error(service.messageOf(error, texts), { cause: error });
    }
  };
};
