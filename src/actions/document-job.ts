import { textField } from '../parameters/fields.ts';
import type { DocumentJob } from '../documents/documents.ts';
import type { ActionContext } from './action.ts';
import { sourceFor } from './select-source.ts';

/** What a document is made of. */
export const htmlField = textField.describe('The content, as HTML. Scripts in it never run.');

/**
 * What both document actions hand to their engine. The settings are those of the named, else the first source.
 * @throws StowageError UNKNOWN_SOURCE
 */
export const documentJob = (
  { sources, signal }: ActionContext,
  input: { readonly source: string | undefined; readonly html: string },
): DocumentJob => {
  const { pdf, maxFileSize, timeoutLimit } = sourceFor(sources, input.source).settings;
  return {
    html: input.html,
    resources: { enabled: pdf.isRemoteEnabled, maxBytes: maxFileSize, timeoutMs: timeoutLimit * 1000 },
    signal,
  };
};
