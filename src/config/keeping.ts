import * as z from 'zod';
import { eventTypes } from '../events/event.ts';
import { global, setting, source } from './setting-meta.ts';
import { byteSize, count } from './setting-values.ts';

/** What becomes of removed files and folders. */
const trashSchema = z.strictObject({
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

/** What a source may hold. */
const quotaSchema = z.strictObject({
  bytes: byteSize.optional().describe('As `maxUploadFileSize` is written.'),
  files: count.optional().describe('How many files.'),
});

/** Where changes are written down. */
const auditSchema = z.strictObject({
  file: z
    .string()
    .min(1)
    .describe('A file of JSON lines, one for each change; it may be rotated at any time.'),
});

const isWebAddress = (text: string): boolean =>
  URL.canParse(text) && /^https?:$/u.test(new URL(text).protocol);

/** Who is told of changes. */
const webhookSchema = z.strictObject({
  url: z
    .string()
    .refine(isWebAddress, 'must be an http or https address')
    .describe('Where events are posted to.'),
  secret: z
    .string()
    .refine((text) => Buffer.byteLength(text) >= 32, 'must not be shorter than 32 bytes')
    .describe('Signs what is posted; at least 32 bytes.'),
  events: z.array(z.enum(eventTypes)).optional().describe('The types that are posted; all when absent.'),
  allowPrivate: z
    .boolean()
    .default(false)
    .describe('Let the address be private or local. It is refused otherwise.'),
});

/** The settings about what is kept of what happens: what was removed, and who did it. */
export const keepingShape = {
  trash: setting(
    trashSchema.optional(),
    source(
      'Keep what fileRemove and folderRemove take away in a hidden folder of the source, from where it can be restored. Absent: what is removed is gone.',
    ),
  ),
  quota: setting(
    quotaSchema.optional(),
    source('The most that the source may hold, its trash included; what would pass it is refused (413).'),
  ),
  audit: setting(auditSchema.optional(), global('Write every change, and who made it, into a file.')),
  webhooks: setting(
    z.array(webhookSchema).max(100).default([]),
    global('Post every change, signed, to other services. Needs `stateDirectory`.'),
  ),
  stateDirectory: setting(
    z.string().min(1).optional(),
    global(
      'A directory for what must outlive the process: webhooks that wait. Of this process alone, on a local disk.',
    ),
  ),
};
