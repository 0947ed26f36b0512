import * as z from 'zod';
import { extensionOf } from '../basics/content/file-type.ts';
import { remoteFileName } from '../basics/network/target.ts';
import { storeStaged } from '../changes/carry-out.ts';
import { stageFile } from '../changes/incoming.ts';
import { checkUpload } from '../changes/new-name.ts';
import { outOfRoom, quotaOf, roomIn } from '../changes/quota.ts';
import type { UploadedFile } from '../changes/uploaded-file.ts';
import type { Settings } from '../config/settings.ts';
import { FileTooLargeError, RemoteFailedError } from '../errors/errors.ts';
import { addressField, pathField, sourceField } from '../parameters/fields.ts';
import { beginningOf } from '../pictures/picture-file.ts';
import type { SourcePath } from '../storage/source-path.ts';
import { forBoth } from '../view/rights.ts';
import type { SourceView } from '../view/source-view.ts';
import { type ActionContext, defineAction } from './action.ts';
import { uploadResponse, responseTypeField } from './editor-responses.ts';
import { uploadedItem, uploadedItemSchema, urlsOf } from './file-upload.ts';

const KEYS = ['FILE_UPLOAD_REMOTE', 'FILE_UPLOAD'] as const;

const PAGE_TYPE = /^\s*(?:text\/html|application\/xhtml\+xml)\b/iu;
const PAGE_EXTENSIONS: readonly (string | undefined)[] = ['html', 'htm', 'xhtml'];
const PAGE_HEAD_BYTES = 1024;
/** Short pages, such as one that only leads to a login, often leave out the outer elements. */
const PAGE = /<(?:!doctype\s+html|html)\b|^\s*<(?:head|meta|title|script|body|iframe)\b/iu;

/** Rejects a web page instead of a file: a login, or a page of GitHub or Dropbox that ends with its name. */
const requireFile = async ({ staged, filename }: UploadedFile, contentType = ''): Promise<void> => {
  if (!PAGE_TYPE.test(contentType) || PAGE_EXTENSIONS.includes(extensionOf(filename))) return;
  const head = await beginningOf(staged.open(), PAGE_HEAD_BYTES);
  // Servers also send other content under this type.
  if (PAGE.test(head.toString('latin1', 0, PAGE_HEAD_BYTES)))
    throw new RemoteFailedError('The address is that of a web page, not of a file.');
};

/** Fetches a file into the store, as a staged file without a name. */
export const fetchStaged = async (
  context: ActionContext,
  view: SourceView,
  { url, path: near }: { readonly url: string; readonly path: SourcePath },
  settings: Settings,
): Promise<UploadedFile> => {
  const { services, signal, holdSources } = context;
  const filename = remoteFileName(url);
  const { maxUploadFileSize, timeoutLimit, allowPrivateNetworkUploads } = settings;
  const wanted = { bytes: Infinity, signal };
  const room = await roomIn(services.quotas, quotaOf(view, holdSources), settings, wanted);
  try {
    const { stream, contentType } = await services.remote.fetch(url, {
      maxBytes: Math.min(maxUploadFileSize, room),
      timeoutMs: timeoutLimit * 1000,
      allowPrivate: allowPrivateNetworkUploads,
      signal,
    });
    const file = await stageFile(context, view, stream, { field: 'url', filename, near });
    try {
      await requireFile(file, contentType);
      return file;
    } catch (error) {
      await file.staged.discard();
      throw error;
    }
  } catch (error) {
    throw error instanceof FileTooLargeError && room < maxUploadFileSize ? outOfRoom(settings, room) : error;
  }
};

/** Fetches a file from another server. Its name, and whether it is allowed, are decided before. */
export const fileUploadRemoteAction = defineAction({
  name: 'fileUploadRemote',
  keys: forBoth(...KEYS),
  load: 'uploads',
  summary: 'Downloads a file from a public http or https address into a folder.',
  changes: true,
  editorResponses: 'upload',
  parameters: z.object({
    source: sourceField,
    path: pathField,
    url: addressField.describe('An http or https URL of a public host.'),
    responseType: responseTypeField,
  }),
  result: z.object({
    baseurl: z.string(),
    newfilename: z.string().describe('Path relative to the root of the source.'),
    isImage: z.boolean(),
    items: z.array(uploadedItemSchema).describe('The stored file.'),
  }),
  run: async (context, input) => {
    const view = await context.views.open(input.source);
    const { baseurl, settings } = view.source;
    const { path: folder, url } = input;
    await checkUpload(context, view, { folder, filename: remoteFileName(url), keys: KEYS });
    const files = [await fetchStaged(context, view, input, settings)];
    const change = { type: 'create', open: view, path: folder, files, keys: KEYS, isForm: false } as const;
    const stored = await storeStaged(context, change);
    const [path = folder] = stored.map((one) => one.path);
    const data = {
      baseurl,
      newfilename: path.toString(),
      isImage: settings.imageExtensions.includes(extensionOf(path.name) ?? ''),
      items: stored.map((one) => uploadedItem(context, view, one)),
    };
    return uploadResponse(input.responseType, data, () => urlsOf(context, view, stored[0]));
  },
});
