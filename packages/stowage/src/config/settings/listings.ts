import * as z from 'zod';
import { byteSize, count, positive, segment, setting, sortOrders, source } from './values.ts';

const searchLimitsSchema = z.strictObject({
  entries: positive
    .default(500_000)
    .describe('Maximum number of entries that one request scans. A folder is always scanned to its end.'),
  seconds: z
    .number()
    .positive()
    .max(3600)
    .default(10)
    .describe('Maximum time of one request, if the store responds in time.'),
});

const zipLimitsSchema = z.strictObject({
  entries: positive.max(1_000_000).default(10_000).describe('Maximum number of files and folders.'),
  bytes: byteSize.prefault('4gb').describe('Maximum size of all files together.'),
});

export const listingsSettings = {
  datetimeFormat: setting(
    z.string().default('M/D/YYYY h:mm:ss A'),
    source(
      'Format of `changed` in listings, with the tokens YYYY, MM, DD, HH, mm, ss, A…, in the local time ' +
        'of the server.',
    ),
  ),
  defaultSortBy: setting(
    z.enum(sortOrders).default('changed-desc'),
    source('Order of listings when `mods[sortBy]` is absent.'),
  ),
  countInChunk: setting(
    count.default(1_000_000),
    source('Page size of listings when `mods[limit]` is absent.'),
  ),
  searchLimits: setting(
    searchLimitsSchema.prefault({}),
    source('Limits of the scan of one filesSearch request; the next page continues after it.'),
  ),
  zipLimits: setting(
    zipLimitsSchema.prefault({}),
    source('Limits of one archive of fileDownload; larger archives are rejected (413).'),
  ),
  excludeDirectoryNames: setting(
    z.array(segment).default(['.tmb', '.quarantine']),
    source('Names of files and folders that no listing shows and no action reaches.'),
  ),
} as const;
