import * as z from 'zod';
import { checkUpload } from '../changes/check-upload.ts';
import { policyFor } from '../changes/incoming.ts';
import { keepRoom, type KeptRoom } from '../changes/quota.ts';
import { pathField, sourceField, textField } from '../parameters/fields.ts';
import type { SourcePath } from '../storage/source-path.ts';
import type { ActionContext } from './action.ts';

/** What is said of a file before its bytes come. */
export const announcedUploadFields = z.object({
  source: sourceField,
  path: pathField,
  filename: textField
    .refine((name) => !name.includes('\0'), 'must not hold NUL')
    .transform((name) => name.split(/[\\/]/u).at(-1) ?? ''),
});

/** Where a file will be stored when its bytes have come. */
export interface CheckedUpload {
  readonly source: string;
  readonly tenant: string | undefined;
  readonly path: SourcePath;
  readonly filename: string;
  /** Undefined without a quota, and for pictures of which less than was sent may be stored. */
  readonly room: KeptRoom | undefined;
}

/**
 * Refuses a file of which only name and size are known, as fileUpload would when its bytes have come: by
 * rules, type, name, size, folder and quota, where room is kept for it under `id`. What depends on the
 * content, and what may change until then, is checked by fileUpload.
 * @throws the errors of fileUpload
 */
export const checkAnnounced = async (
  context: ActionContext,
  { source: name, path, filename }: z.output<typeof announcedUploadFields>,
  { id, bytes }: { readonly id: string; readonly bytes: number },
): Promise<CheckedUpload> => {
  const view = await context.views.open(name);
  const { source } = view;
  const expected = await checkUpload(context, view, { folder: path, filename, bytes });
  const isPicture = policyFor(source.settings, filename) !== undefined;
  const room = isPicture ? undefined : await keepRoom(context, view, path.child(expected), { id, bytes });
  return { source: source.name, tenant: source.tenant, path, filename, room };
};
