import * as z from 'zod';
import { isFilesField, type UploadedFile } from '../changes/uploaded-file.ts';
import { choice } from '../parameters/fields.ts';
import type { SourceView } from '../view/source-view.ts';
import { EditorAnswer } from './file-answer.ts';

const editors = ['ckeditor', 'tinymce', 'editorjs', 'froala'] as const;

/** An editor whose simple upload reads answers of its own form. */
export type Editor = (typeof editors)[number];

/** `responseType`: which editor reads the answer; the envelope when absent. */
export const responseTypeField = choice(editors).describe(
  'Answers in the form that the simple upload of this editor reads, about the first file.',
);

/** The editor that `responseType` names, as far as it is known. */
export const editorOf = (responseType: unknown): Editor | undefined =>
  editors.find((editor) => editor === responseType);

/** Whether a form field holds a file as the simple uploads of editors name it. */
export const isEditorField = (field: string): boolean => /^(?:upload|file|image)(?:\[\d*\])?$/u.test(field);

/**
 * The uploaded files of a request, in the order of its form; files of other fields are ignored. With an
 * editor the fields of its simple upload count too.
 */
export const filesOf = (
  { uploads }: { readonly uploads: readonly UploadedFile[] },
  { source }: SourceView,
  editor?: Editor,
): readonly UploadedFile[] =>
  uploads.filter(
    ({ field }) => isFilesField(field, source) || (editor !== undefined && isEditorField(field)),
  );

/** What editors read of an uploaded file. */
interface Uploaded {
  readonly name: string;
  readonly url: string;
}

/** How an editor wants to be answered. */
interface EditorForm {
  readonly uploaded: (file: Uploaded) => object;
  readonly failed: (message: string) => object;
  /** The editor reads the message of a failure only under the status 200. */
  readonly readsOnly200?: boolean;
}

const forms: Readonly<Record<Editor, EditorForm>> = {
  // `uploaded` and `fileName` are for version 4, which reads no body but that of a 200; later ones read `url`
  // and `error` of any.
  ckeditor: {
    uploaded: ({ name, url }) => ({ uploaded: 1, fileName: name, url }),
    failed: (message) => ({ uploaded: 0, error: { message } }),
    readsOnly200: true,
  },
  // Shows the status of a failure, and nothing of its body.
  tinymce: {
    uploaded: ({ url }) => ({ location: url }),
    failed: (message) => ({ error: { message } }),
  },
  editorjs: {
    uploaded: ({ url }) => ({ success: 1, file: { url } }),
    failed: (message) => ({ success: 0, message }),
  },
  froala: {
    uploaded: ({ url }) => ({ link: url }),
    failed: (message) => ({ error: message }),
  },
};

/** What an editor reads of a successful upload. */
export const editorUploadSchema = z.union([
  z.object({ uploaded: z.literal(1), fileName: z.string(), url: z.string() }),
  z.object({ location: z.string() }),
  z.object({ success: z.literal(1), file: z.object({ url: z.string() }) }),
  z.object({ link: z.string() }),
]);

/** What an editor reads of a failed one. */
export const editorErrorSchema = z.union([
  z.object({ uploaded: z.literal(0), error: z.object({ message: z.string() }) }),
  z.object({ error: z.object({ message: z.string() }) }),
  z.object({ success: z.literal(0), message: z.string() }),
  z.object({ error: z.string() }),
]);

/** The answer about uploaded files: the data of the protocol, or what an editor reads. */
export const answerFor = <Data extends { readonly items: readonly Uploaded[] }>(
  editor: Editor | undefined,
  data: Data,
): Data | EditorAnswer => {
  const [item] = data.items;
  return editor === undefined || item === undefined ? data : new EditorAnswer(forms[editor].uploaded(item));
};

/** The answer about a failure with this status. */
export const editorFailure = (
  editor: Editor,
  status: number,
  messages: readonly string[],
): { readonly status: number; readonly body: object } => {
  const { failed, readsOnly200 = false } = forms[editor];
  return { status: readsOnly200 ? 200 : status, body: failed(messages.join(' ')) };
};
