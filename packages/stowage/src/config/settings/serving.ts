import * as z from 'zod';
import {
  cacheControl,
  global,
  MAX_TIMER_SECONDS,
  ownAddress,
  positive,
  setting,
  signingKeys,
  source,
  unused,
} from './values.ts';

/** Whether a source serves its files, and with which access control. */
export const servingModes = ['off', 'public', 'protected', 'signed'] as const;

/** Senders of the bytes of a served file. */
export const deliveries = ['stream', 'redirect', 'x-accel-redirect', 'x-sendfile'] as const;

const redirectSchema = z.strictObject({
  days: z
    .number()
    .nonnegative()
    .max(36_500)
    .default(90)
    .describe(
      'Days for which old links redirect to the current location of a file. 0 switches this off, for one source of several.',
    ),
  entries: positive
    .max(1_000_000)
    .default(10_000)
    .describe('Maximum number of stored renames and moves; the oldest are removed first.'),
});

export const servingSettings = {
  serve: setting(
    z.enum(servingModes).default('off'),
    source(
      'Whether the service serves the files, at `/file/<source>/`: to everyone (`public`), to users that ' +
        'checkAuthentication and the rule FILE_DOWNLOAD allow (`protected`), or with links that expire ' +
        '(`signed`). Thumbnails are then created when a browser requests them.',
    ),
  ),
  delivery: setting(
    z.enum(deliveries).default('stream'),
    source(
      'The sender of served files: the service (`stream`), the store by a redirect to a URL that expires ' +
        'soon (`redirect`; S3, Azure, Google Cloud Storage), or the web server in front ' +
        '(`x-accel-redirect` of nginx, `x-sendfile` of Apache; local sources).',
    ),
  ),
  deliveryPrefix: setting(
    z.string().regex(/^\//u, 'must begin with a slash').optional(),
    source(
      'Prefix of the path of a file in `X-Accel-Redirect` (an internal location of nginx) or ' +
        '`X-Sendfile` (a directory; default: the root of the source).',
    ),
  ),
  serveCacheControl: setting(
    cacheControl.optional(),
    source(
      '`Cache-Control` of served files. Default: browsers check each time whether a file has changed. ' +
        'Shared caches may store only files of `public` sources: for other sources `private` is added ' +
        'where it is missing.',
    ),
  ),
  redirectMoved: setting(
    redirectSchema.optional(),
    source(
      'Store renames and moves, so that old links of files that the service serves redirect to the ' +
        'current ones. Absent: old links return 404.',
    ),
  ),
  signedUrlLifetime: setting(
    positive.max(MAX_TIMER_SECONDS).default(3600),
    source('Lifetime of the links of a `signed` source, in seconds.'),
  ),
  signingSecret: setting(
    signingKeys.optional(),
    global(
      'Keys for signed links: the first one signs, all are accepted, so that you can change keys. ' +
        'Default: STOWAGE_SIGNING_SECRET, several separated by spaces.',
    ),
  ),
  publicUrl: setting(
    ownAddress.optional(),
    global(
      'Address of the service in browsers, if a proxy changes it: `https://www.example.com/connector/` ' +
        'or only a path. Default: the path of the request.',
    ),
  ),
  compressAnswers: setting(
    z.boolean().default(true),
    global(
      'Compress JSON responses of a kilobyte or more for clients that accept it (`Accept-Encoding`: ' +
        'Brotli, gzip). Set false if a proxy in front compresses. Files are sent as they are stored.',
    ),
  ),
  errorHttpStatus: setting(
    z.boolean().default(true),
    global(
      'Send the status of an error in the status line. False: errors of actions have the status 200, and ' +
        'only `data.code` has the number.',
    ),
  ),
  baseurl: setting(z.string().optional(), unused('each source has its own.')),
} as const;
