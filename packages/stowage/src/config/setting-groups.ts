import * as z from 'zod';
import { global, setting, source } from './setting-meta.ts';
import { byteSize, network } from './setting-values.ts';

/** Seconds whose milliseconds a timer can hold. */
export const MAX_TIMER_SECONDS = 2_147_483;

/** Settings that are objects. */
export const pdfSchema = z.strictObject({
  isRemoteEnabled: z
    .boolean()
    .default(true)
    .describe(
      'Load remote images, styles and fonts (public http/https addresses only) in PDF and DOCX; false ' +
        'blocks all.',
    ),
  defaultFont: z.string().default('serif').describe('Accepted, without effect.'),
  fontDir: z.string().optional().describe('Accepted, without effect.'),
  fontCache: z.string().optional().describe('Accepted, without effect.'),
  tempDir: z.string().optional().describe('Accepted, without effect.'),
  chroot: z.string().optional().describe('Accepted, without effect.'),
  paper: z
    .strictObject({ format: z.string().default('A4'), page_orientation: z.string().default('portrait') })
    .prefault({})
    .describe('Accepted, without effect: the page comes from `options[...]` of generatePdf.'),
});

export const documentsSchema = z.strictObject({
  browserSandbox: z
    .enum(['auto', 'required', 'off'])
    .default('auto')
    .describe(
      'Sandbox of the browser that prints PDF files. `auto`: used unless the service runs as root, with a ' +
        'warning then; `required`: PDF files fail without it; `off`: not used, for containers that do not ' +
        'let the browser make one.',
    ),
});

const searchLimitsSchema = z.strictObject({
  entries: z
    .number()
    .int()
    .positive()
    .default(500_000)
    .describe('Most entries that one answer looks at. A folder is always read to its end.'),
  seconds: z
    .number()
    .positive()
    .max(3600)
    .default(10)
    .describe('Longest time that one answer takes, as far as the store answers in time.'),
});

const zipLimitsSchema = z.strictObject({
  entries: z.number().int().positive().max(1_000_000).default(10_000).describe('Most files and folders.'),
  bytes: byteSize.prefault('4gb').describe('Most bytes of all files together.'),
});

/** How far single requests go. */
export const limitSettings = {
  searchLimits: setting(
    searchLimitsSchema.prefault({}),
    source('How far one answer of filesSearch walks; the next one goes on there.'),
  ),
  zipLimits: setting(
    zipLimitsSchema.prefault({}),
    source('How much fileDownload puts into one archive; what is more is refused (413).'),
  ),
} as const;

export const tenantCacheSchema = z.strictObject({
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

const rateSchema = z.strictObject({
  requests: z.number().int().positive().max(1_000_000),
  seconds: z.number().int().positive().max(86_400),
});

const rate = (what: string): z.ZodOptional<typeof rateSchema> =>
  rateSchema.optional().describe(`Most ${what} in so many seconds: \`{ "requests": 60, "seconds": 60 }\`.`);

/** How often one client may ask for what is expensive. */
const rateLimitsSchema = z.strictObject({
  uploads: rate('uploads, from forms, of edited pictures and of remote files'),
  pictures: rate('edits and variants of pictures'),
  documents: rate('PDF and DOCX files'),
  listings: rate('listings and searches'),
});

/** What concerns single clients. */
export const clientSettings = {
  rateLimits: setting(
    rateLimitsSchema.optional(),
    global(
      'How often one client may ask for what is expensive: the subject that checkAuthentication names, else the ' +
        'client address. More: 429 with `Retry-After`. Needs the package "rate-limiter-flexible".',
    ),
  ),
  trustedProxies: setting(
    z.array(network).default([]),
    global(
      'Proxies whose `X-Forwarded-For` names the client address, for `rateLimits` and `tus`. Without them it is ' +
        'who has connected.',
    ),
  ),
} as const;
