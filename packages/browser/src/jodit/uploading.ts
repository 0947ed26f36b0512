import type { FileUploadData } from '../client/index.ts';
import { altOf, type KnownFiles, named } from '../picker/names.ts';
import { Service, trimmed } from '../picker/service.ts';
import type { Connection } from './connection.ts';
import type { PickedFile } from '../picker/options.ts';
import { insertPicked } from './browse.ts';
import type { Editor, UploadAnswer, Uploader } from './editor.ts';
import type { Surface } from './surface.ts';

/** A failure that was already shown to the user: Jodit shows no empty messages. */
const failed = (message = ''): UploadAnswer => ({ success: false, data: { messages: [message] } });

/**
 * A text of the form, the last of several: Jodit appends `data` of the page, which may name the folder, behind
 * its own fields. With a URL it sends no `data`.
 */
const textIn = (form: FormData, name: string, { data }: Uploader['options']): string => {
  const value = form.getAll(name).at(-1) ?? data?.[name];
  return typeof value === 'string' ? value : '';
};

/** The connector according to the options of the uploader, which a page may have changed. */
export const uploadService = ({ uploader }: Editor, { url, credentials }: Connection): Service => {
  const { url: own, headers, withCredentials } = uploader.options;
  return new Service({
    url: typeof own === 'string' ? own.replace(/\?.*$/u, '') : url,
    headers: headers ?? {},
    credentials: withCredentials === true ? 'include' : credentials,
  });
};

/** Remembers each file under the address that Jodit derives from the response, and returns the files. */
const remember = (
  known: KnownFiles,
  { baseurl, files, isImages, items }: FileUploadData,
): readonly PickedFile[] =>
  items.map((item, index) => {
    const [url, isImage] = [`${baseurl}${files[index] ?? ''}`, isImages[index] === true];
    const file = { ...item, path: trimmed(item.path), url, isImage, alt: altOf(item) };
    known.add(file);
    return file;
  });

/**
 * Replaces the uploader's own sending (`customUploadFunction`): shows the progress of each file, which can be
 * cancelled and retried, sends large files in parts, and reads rejections like successes.
 */
export const uploadVisibly = (
  editor: Editor,
  service: Service,
  surface: Promise<Surface>,
  known: KnownFiles,
): void => {
  const { options } = editor.uploader;
  // The page may have its own function.
  if (options.customUploadFunction !== undefined) return;
  options.customUploadFunction = async (form) => {
    if (!(form instanceof FormData)) return failed();
    const { texts, uploads, holdFocus } = await surface;
    const folder = { source: textIn(form, 'source', options), path: textIn(form, 'path', options) };
    const files = [...form.values()].filter((value) => value instanceof File);
    try {
      // A form without files asks the connector to fetch a URL.
      if (files.length === 0) {
        const parameters = { ...folder, url: textIn(form, 'url', options) };
        const ending = new AbortController();
        const ended = uploads.wait(texts.sending.fetching, () => ending.abort());
        const { signal } = ending;
        const data = await service.client.fileUploadRemote(parameters, { signal }).finally(ended);
        return { success: true, data };
      }
      const wanted = files.map((file) => ({ file: named(file), ...folder }));
      const stored = await uploads.store(wanted, (data) => {
        const giveBack = holdFocus();
        insertPicked(editor, remember(known, data));
        giveBack();
      });
      const [first] = stored;
      if (first === undefined) return failed();
      for (const data of stored) remember(known, data);
      // Jodit inserts them before the next task.
      setTimeout(holdFocus());
      return {
        success: true,
        data: {
          ...first,
          files: stored.flatMap((data) => data.files),
          isImages: stored.flatMap(({ isImages }) => isImages),
        },
      };
    } catch (error) {
      return failed(service.messageOf(error, texts));
    }
  };
};
