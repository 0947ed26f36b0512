import * as z from 'zod';
import { extensionOf } from '../content/extension.ts';
import { pathField, sourceField, textField } from '../parameters/fields.ts';
import type { KeptRoom } from '../quotas/account.ts';
import type { SourcePath } from '../storage/source-path.ts';
import type { ActionContext } from './action.ts';
import { expectedName, policyFor } from './incoming-picture.ts';
import { requireFolder } from './item.ts';
import { newFileName } from './new-name.ts';
import { openSource } from './open-source.ts';
import { needOf } from './removal.ts';
import { quotaOf } from './room.ts';
import { requireUntaken } from './store-uploads.ts';
import { fileTooLarge } from './uploaded-file.ts';

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
  const open = await openSource(context, name);
  const { source, access } = open;
  const { settings } = source;
  const { services, signal } = context;
  const expected = newFileName(settings, expectedName(settings, filename));
  access.require('FILE_UPLOAD', path.child(expected), extensionOf(expected));
  if (bytes > settings.maxUploadFileSize) throw fileTooLarge(filename, settings.maxUploadFileSize);
  await requireFolder(open, path, signal);
  if (settings.saveSameFileNameStrategy === 'error') {
    await requireUntaken(context, open, path, [{ name: expected, sent: filename }]);
  }
  const isReplacing = settings.saveSameFileNameStrategy === 'replace';
  const quota = policyFor(settings, filename) === undefined ? quotaOf(open, context.holdSources) : undefined;
  const need =
    quota && isReplacing ? await needOf(context, open, path.child(expected), bytes) : { bytes, files: 1 };
  const room = quota && (await services.quotas.keep(quota, id, need, signal));
  return { source: source.name, tenant: source.tenant, path, filename, room };
};
