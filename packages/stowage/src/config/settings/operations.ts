import * as z from 'zod';
import { ConfigError } from '../../errors/errors.ts';
import { eventTypes } from '../event.ts';
import {
  byteSize,
  count,
  global,
  MAX_TIMER_SECONDS,
  positive,
  setting,
  signingKeys,
  source,
  unused,
} from './values.ts';

const tenantCacheSchema = z.strictObject({
  // The cache allocates its lists for all entries when it is created.
  max: positive
    .max(1_000_000)
    .default(200)
    .describe('Most tenants kept; the least recently used leaves first.'),
  ttlMs: positive
    .max(MAX_TIMER_SECONDS * 1000)
    .default(60_000)
    .describe('Lifetime of a resolved tenant in milliseconds, from its build.'),
});

const trashSchema = z.strictObject({
  retentionDays: count
    .max(36_500)
    .default(30)
    .describe('Days for which removed items are kept; 0 switches the trash off, for one source of several.'),
  maxBytes: byteSize
    .optional()
    .describe(
      'Size limit of the trash, in the form of `maxUploadFileSize`; the oldest items are removed first.',
    ),
  keepReplaced: z
    .boolean()
    .default(false)
    .describe('Also keep the old content of files that an upload or an image edit replaces.'),
});

const quotaSchema = z.strictObject({
  bytes: byteSize.optional().describe('In the form of `maxUploadFileSize`.'),
  files: count.optional().describe('Number of files.'),
});

const auditSchema = z.strictObject({
  file: z
    .string()
    .min(1)
    .describe('A file of JSON lines, one for each change; it may be rotated at any time.'),
});

const isWebAddress = (text: string): boolean =>
  URL.canParse(text) && /^https?:$/u.test(new URL(text).protocol);

const webhookSchema = z.strictObject({
  url: z
    .string()
    .refine(isWebAddress, 'must be an http or https address')
    .describe('Where events are posted to.'),
  secret: signingKeys.describe(
    'Signs the posted events; at least 32 bytes. Several in a list sign each for itself, so that one can be changed ' +
      'for another.',
  ),
  events: z.array(z.enum(eventTypes)).optional().describe('The types that are posted; all when absent.'),
  allowPrivate: z
    .boolean()
    .default(false)
    .describe('Let the address be private or local. It is refused otherwise.'),
  batch: z
    .strictObject({
      events: z.int().min(1).max(1000).default(100).describe('Most events of one delivery.'),
      seconds: z.number().min(0).max(60).default(2).describe('Seconds for which further events are awaited.'),
    })
    .optional()
    .describe('Post several events in one delivery: `{ "events": [ … ] }`. Absent: each event by itself.'),
});

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

/** Settings of state, logs and monitoring. */
export const operationsSettings = {
  debug: setting(
    z.boolean().default(true),
    global('Log failed requests with stack traces; responses are the same either way.'),
  ),
  logRequests: setting(
    z.boolean().default(false),
    global(
      'Log a line for every request, also for those that change nothing: small responses take about a third longer.',
    ),
  ),
  title: setting(z.string().default(''), unused('a title of the instance.')),
  dynamicSourcesCache: setting(
    tenantCacheSchema.prefault({}),
    global('Number and lifetime of the tenants of `resolveSources` that are kept.'),
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
      'Move items that fileRemove and folderRemove remove into a hidden folder of the source, from which they can be ' +
        'restored. Absent: removing is final.',
    ),
  ),
  quota: setting(
    quotaSchema.optional(),
    source(
      'The most that the source may hold, its trash included; requests that would exceed it are rejected (413).',
    ),
  ),
  audit: setting(auditSchema.optional(), global('Write every change, with its user, into a file.')),
  webhooks: setting(
    z.array(webhookSchema).max(100).default([]),
    global('Post every change, signed, to other services. Needs `stateDirectory` or `redis`.'),
  ),
  redis: setting(
    redisSchema.optional(),
    global(
      'Redis server in which several instances of one service share rate limits, quotas and waiting ' +
        'webhooks. Absent: each instance for itself. Needs the package "ioredis".',
    ),
  ),
  stateDirectory: setting(
    z.string().min(1).optional(),
    global(
      'A directory for data that outlives the process: waiting webhooks (without `redis`), unfinished uploads (`tus`). ' +
        'Of this process alone, on a local disk.',
    ),
  ),
} as const;

/**
 * Rejects settings that need a directory and have none.
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
