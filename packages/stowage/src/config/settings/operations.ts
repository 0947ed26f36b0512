import * as z from 'zod';
import { eventTypes } from '../event.ts';
import {
  byteSize,
  count,
  global,
  isWebAddress,
  localPath,
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
    .describe('Maximum number of cached tenants; the least recently used one is removed first.'),
  ttlMs: positive
    .max(MAX_TIMER_SECONDS * 1000)
    .default(60_000)
    .describe('Lifetime of a cached tenant in milliseconds, from its creation.'),
});

const trashSchema = z.strictObject({
  retentionDays: count
    .max(36_500)
    .default(30)
    .describe('Days for which removed items are kept. 0 switches the trash off, for one source of several.'),
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
  file: localPath.describe('A file of JSON lines, one for each change. You can rotate it at any time.'),
});

const webhookSchema = z.strictObject({
  url: z
    .string()
    .refine(isWebAddress, 'must be an http or https address')
    // It would not be sent, and its receiver would reject every event.
    .refine(
      (text) => !isWebAddress(text) || (new URL(text).username === '' && new URL(text).password === ''),
      'must not hold a user name or password',
    )
    .describe('Address to which events are posted.'),
  secret: signingKeys.describe(
    'Key that signs the events, at least 32 bytes. With a list of keys, each adds a signature, so that ' +
      'you can change keys.',
  ),
  events: z.array(z.enum(eventTypes)).optional().describe('The types of events to post. Default: all.'),
  allowPrivate: z
    .boolean()
    .default(false)
    .describe('Allow a private or local address. False: such an address is rejected.'),
  batch: z
    .strictObject({
      events: z.int().min(1).max(1000).default(100).describe('Maximum number of events in one delivery.'),
      seconds: z.number().min(0).max(60).default(2).describe('Seconds to wait for more events.'),
    })
    .optional()
    .describe(
      'Post several events in one delivery: `{ "events": [ … ] }`. Absent: one event in each delivery.',
    ),
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
    .describe(
      'Prefix of every key. All instances of one service need the same prefix, other services another.',
    ),
});

export const operationsSettings = {
  debug: setting(
    z.boolean().default(true),
    global(
      'Log all failed requests, failures of the service (5xx) with stack traces. False: only these, without stack traces. Responses are the same either way.',
    ),
  ),
  logRequests: setting(
    z.boolean().default(false),
    global(
      'Log a line for every request, also for requests without changes. Small responses then take about ' +
        'a third longer.',
    ),
  ),
  title: setting(z.string().default(''), unused('a title of the instance.')),
  dynamicSourcesCache: setting(
    tenantCacheSchema.prefault({}),
    global('Number and lifetime of cached tenants of `resolveSources`.'),
  ),
  root: setting(z.string().optional(), unused('each source has its own.')),
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
      'Move items that fileRemove and folderRemove remove into a hidden folder of the source, from which ' +
        'users can restore them. Absent: removed items are lost.',
    ),
  ),
  quota: setting(
    quotaSchema.optional(),
    source('Size limit of the source, with its trash; requests that would exceed it are rejected (413).'),
  ),
  audit: setting(auditSchema.optional(), global('Write every change, with its user, to a file.')),
  webhooks: setting(
    z.array(webhookSchema).max(100).default([]),
    global('Post every change, signed, to other services. Needs `stateDirectory` or `redis`.'),
  ),
  redis: setting(
    redisSchema.optional(),
    global(
      'Redis server for rate limits, quotas and waiting webhook events that several instances of one ' +
        'service share. Absent: no sharing. Needs the package "ioredis".',
    ),
  ),
  stateDirectory: setting(
    localPath.optional(),
    global(
      'A directory for data that must survive a restart: waiting webhook events (without `redis`) and ' +
        'unfinished uploads (`tus`). On a local disk, and used only by this process.',
    ),
  ),
} as const;
