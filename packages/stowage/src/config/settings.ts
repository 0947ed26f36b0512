import * as z from 'zod';
import { accessRuleSchema } from './access-rules.ts';
import { authSchema } from './auth.ts';
import { keepingShape } from './keeping.ts';
import { pictureSettings } from './picture-settings.ts';
import { global, setting, source, unused } from './setting-meta.ts';
import {
  clientSettings,
  documentsSchema,
  limitSettings,
  MAX_TIMER_SECONDS,
  pdfSchema,
  tenantCacheSchema,
} from './setting-groups.ts';
import {
  byteSize,
  cacheControl,
  count,
  defaultExtensions,
  deliveries,
  extension,
  list,
  origin,
  ownAddress,
  positive,
  sameNameStrategies,
  segment,
  servingModes,
  signingKeys,
  sortOrders,
  whole,
} from './setting-values.ts';

export type { AccessRule } from './access-rules.ts';
export { settingMeta, type SettingMeta } from './setting-meta.ts';

/**
 * Every setting that the configuration knows, except `sources`. The order is that of the reference page.
 * All but the `global` ones may be overridden by a source.
 */
export const settingsShape = {
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
  defaultFilesKey: setting(
    z.string().min(1).default('default'),
    source(
      'Form field holding an uploaded file, besides `files[0]`, `files[1]`…; used by fileUpload and ' +
        'imageSave.',
    ),
  ),
  dynamicSourcesCache: setting(
    tenantCacheSchema.prefault({}),
    global('How many tenants of `resolveSources` are kept, and for how long.'),
  ),
  root: setting(z.string().optional(), unused('sources carry their own.')),
  baseurl: setting(z.string().optional(), unused('sources carry their own.')),
  sourceClassName: setting(
    z.string().default('FileSystem'),
    unused('storage is chosen with `storageAdapter`.'),
  ),
  extensions: setting(
    z.array(extension).default([...defaultExtensions]),
    source(
      'Allowed extensions, lower case, without dot. Other types are refused on upload (403), left out of ' +
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
  maxFileSize: setting(
    byteSize.prefault('8mb'),
    source('Largest remote resource (image, style sheet, font) loaded while a PDF or DOCX is made.'),
  ),
  saveSameFileNameStrategy: setting(
    z.enum(sameNameStrategies).default('addNumber'),
    source(
      'What an upload does when its name is taken: `addNumber` (name-1.ext), `replace` (overwrite) or ' +
        '`error` (400).',
    ),
  ),
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
  ...limitSettings,
  excludeDirectoryNames: setting(
    z.array(segment).default(['.tmb', '.quarantine']),
    source('Names of files and folders that are hidden from listings and out of reach of every action.'),
  ),
  defaultPermission: setting(
    count.default(509),
    unused('folders are created with the umask of the process.'),
  ),
  allowReplaceSourceFile: setting(z.boolean().default(true), unused('see `saveSameFileNameStrategy`.')),
  imageExtensions: setting(
    z.array(extension).default(list('jpg png gif jpeg bmp svg ico webp')),
    source('Extensions treated as images: listed with `isImage` true and given real thumbnails.'),
  ),
  quality: setting(
    whole.min(1).max(100).default(90),
    source('JPEG and WebP quality of thumbnails, 1 to 100.'),
  ),
  maxImageWidth: setting(positive.default(1900), unused('see `uploadImages.maxWidth`.')),
  maxImageHeight: setting(positive.default(1900), unused('see `uploadImages.maxHeight`.')),
  createThumb: setting(
    z.boolean().default(true),
    source('Create thumbnails while listing. False: no `thumb` fields, no thumbnail folder, no icons.'),
  ),
  thumbSize: setting(
    positive.max(4096).default(250),
    source(
      'Side in pixels of the square that thumbnails fit into. Thumbnails that exist keep their size until ' +
        'their image changes.',
    ),
  ),
  thumbFolderName: setting(
    segment.default('_thumbs'),
    source('Folder inside each listed folder where thumbnails are stored; hidden and out of reach.'),
  ),
  safeThumbsCountInOneTime: setting(
    count.default(20),
    source('Most new thumbnails that one listing creates.'),
  ),
  generateSvgThumbs: setting(
    z.boolean().default(true),
    source(
      'Draw SVG icons for folders and for files that are not images; false: such items point to the file ' +
        'itself.',
    ),
  ),
  svgThumbWidth: setting(positive.default(100), source('Width handed to the icon generator, in pixels.')),
  svgThumbHeight: setting(positive.default(100), source('Height handed to the icon generator, in pixels.')),
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
  accessControl: setting(
    z.array(accessRuleSchema).default([]),
    global('Access rules; the last applying one that names the action decides.'),
  ),
  imageMemory: setting(
    byteSize.prefault('512mb'),
    global(
      'Memory for pictures that are being decoded and edited, all together, as estimated from their ' +
        'headers; the process may take one and a half times as much for them. A picture that needs more ' +
        'alone is refused (400), or listed with the icon of its extension.',
    ),
  ),
  defaultRole: setting(
    z.string().min(1).default('guest'),
    global('Role of every request when there is no `checkAuthentication` hook.'),
  ),
  auth: setting(
    authSchema.optional(),
    global(
      'Take the role of a request from a header of a trusted proxy (`header` and `from`), or from a signed token ' +
        '(`jwt`), in place of `defaultRole`. Without it, or from elsewhere: 401.',
    ),
  ),
  ...clientSettings,
  roleSessionVar: setting(z.string().default('JoditUserRole'), unused('roles come from the hook.')),
  allowCrossOrigin: setting(
    z.boolean().default(false),
    global('Answer cross-origin requests with CORS headers.'),
  ),
  allowedOrigins: setting(
    z.array(origin).nullable().default(null),
    global('Accepted origins when `allowCrossOrigin` is on; null accepts all, an empty list none.'),
  ),
  onlyPOST: setting(z.boolean().default(false), global('Reject every GET with 405, /ping included.')),
  refuseCrossSite: setting(
    z.boolean().default(false),
    global(
      'Refuse requests that pages of other origins make (403), as browsers report by Sec-Fetch-Site, ' +
        'Origin or Referer, unless cross-origin settings accept them; and changes by GET without such a ' +
        'header.',
    ),
  ),
  errorHttpStatus: setting(
    z.boolean().default(true),
    global(
      'Send the status of an error in the status line. False: errors of actions come with 200 and the ' +
        'number only in `data.code`.',
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
  memoryLimit: setting(z.string().default('256M'), unused('memory is bounded by design.')),
  documents: setting(documentsSchema.prefault({}), global('How documents are made.')),
  pdf: setting(pdfSchema.prefault({}), source('Settings of generated documents.')),
  serve: setting(
    z.enum(servingModes).default('off'),
    source(
      'Whether the service itself serves the files, below `/file/<source>/`: to everybody (`public`), to those ' +
        'whom checkAuthentication and the rule FILE_DOWNLOAD let (`protected`), or by links that expire ' +
        '(`signed`). Thumbnails are then made when a browser asks for them.',
    ),
  ),
  delivery: setting(
    z.enum(deliveries).default('stream'),
    source(
      'Who sends the bytes of served files: the service (`stream`), the store by a redirect to a URL that ' +
        'expires soon (`redirect`; S3, Azure, Google Cloud Storage), or the web server in front ' +
        '(`x-accel-redirect` of nginx, `x-sendfile` of Apache; local sources).',
    ),
  ),
  deliveryPrefix: setting(
    z.string().regex(/^\//u, 'must begin with a slash').optional(),
    source(
      'What stands before the path of a file in `X-Accel-Redirect` (an internal location of nginx) or ' +
        '`X-Sendfile` (a directory; default: the root of the source).',
    ),
  ),
  serveCacheControl: setting(
    cacheControl.optional(),
    source(
      '`Cache-Control` of served files. Default: browsers ask each time whether a file has changed; `public` ' +
        'sources may be kept by shared caches, all others not: there `private` is added where it is missing.',
    ),
  ),
  signedUrlLifetime: setting(
    positive.max(MAX_TIMER_SECONDS).default(3600),
    source('How long the links of a `signed` source are good, in seconds.'),
  ),
  thumbPlaceholder: setting(
    z.boolean().default(false),
    source(
      'Show the icon of its type where a picture has no thumbnail yet because the quota is used up. False: such ' +
        'items have no `thumb`.',
    ),
  ),
  ...keepingShape,
  ...pictureSettings,
  signingSecret: setting(
    signingKeys.optional(),
    global(
      'Keys that sign links: the first one signs, all are accepted, so that keys can be changed. Default: ' +
        'STOWAGE_SIGNING_SECRET, several separated by blanks.',
    ),
  ),
  publicUrl: setting(
    ownAddress.optional(),
    global(
      'Address of the service as browsers see it, when a proxy changes it: `https://www.example.com/connector/` ' +
        'or only a path. Default: the path that requests come to.',
    ),
  ),
} as const;

export const settingsSchema = z.strictObject(settingsShape);

/** All settings with their defaults filled in. Sizes are bytes, extensions lower case. */
export type Settings = Readonly<z.output<typeof settingsSchema>>;

/** Settings as written in a configuration file: every key optional. */
export type SettingsInput = Readonly<z.input<typeof settingsSchema>>;
