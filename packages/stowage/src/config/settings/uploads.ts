import * as z from 'zod';
import {
  byteSize,
  defaultExtensions,
  extension,
  global,
  localPath,
  MAX_TIMER_SECONDS,
  positive,
  sameNameStrategies,
  setting,
  source,
  unused,
} from './values.ts';
import { parseClamdAddress } from '../values.ts';

export const tusSchema = z.strictObject({
  enabled: z.boolean().default(true).describe('False: no uploads in parts, even with `stateDirectory`.'),
  directory: localPath
    .optional()
    .describe(
      'Folder of the parts, on a local disk, used only by this process. Default: `tus` in ' +
        '`stateDirectory`.',
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
    .describe('Maximum number of unfinished uploads; more are rejected (503).'),
  maxBytes: byteSize
    .prefault('10gb')
    .describe(
      'Maximum size of all unfinished uploads together, by their announced sizes; more are rejected ' +
        '(503).',
    ),
  maxUploadsPerClient: positive
    .max(10_000)
    .default(50)
    .describe(
      'Maximum number of unfinished uploads of one client. A client is the subject that ' +
        'checkAuthentication returns, else the client address.',
    ),
  maxBytesPerClient: byteSize
    .optional()
    .describe(
      'Maximum size of all unfinished uploads of one client, unless it has only one. Default: half of ' +
        '`maxBytes`.',
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
      'Address of clamd (ClamAV): `tcp://127.0.0.1:3310` or `unix:/run/clamav/clamd.ctl`. False: no ' +
        'scan, for one source of several.',
    ),
  maxBytes: byteSize
    .prefault('100mb')
    .describe(
      'The largest file that is sent to clamd, in the form of `maxUploadFileSize`. Must not exceed its ' +
        'StreamMaxLength, which is 25 MB in the packages of Debian and Ubuntu.',
    ),
  larger: z
    .enum(['refuse', 'pass'])
    .default('refuse')
    .describe('Larger files are rejected (422), or stored with a line in the log (`pass`).'),
  failClosed: z
    .boolean()
    .default(true)
    .describe(
      'While clamd is unavailable, uploads are rejected (503). False: they are stored, with a line in ' +
        'the log.',
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
      'Form field of an uploaded file, besides `files[0]`, `files[1]`…; used by fileUpload and imageSave.',
    ),
  ),
  extensions: setting(
    z.array(extension).default([...defaultExtensions]),
    source(
      'Allowed extensions, in lower case, without dot. Files of other types are rejected on upload ' +
        '(403), left out of listings, and not found by any action.',
    ),
  ),
  maxUploadFileSize: setting(
    byteSize.prefault('8mb'),
    source(
      'Maximum size of an uploaded file: a number with b, kb, mb or gb (powers of 1024), or plain bytes. ' +
        'Also for fileUploadRemote and for edited pictures that become larger.',
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
      'New names keep only their last dot (`a.php.jpg` becomes `a_php.jpg`). For file servers that run a ' +
        'file by any of its extensions.',
    ),
  ),
  sanitizeSvg: setting(
    z.boolean().default(true),
    source(
      'Clean SVG files in every upload, copy and move from another source: remove scripts, handlers, ' +
        'foreign objects and external references, and reject malformed files. `.xml` files that are ' +
        'drawings are treated the same; XML that browsers show as a page is rejected.',
    ),
  ),
  inspection: setting(
    inspectionSchema.optional(),
    source(
      'Scan uploads and remote files with clamd before they are stored. Absent: no scan; the hook ' +
        '`inspectUpload` needs no setting.',
    ),
  ),
  allowPrivateNetworkUploads: setting(
    z.boolean().default(false),
    source('Let fileUploadRemote fetch private and local addresses.'),
  ),
  remoteUserAgent: setting(
    z
      .string()
      .regex(/^[\u0020-\u007e]+$/u, 'must be one line of ASCII characters')
      .default('Stowage'),
    global(
      'The `User-Agent` with which fileUploadRemote, fileReplace and documents fetch files. Some sites want an address of ' +
        'you in it, such as Wikimedia: `my-site/1.0 (https://example.com; files@example.com)`.',
    ),
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
      'Uploads in parts (tus 1.0) at `/tus`, which resume after a broken connection. Absent: on with a ' +
        '`stateDirectory`. Needs `stateDirectory` or `directory`.',
    ),
  ),
} as const;
