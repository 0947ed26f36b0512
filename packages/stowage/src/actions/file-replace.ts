import * as z from 'zod';
import { remoteFileName } from '../basics/network/target.ts';
import { storeStaged } from '../changes/carry-out.ts';
import type { UploadKeys } from '../changes/change.ts';
import { requireSameType } from '../changes/new-name.ts';
import { addressField, invalidParameter, itemShape } from '../parameters/fields.ts';
import { forBoth } from '../view/rights.ts';
import type { SourceView } from '../view/source-view.ts';
import { type ActionContext, defineAction } from './action.ts';
import { filesOf } from './editor-responses.ts';
import { fetchStaged } from './file-upload-remote.ts';
import { storedFilesOf, storedFilesSchema } from './file-upload.ts';

const KEYS: UploadKeys = ['FILE_REPLACE', 'FILE_REMOVE', 'FILE_UPLOAD'];

const parameters = z.object({
  ...itemShape,
  url: addressField.optional().describe('An http or https URL of a public host, instead of a file.'),
});

type ReplaceParameters = z.output<typeof parameters>;

/** The file of the form; undefined where a URL is given. @throws InvalidParametersError */
const fileOf = (context: ActionContext, view: SourceView, { url }: ReplaceParameters) => {
  const [file, another] = filesOf(context, view);
  if (file === undefined && url === undefined) throw invalidParameter('files', 'No file was sent.');
  if (file !== undefined && url !== undefined)
    throw invalidParameter('url', 'must not be given together with files');
  if (another !== undefined) throw invalidParameter('files', 'must be given only once');
  return file;
};

/** Replaces the content of a file by content of its type, from a form or URL; name and link stay. */
export const fileReplaceAction = defineAction({
  name: 'fileReplace',
  keys: forBoth(...KEYS),
  load: 'uploads',
  summary: 'Replaces the content of a file by a file of the same type. The name stays.',
  methods: ['POST'],
  changes: true,
  takesFiles: true,
  filesAreOptional: true,
  parameters,
  result: storedFilesSchema,
  run: async (context, input) => {
    const view = await context.views.open(input.source);
    const path = input.path.child(input.name);
    const keys: UploadKeys = input.url === undefined ? KEYS : ['FILE_UPLOAD_REMOTE', ...KEYS];
    view.require(keys, path, 'file');
    const sent = fileOf(context, view, input);
    await view.find('FILE_REPLACE', path, 'file');
    const { url = '' } = input;
    // Checked before anything is fetched.
    if (sent === undefined) requireSameType(path, remoteFileName(url));
    // The upload replaces the existing file.
    const settings = { ...view.source.settings, saveSameFileNameStrategy: 'replace' as const };
    const file = sent ?? (await fetchStaged(context, view, { url, path: input.path }, settings));
    const stored = await storeStaged(context, { type: 'replace', open: view, path, file, keys });
    return storedFilesOf(context, view, stored, (one) => `The file "${one.path.name}" was replaced.`);
  },
});
