import type { Source } from '../sources/source.ts';
import type { ActionContext } from './action.ts';
import type { OpenSource } from './open-source.ts';
import type { UploadedFile } from './uploaded-file.ts';

/** Whether a form field holds uploads: `files`, `files[]`, `files[0]`, or the source's own field name. */
export const isFilesField = (field: string, { settings }: Source): boolean =>
  field === settings.defaultFilesKey || /^files(?:\[\d*\])?$/u.test(field);

/** The uploaded files of a request, in the order of its form; files of other fields are ignored. */
export const filesOf = ({ uploads }: ActionContext, { source }: OpenSource): readonly UploadedFile[] =>
  uploads.filter(({ field }) => isFilesField(field, source));
