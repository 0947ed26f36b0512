import * as z from 'zod';
import { ConfigError } from '../errors/errors.ts';
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

/** Uploads in parts, which go on after a broken connection. */
const tusSchema = z.strictObject({
  directory: z
    .string()
    .min(1)
    .optional()
    .describe(
      'Where the parts lie: of this process alone, on a local disk. Default: `tus` in `stateDirectory`.',
    ),
  hours: z
    .number()
    .positive()
    .max(720)
    .default(24)
    .describe('How long an unfinished upload is kept after its last byte.'),
  maxUploads: z
    .number()
    .int()
    .positive()
    .max(10_000)
    .default(200)
    .describe('Most unfinished uploads; another is refused (503).'),
  maxBytes: byteSize
    .prefault('10gb')
    .describe('Most bytes of all unfinished uploads together, as announced; more are refused (503).'),
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
  tus: setting(
    tusSchema.optional(),
    global(
      'Take uploads in parts (tus 1.0) at `/tus`, which go on after a broken connection. Absent: off. Needs the package "@tus/server", and `stateDirectory` or `directory`.',
    ),
  ),
  audit: setting(auditSchema.optional(), global('Write every change, and who made it, into a file.')),
  webhooks: setting(
    z.array(webhookSchema).max(100).default([]),
    global('Post every change, signed, to other services. Needs `stateDirectory`.'),
  ),
  stateDirectory: setting(
    z.string().min(1).optional(),
    global(
      'A directory for what must outlive the process: webhooks that wait, unfinished uploads. Of this process alone, on a local disk.',
    ),
  ),
};

/**
 * Refuses settings that need a directory and have none.
 * @throws ConfigError
 */
export const requireStateDirectory = ({
  webhooks,
  tus,
  stateDirectory,
}: {
  readonly webhooks: readonly unknown[];
  readonly tus?: { readonly directory?: string | undefined } | undefined;
  readonly stateDirectory?: string | undefined;
}): void => {
  if (stateDirectory !== undefined) return;
  if (webhooks.length > 0) throw new ConfigError(['stateDirectory: is required with webhooks']);
  if (tus !== undefined && tus.directory === undefined)
    throw new ConfigError(['stateDirectory: is required with tus, or else tus.directory']);
};
