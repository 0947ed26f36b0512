import { altOf, named } from '../picker/names.ts';
import { fullSrcset, type PickedFile, type PickerOptions } from '../picker/options.ts';
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

/** Makes the function that stores files for an editor. Nothing is asked of the connector before its first call. */
export const createUploader = (options: UploaderOptions): Upload => {
  const { source = 'default', path = '' } = options;
  // Servers that render pages make uploaders too; only pages have what this needs.
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
      // A listing says what the answer to an upload does not: a link that fits the page, and smaller variants.
      const { url = item.url, srcset } = (await service.find(stored).catch(() => undefined)) ?? {};
      return { ...stored, url, srcset: fullSrcset({ ...stored, url, srcset }) };
    } catch (error) {
      if (signal.aborted || isAbort(error)) throw error;
      throw new Error(service.messageOf(error, texts), { cause: error });
    }
  };
};
