import * as z from 'zod';
import { ConfigError } from '../../errors/errors.ts';
import { eventTypes } from '../event.ts';
import {
  byteSize,
  count,
  global,
  MAX_TIMER_SECONDS,
  setting,
  signingKeys,
  source,
  unused,
} from './values.ts';

const tenantCacheSchema = z.strictObject({
  // The cache takes room for all of them when it is made.
  max: z
    .number()
    .int()
    .positive()
    .max(1_000_000)
    .default(200)
    .describe('Most tenants kept; the least recently used leaves first.'),
  ttlMs: z
    .number()
    .int()
    .positive()
    .max(MAX_TIMER_SECONDS * 1000)
    .default(60_000)
    .describe('Lifetime of a resolved tenant in milliseconds, from its build.'),
});

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
  secret: signingKeys.describe(
    'Signs what is posted; at least 32 bytes. Several in a list sign each for itself, so that one can be changed ' +
      'for another.',
  ),
  events: z.array(z.enum(eventTypes)).optional().describe('The types that are posted; all when absent.'),
  allowPrivate: z
    .boolean()
    .default(false)
    .describe('Let the address be private or local. It is refused otherwise.'),
});

/** What several instances share. */
const redisSchema = z.strictObject({
  url: z
    .string()
    .regex(/^rediss?:\/\//u, 'must begin with redis:// or rediss://')
    .describe('`redis://127.0.0.1:6379`; `rediss://` with TLS.'),
  prefix: z
    .string()
    .min(1)
    .max(100)
    .default('stowage')
    .describe('Begins every key. All instances of one service have the same one, other services another.'),
});

/** What the service keeps, and tells those who run it. */
export const operationsSettings = {
  debug: setting(
    z.boolean().default(true),
    global('Log failed requests with stack traces; answers are the same either way.'),
  ),
  logRequests: setting(
    z.boolean().default(false),
    global(
      'Log a line for every request, also for those that change nothing: small answers take about a third longer.',
    ),
  ),
  title: setting(z.string().default(''), unused('a title of the instance.')),
  dynamicSourcesCache: setting(
    tenantCacheSchema.prefault({}),
    global('How many tenants of `resolveSources` are kept, and for how long.'),
  ),
  root: setting(z.string().optional(), unused('sources carry their own.')),
  sourceClassName: setting(
    z.string().default('FileSystem'),
    unused('storage is chosen with `storageAdapter`.'),
  ),
  defaultPermission: setting(
    count.default(509),
    unused('folders are created with the umask of the process.'),
  ),
  trash: setting(
    trashSchema.optional(),
    source(
      'Keep what fileRemove and folderRemove take away in a hidden folder of the source, from where it can be ' +
        'restored. Absent: what is removed is gone.',
    ),
  ),
  quota: setting(
    quotaSchema.optional(),
    source(
      'The most that the source may hold, its trash included; requests that would exceed it are rejected (413).',
    ),
  ),
  audit: setting(auditSchema.optional(), global('Write every change, and who made it, into a file.')),
  webhooks: setting(
    z.array(webhookSchema).max(100).default([]),
    global('Post every change, signed, to other services. Needs `stateDirectory` or `redis`.'),
  ),
  redis: setting(
    redisSchema.optional(),
    global(
      'Where several instances of one service share what they count and keep: rate limits, quotas, webhooks that ' +
        'wait. Absent: each instance for itself. Needs the package "ioredis".',
    ),
  ),
  stateDirectory: setting(
    z.string().min(1).optional(),
    global(
      'A directory for what must outlive the process: webhooks that wait (without `redis`), unfinished uploads (`tus`). ' +
        'Of this process alone, on a local disk.',
    ),
  ),
} as const;

/**
 * Refuses settings that need a directory and have none.
 * @throws ConfigError
 */
export const requireStateDirectory = ({
  webhooks,
  tus,
  redis,
  stateDirectory,
}: {
  readonly webhooks: readonly unknown[];
  readonly redis?: object | undefined;
  readonly tus?: { readonly directory?: string | undefined } | undefined;
  readonly stateDirectory?: string | undefined;
}): void => {
  if (stateDirectory !== undefined) return;
  if (webhooks.length > 0 && redis === undefined)
    throw new ConfigError(['stateDirectory: is required with webhooks, or else redis']);
  if (tus !== undefined && tus.directory === undefined)
    throw new ConfigError(['stateDirectory: is required with tus, or else tus.directory']);
};
