import { KnownFiles } from '../picker/names.ts';
import type { PickedFile } from '../picker/options.ts';
import { pickFiles } from '../picker/pick.ts';
import { createUploader, type UploaderOptions } from './upload.ts';

export interface ConnectOptions extends UploaderOptions {
  /** Called with the reason when a file was not stored; default: `alert`. */
  readonly onError?: ((message: string) => void) | undefined;
  /** Aborted when the editor is removed: closes the picker, and cancels uploads. Nothing more is inserted. */
  readonly signal?: AbortSignal | undefined;
}

/** Functions for the events and buttons of an editor. `At` is a position in the document. */
export interface ConnectedFiles<At> {
  /** Opens the picker, and inserts the picked files. */
  readonly browse: () => Promise<void>;
  /** Uploads files one after the other, and inserts those that were stored. */
  readonly store: (files: Iterable<Blob>, at?: At) => Promise<void>;
  /** Uploads files one after the other, and resolves to the results of `make` for those that were stored. */
  readonly uploadAll: <Made>(files: Iterable<Blob>, make: (file: PickedFile) => Made) => Promise<Made[]>;
  /** The size of a picture that was uploaded or picked; without values if unknown. */
  readonly sizeOf: (url: string) => Pick<PickedFile, 'width' | 'height'>;
}

/** Connects an editor that can insert files to a connector. By default only pictures, and several of them. */
export const connectFiles = <At = undefined>(
  given: ConnectOptions,
  insert: (files: readonly PickedFile[], at?: At) => unknown,
): ConnectedFiles<At> => {
  const options: ConnectOptions = { types: 'image', several: true, ...given };
  const { onError = (message) => alert(message), signal } = options;
  const upload = createUploader(options);
  const known = new KnownFiles();
  const take = (files: readonly PickedFile[], at?: At): void => {
    for (const file of files) known.add(file);
    if (files.length > 0 && signal?.aborted !== true) insert(files, at);
  };
  const uploadAll: ConnectedFiles<At>['uploadAll'] = async (files, make) => {
    const made = [];
    for (const file of files)
      try {
        const stored = await upload(file, { signal });
        known.add(stored);
        made.push(make(stored));
      } catch (error) {
        if (signal?.aborted === true) break;
        onError((error as Error).message);
      }
    return made;
  };
  return {
    browse: async () => take(await pickFiles(options, { signal })),
    store: async (files, at) => take(await uploadAll(files, (file) => file), at),
    uploadAll,
    sizeOf: (url) => {
      const { width, height } = known.of(url) ?? {};
      return { width, height };
    },
  };
};
