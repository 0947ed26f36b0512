import { z } from 'zod';
import { byteSize, count } from './setting-values.ts';

/** What becomes of removed files and folders. */
export const trashSchema = z.strictObject({
  retentionDays: count
    .max(36_500)
    .default(30)
    .describe('How long removed items are kept; 0 switches the trash off, for one source of several.'),
  maxBytes: byteSize
    .optional()
    .describe('What the trash may hold, as `maxUploadFileSize` is written; the oldest items go first.'),
  keepReplaced: z
    .boolean()
    .default(false)
    .describe('Also keep the old content of files that an upload or an image edit replaces.'),
});
