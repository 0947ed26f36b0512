import * as z from 'zod';
import { extensionOf } from '../content/extension.ts';
import { addressField, pathField, sourceField } from '../parameters/fields.ts';
import { remoteFileName } from '../remote/remote-file-name.ts';
import type { StagedFile } from '../storage/adapter.ts';
import type { SourcePath } from '../storage/source-path.ts';
import { stageContent } from '../storage/staging.ts';
import { defineAction, forBoth, type ActionContext } from './action.ts';
import { answerFor, responseTypeField } from './editor-answers.ts';
import { FileTooLargeError } from '../errors/errors.ts';
import type { EditorAnswer } from './file-answer.ts';
import { keepThumbnail } from './incoming-picture.ts';
import { openSource, type OpenSource } from './open-source.ts';
import { outOfRoom, quotaOf, roomIn } from './room.ts';
import {
  checkUploadTarget,
  prepareUpload,
  reportUpload,
  storeUpload,
  type PlannedUpload,
  type StoredUpload,
} from './store-uploads.ts';
import { uploadedItem, uploadedItemSchema } from './uploaded-item.ts';

const KEYS = ['FILE_UPLOAD_REMOTE', 'FILE_UPLOAD'];

const parameters = z.object({
  source: sourceField,
  path: pathField,
  url: addressField.describe('An http or https URL whose host is public.'),
  responseType: responseTypeField,
});

type RemoteUploadParameters = z.output<typeof parameters>;

const result = z.object({
  baseurl: z.string(),
  newfilename: z.string().describe('Path relative to the root of the source.'),
  isImage: z.boolean(),
  items: z.array(uploadedItemSchema).describe('The one file.'),
});

/** Fetches the file into the store, where it waits without a name. */
const fetchStaged = async (
  { services, signal, holdSources }: ActionContext,
  open: OpenSource,
  { url, path }: RemoteUploadParameters,
): Promise<StagedFile> => {
  const { source, storage } = open;
  const { maxUploadFileSize, timeoutLimit, allowPrivateNetworkUploads } = source.settings;
  const wanted = { bytes: Infinity, signal };
  const room = await roomIn(services.quotas, quotaOf(open, holdSources), source.settings, wanted);
  try {
    const { stream } = await services.remote.fetch(url, {
      maxBytes: Math.min(maxUploadFileSize, room),
      timeoutMs: timeoutLimit * 1000,
      allowPrivate: allowPrivateNetworkUploads,
      signal,
    });
    return await stageContent(storage, stream, { near: path, signal });
  } catch (error) {
    throw error instanceof FileTooLargeError && room < maxUploadFileSize
      ? outOfRoom(source.settings, room)
      : error;
  }
};

const store = async (
  context: ActionContext,
  open: OpenSource,
  folder: SourcePath,
  planned: PlannedUpload,
): Promise<StoredUpload> => {
  const stored = await storeUpload(context, open, folder, planned);
  const { path, replaced } = stored;
  if (replaced) await context.services.thumbnails.changed({ source: open.source, path });
  await keepThumbnail(context, open, stored, stored.thumbnail);
  await reportUpload(context, open, stored);
  return stored;
};

const run = async (
  context: ActionContext,
  input: RemoteUploadParameters,
): Promise<z.output<typeof result> | EditorAnswer> => {
  const open = await openSource(context, input.source);
  const { source, storage } = open;
  const filename = remoteFileName(input.url);
  await checkUploadTarget(context, open, input.path, filename, KEYS);
  const staged = await fetchStaged(context, open, input);
  // Cleaning may stage other content than was fetched.
  const stagedFiles = [staged];
  try {
    const upload = { field: 'url', filename, staged, stagedIn: storage, near: input.path };
    const planned = await prepareUpload(context, open, input.path, upload);
    stagedFiles.push(planned.upload.staged);
    // Its content may have given it another extension.
    const { name } = planned;
    for (const key of KEYS) open.access.require(key, input.path.child(name), extensionOf(name));
    const stored = await store(context, open, input.path, planned);
    const { path } = stored;
    return answerFor(input.responseType, {
      baseurl: source.baseurl,
      newfilename: path.toString(),
      isImage: source.settings.imageExtensions.includes(extensionOf(path.name) ?? ''),
      items: [uploadedItem(context, open, stored)],
    });
  } finally {
    await Promise.all(stagedFiles.map((file) => file.discard()));
  }
};

/**
 * Fetches a file from another server into a folder. What it is called, and whether it may be, is decided
 * before.
 */
export const fileUploadRemoteAction = defineAction({
  name: 'fileUploadRemote',
  keys: forBoth(...KEYS),
  load: 'uploads',
  summary: 'Downloads a file from a public http or https address into a folder.',
  changes: true,
  answersEditors: true,
  parameters,
  result,
  run,
});
