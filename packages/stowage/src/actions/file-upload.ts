import * as z from 'zod';
import { InvalidParametersError } from '../errors/errors.ts';
import { pathField, sourceField } from '../parameters/fields.ts';
import { type ActionContext, defineAction } from './action.ts';
import { answerFor, filesOf, responseTypeField } from './editor-answers.ts';
import type { EditorAnswer } from './file-answer.ts';
import type { SourceView } from '../view/source-view.ts';
import { carryOut } from '../changes/carry-out.ts';
import type { Stored } from '../changes/change.ts';
import type { UploadedFile } from '../changes/uploaded-file.ts';
import { type UploadAnswer, uploadAnswer, uploadAnswerSchema } from './uploaded-item.ts';

const parameters = z.object({
  source: sourceField,
  path: pathField,
  responseType: responseTypeField,
  // Not a parameter of this action, but of fileUploadRemote: it gives a request away that came here by
  // mistake.
  url: z.unknown().optional().meta({ sent: false }),
});

type UploadParameters = z.output<typeof parameters>;

// The Jodit client asks for a remote upload at the uploader's URL with the action in the form, where the
// URL's own action wins.
const MEANT_REMOTE =
  'This is the URL of file uploads. For remote files take the action out of uploader.url and put it into ' +
  'uploader.data.';

const noFiles = (otherField: string | undefined): string =>
  otherField === undefined
    ? 'No files were sent.'
    : `No files were sent: the field "${otherField.slice(0, 100)}" is not one for uploads. Use "files[]".`;

/** @throws InvalidParametersError when the form holds no files */
const requireFiles = (
  context: ActionContext,
  view: SourceView,
  { url, responseType }: UploadParameters,
): readonly UploadedFile[] => {
  const files = filesOf(context, view, responseType);
  if (files.length > 0) return files;
  throw new InvalidParametersError({
    message: url === undefined ? noFiles(context.otherField) : MEANT_REMOTE,
    details: { parameters: 'files' },
  });
};

/** What the answer says of a stored file. */
const messageOf = ({ path, isReduced }: Stored): string =>
  `The file "${path.name}" was uploaded.` +
  (isReduced === true
    ? ' Scripts, references or other parts that are not allowed in drawings were removed from it.'
    : '');

const run = async (context: ActionContext, input: UploadParameters): Promise<UploadAnswer | EditorAnswer> => {
  const view = await context.views.open(input.source);
  const files = requireFiles(context, view, input);
  const stored = await carryOut(context, {
    type: 'create',
    open: view,
    path: input.path,
    files,
    keys: ['FILE_UPLOAD'],
    isForm: true,
  });
  return answerFor(input.responseType, uploadAnswer(context, view, stored, messageOf));
};

/** Stores uploaded files: all are checked before the first is stored. */
export const fileUploadAction = defineAction({
  name: 'fileUpload',
  load: 'uploads',
  summary: 'Stores the files of a multipart form in a folder.',
  changes: true,
  takesFiles: true,
  answersEditors: true,
  parameters,
  result: uploadAnswerSchema,
  run,
});
