import { altOf, named } from '../picker/names.ts';
import { fullSrcset, type PickedFile, type PickerOptions } from '../picker/options.ts';
import { isAbort, Service, trimmed } from '../picker/service.ts';
import { languageFor, loadTexts } from '../picker/texts.ts';
import { uploadFile } from '../transfer/upload.ts';

/**
 * Destination of an editor's files, and options of the connector. `pickFiles` takes the same object. With
 * `types: 'image'` other files are rejected.
 */
export interface UploaderOptions extends PickerOptions {
  /** Name of the source for uploads; default: the first one of the connector. */
  readonly source?: string | undefined;
  /** The folder inside the source; default: its root. */
  readonly path?: string | undefined;
}

export interface UploadOptions {
  /** Aborts the upload. */
  readonly signal?: AbortSignal | undefined;
  /** Called with the number of bytes sent, and the total. */
  readonly onProgress?: ((sent: number, total: number) => void) | undefined;
}

/**
 * Stores a file, and resolves to its properties for a document. The limits of the connector are checked
 * before a byte is sent. Large files are sent in parts if the connector supports that.
 * @throws Error with a message for the user: that of the connector if it responded; the signal's reason
 */
export type Upload = (file: Blob, options?: UploadOptions) => Promise<PickedFile>;

/** Creates the upload function of an editor. Sends no request before its first call. */
export const createUploader = (options: UploaderOptions): Upload => {
  const { source = 'default', path = '' } = options;
  // Uploaders may be created during server-side rendering; the service needs the APIs of a browser.
  let known: Service | undefined;
  return async (blob, { signal = new AbortController().signal, onProgress } = {}) => {
    const language = languageFor(options.language);
    const service = (known ??= new Service({ ...options, language }));
    const texts = options.texts ?? (await loadTexts(language));
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
      const alt = altOf({ name: file.name, about: item.about });
      const stored = { ...item, path: trimmed(item.path), alt, isImage };
      // A listing has details that the response to an upload lacks: a link that fits the page, and smaller
      // variants.
      const { url = item.url, srcset } = (await service.find(stored).catch(() => undefined)) ?? {};
      return { ...stored, url, srcset: fullSrcset({ ...stored, url, srcset }) };
    } catch (error) {
      if (signal.aborted || isAbort(error)) throw error;
      throw new Error(service.messageOf(error, texts), { cause: error });
    }
  };
};
