import { resolve } from 'node:path';
import ipaddr from 'ipaddr.js';
import * as z from 'zod';
import { isSegment } from '../../storage/source-path.ts';
import { baseurlProblem, parseByteSize, parseOrigin, withSlash } from '../values.ts';

/** Description of a setting for the reference page and the JSON schema, besides type and default. */
export interface SettingMeta {
  readonly meaning: string;
  /** `source`: a source may override it. `global`: it is read before the source is known. */
  readonly scope: 'global' | 'source';
  /** Accepted for compatibility, without any effect. */
  readonly unused?: true;
}

/** The metadata of every setting, found by its schema. */
export const settingMeta = z.registry<SettingMeta>();

export const setting = <Schema extends z.ZodType>(schema: Schema, meta: SettingMeta): Schema => {
  settingMeta.add(schema, meta);
  return schema;
};

/** Metadata of a setting that a source may override. */
export const source = (meaning: string): SettingMeta => ({ meaning, scope: 'source' });
/** Metadata of a setting that applies before the source is known. */
export const global = (meaning: string): SettingMeta => ({ meaning, scope: 'global' });
/** Metadata of a setting that is accepted for compatibility. */
export const unused = (meaning: string): SettingMeta => ({
  meaning: `Accepted for compatibility; ignored: ${meaning}`,
  scope: 'source',
  unused: true,
});

/** Longest delay of a timer, in seconds. */
export const MAX_TIMER_SECONDS = 2_147_483;

export const isWebAddress = (text: string): boolean =>
  URL.canParse(text) && /^https?:$/u.test(new URL(text).protocol);

export const list = (text: string): string[] => text.split(' ');

/** The extensions that a source allows by default. */
export const defaultExtensions: readonly string[] = list(
  'jpg png gif jpeg bmp ico psd svg webp ttf tif ai txt css html js htm ini xml zip rar 7z gz tar pps ppt pptx odp xls xlsx csv ' +
    'doc docx pdf rtf avi flv 3gp mov mkv mp4 wmv avif heic webm mp3 ogg wav json md odt ods',
);

const BYTE_SIZE = 'must be a number of bytes, or a number with b, kb, mb or gb';

export const byteSize = z.union([z.string(), z.number()], BYTE_SIZE).transform((value, context) => {
  const bytes = parseByteSize(value);
  if (bytes !== undefined) return bytes;
  context.addIssue(BYTE_SIZE);
  return z.NEVER;
});

/** A path of this machine. Made absolute: the process may change its directory later. */
export const localPath = z
  .string()
  .min(1)
  .overwrite((text) => resolve(text));

/** A file extension, in lower case. */
export const extension = z
  .string()
  .regex(/^[^\s./\\]+$/u, 'must be an extension without a dot')
  // A pattern would be taken for an extension, and hide every file.
  .regex(/^[^*?,;|]+$/u, 'must be one extension, such as "jpg": no wildcard, and no list in one text')
  .transform((text) => text.toLowerCase());

/** The name of a file or folder: one segment of a path. */
export const segment = z
  .string()
  .refine((name) => isSegment(name), 'must be the name of a file or folder, without a path');

/** The name of a hidden folder that the service writes; those with the prefix have other contents. */
export const hiddenFolder = segment.refine(
  (name) => !/^\.stowage-/iu.test(name),
  'must not begin with ".stowage-", as internal folders do',
);

export const origin = z.string().transform((text, context) => {
  const parsed = parseOrigin(text);
  if (parsed !== undefined) return parsed;
  context.addIssue('must be an origin such as https://www.example.com (scheme, host and port only)');
  return z.NEVER;
});

const SIGNING_KEYS = 'must not be shorter than 32 bytes: try `openssl rand -base64 48`';

/** Keys of signatures; short ones could be guessed. Problems never contain the value. */
export const signingKeys = z
  .union([z.string(), z.array(z.string()).min(1)], SIGNING_KEYS)
  .transform((written, context) => {
    const keys = [written].flat();
    if (keys.every((key) => Buffer.byteLength(key) >= 32)) return keys;
    context.addIssue(SIGNING_KEYS);
    return z.NEVER;
  });

/** The value of a header: printable ASCII. */
export const headerValue = z.string().regex(/^[\x20-\x7e]+$/u, 'must be the value of a header, in ASCII');

const CACHE_DIRECTIVES = new Set(
  list(
    'max-age s-maxage no-cache no-store no-transform must-revalidate proxy-revalidate must-understand private public ' +
      'immutable stale-while-revalidate stale-if-error',
  ),
);

/** Valid directives of `Cache-Control`. Browsers and caches silently ignore all others. */
export const cacheControl = headerValue.refine(
  (text) =>
    text
      .split(',')
      .every((directive) => CACHE_DIRECTIVES.has(directive.split('=', 1)[0]?.trim().toLowerCase() ?? '')),
  'must be a Cache-Control such as "public, max-age=3600"',
);

/** A public address: with or without an origin. */
export const ownAddress = z.string().transform((text, context) => {
  const message = baseurlProblem(text);
  if (message === undefined) return withSlash(text);
  context.addIssue(message);
  return z.NEVER;
});

/** Whole numbers: any, from one, from zero. */
export const whole = z.number().int();
export const positive = whole.positive();
export const count = whole.nonnegative();

export const sortOrders = [
  'name-asc',
  'name-desc',
  'changed-asc',
  'changed-desc',
  'size-asc',
  'size-desc',
] as const;
export type SortOrder = (typeof sortOrders)[number];

export const sameNameStrategies = ['addNumber', 'replace', 'error'] as const;
export type SameNameStrategy = (typeof sameNameStrategies)[number];

/** IPv6 sockets report IPv4 clients as ::ffff:127.0.0.1; they are compared as IPv4. */
const withoutMapping = (text: string): string => {
  const [address = '', bits] = text.split('/');
  if (!ipaddr.isValid(address)) return text;
  const parsed = ipaddr.parse(address);
  if (!(parsed instanceof ipaddr.IPv6) || !parsed.isIPv4MappedAddress() || Number(bits ?? 128) < 96)
    return text;
  return parsed.toIPv4Address().toString() + (bits === undefined ? '' : `/${String(Number(bits) - 96)}`);
};

/** The library also accepts other forms of numbers, and reads `10/8` as 0.0.0.10/8. */
const isNetwork = (text: string): boolean => {
  const [address = ''] = text.split('/');
  const isWritten = ipaddr.IPv4.isValidFourPartDecimal(address) || ipaddr.IPv6.isValid(address);
  return isWritten && (ipaddr.isValidCIDR(text) || ipaddr.isValid(text));
};

/** An address, a network of addresses, or `unix`. IPv4-mapped IPv6 addresses become IPv4. */
export const network = z
  .string()
  .refine(
    (text) => text === 'unix' || isNetwork(text),
    'must be an address or a network such as 127.0.0.1 or 10.0.0.0/8, or unix',
  )
  .transform(withoutMapping);
