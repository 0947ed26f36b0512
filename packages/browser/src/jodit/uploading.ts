import type { FileUploadData } from '../client/index.ts';
import { altOf, type KnownFiles, named } from '../picker/names.ts';
import { Service, trimmed } from '../picker/service.ts';
import type { Connection } from './connection.ts';
import type { Editor, UploadAnswer } from './editor.ts';
import type { Surface } from './surface.ts';

/** The text of a failure that the person has read already: Jodit shows none without a text. */
const failed = (message = ''): UploadAnswer => ({ success: false, data: { messages: [message] } });

const textIn = (form: FormData, name: string): string => {
  const value = form.get(name);
  return typeof value === 'string' ? value : '';
};

/** The connector as the options of the uploader have it: a page may have changed them. */
export const uploadService = ({ uploader }: Editor, { url, credentials }: Connection): Service => {
  const { url: own, headers, withCredentials } = uploader.options;
  return new Service({
    url: typeof own === 'string' ? own.replace(/\?.*$/u, '') : url,
    headers: headers ?? {},
    credentials: withCredentials === true ? 'include' : credentials,
  });
};

/** Each file under the address that Jodit makes of the answer. */
const remember = (known: KnownFiles, { baseurl, files, isImages, items }: FileUploadData): void =>
  items.forEach((item, index) => {
    const [url, isImage] = [`${baseurl}${files[index] ?? ''}`, isImages[index] === true];
    known.add({ ...item, path: trimmed(item.path), url, isImage, alt: altOf(item) });
  });

/**
 * Replaces the uploader's own sending (`customUploadFunction`): each file is shown with how far it is, can be
 * cancelled and sent again, goes in parts where that helps, and the answers of refusals are read as those of
 * successes.
 */
export const uploadVisibly = (
  { uploader: { options } }: Editor,
  service: Service,
  surface: Promise<Surface>,
  known: KnownFiles,
): void => {
  // The page may have a way of its own.
  if (options.customUploadFunction !== undefined) return;
  options.customUploadFunction = async (form) => {
    if (!(form instanceof FormData)) return failed();
    const { texts, uploads } = await surface;
    const folder = { source: textIn(form, 'source'), path: textIn(form, 'path') };
    const files = [...form.values()].filter((value) => value instanceof File);
    try {
      // Without a file the connector is asked to fetch one.
      if (files.length === 0) {
        const parameters = { ...folder, url: textIn(form, 'url') };
        const ending = new AbortController();
        const ended = uploads.wait(texts.sending.fetching, () => ending.abort());
        const { signal } = ending;
        const data = await service.client.fileUploadRemote(parameters, { signal }).finally(ended);
        return { success: true, data };
      }
      const stored = await uploads.store(files.map((file) => ({ file: named(file), ...folder })));
      const [first] = stored;
      if (first === undefined) return failed();
      for (const data of stored) remember(known, data);
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
