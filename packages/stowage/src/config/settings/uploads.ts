import * as z from 'zod';
import {
  byteSize,
  defaultExtensions,
  extension,
  global,
  MAX_TIMER_SECONDS,
  positive,
  sameNameStrategies,
  setting,
  source,
  unused,
} from './values.ts';
import { parseClamdAddress } from '../values.ts';

const tusSchema = z.strictObject({
  enabled: z.boolean().default(true).describe('False: uploads in parts are off, also with `stateDirectory`.'),
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
    .describe('Hours for which an unfinished upload is kept after its last byte.'),
  maxUploads: positive
    .max(10_000)
    .default(200)
    .describe('Most unfinished uploads; another is refused (503).'),
  maxBytes: byteSize
    .prefault('10gb')
    .describe('Most bytes of all unfinished uploads together, as announced; more are refused (503).'),
  maxUploadsPerClient: positive
    .max(10_000)
    .default(50)
    .describe(
      'Most unfinished uploads of one client: the subject that checkAuthentication names, else the client address.',
    ),
  maxBytesPerClient: byteSize
    .optional()
    .describe(
      'Most bytes of all unfinished uploads of one client, unless it has a single one. Default: half of `maxBytes`.',
    ),
});

const CLAMD = 'must be tcp://host:port or unix:path, or false';

const inspectionSchema = z.strictObject({
  clamd: z
    .union(
      [z.literal(false), z.string().refine((text) => parseClamdAddress(text) !== undefined, CLAMD)],
      CLAMD,
    )
    .default(false)
    .describe(
      'Where clamd (ClamAV) listens: `tcp://127.0.0.1:3310` or `unix:/run/clamav/clamd.ctl`; false: nothing is scanned, ' +
        'for one source of several.',
    ),
  maxBytes: byteSize
    .prefault('100mb')
    .describe(
      'The largest file that is sent to clamd, in the form of `maxUploadFileSize`: not more than its StreamMaxLength.',
    ),
  larger: z
    .enum(['refuse', 'pass'])
    .default('refuse')
    .describe('Larger files are rejected (422), or stored with a line in the log (`pass`).'),
  failClosed: z
    .boolean()
    .default(true)
    .describe(
      'While clamd is unavailable, uploads are rejected (503); false: stored, with a line in the log.',
    ),
  timeout: z
    .number()
    .positive()
    .max(MAX_TIMER_SECONDS)
    .default(60)
    .describe('Seconds that clamd may take for one file.'),
});

export const uploadsSettings = {
  defaultFilesKey: setting(
    z.string().min(1).default('default'),
    source(
      'Form field holding an uploaded file, besides `files[0]`, `files[1]`…; used by fileUpload and ' +
        'imageSave.',
    ),
  ),
  extensions: setting(
    z.array(extension).default([...defaultExtensions]),
    source(
      'Allowed extensions, lower case, without dot. Other types are rejected on upload (403), left out of ' +
        'listings, and not found by any action.',
    ),
  ),
  maxUploadFileSize: setting(
    byteSize.prefault('8mb'),
    source(
      'Largest uploaded file: a number with b, kb, mb or gb (powers of 1024), or plain bytes. Also caps ' +
        'fileUploadRemote.',
    ),
  ),
  saveSameFileNameStrategy: setting(
    z.enum(sameNameStrategies).default('addNumber'),
    source(
      'Strategy for uploads whose name is taken: `addNumber` (name-1.ext), `replace` (overwrite) or ' +
        '`error` (400).',
    ),
  ),
  allowReplaceSourceFile: setting(z.boolean().default(true), unused('see `saveSameFileNameStrategy`.')),
  forceSingleExtension: setting(
    z.boolean().default(false),
    source(
      'New names keep only their last dot (`a.php.jpg` becomes `a_php.jpg`): for file hosts that run a ' +
        'file by any of its extensions.',
    ),
  ),
  sanitizeSvg: setting(
    z.boolean().default(true),
    source(
      'Clean SVG files on every way in: no scripts, handlers, foreign objects or external references; ' +
        'malformed ones are refused. The same for `.xml` files that are drawings; XML that browsers show as ' +
        'a page is refused.',
    ),
  ),
  inspection: setting(
    inspectionSchema.optional(),
    source(
      'Have clamd look at all that users upload or fetch, before it is stored. Absent: nothing is scanned; the hook ' +
        '`inspectUpload` needs no setting.',
    ),
  ),
  allowPrivateNetworkUploads: setting(
    z.boolean().default(false),
    source('Let fileUploadRemote fetch private and local addresses.'),
  ),
  timeoutLimit: setting(
    positive.max(MAX_TIMER_SECONDS).default(60),
    source(
      'Network timeout in seconds of fileUploadRemote downloads and of remote resources in PDF and DOCX.',
    ),
  ),
  tus: setting(
    tusSchema.optional(),
    global(
      'Uploads in parts (tus 1.0) at `/tus`, which go on after a broken connection. Absent: taken where there is ' +
        'a `stateDirectory`. Needs that or `directory`.',
    ),
  ),
} as const;

/** Effective settings of resumable uploads; undefined when they are off. */
export const tusInForce = ({
  tus,
  stateDirectory,
}: {
  readonly tus?: z.output<typeof tusSchema> | undefined;
  readonly stateDirectory?: string | undefined;
}): typeof tus => {
  if (tus === undefined) return stateDirectory === undefined ? undefined : tusSchema.parse({});
  return tus.enabled ? tus : undefined;
};
