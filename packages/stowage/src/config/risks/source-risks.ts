import { access } from 'node:fs/promises';
import { homedir } from 'node:os';
import { isAbsolute, join, parse, relative } from 'node:path';
import { succeeds } from '../../basics/files/system-errors.ts';
import { orUndefined } from '../../errors/errors.ts';
import { isPlainObject, type PlainObject } from '../values.ts';
import type { SourceConfig } from '../types.ts';
import { riskIf, type SettingRisk } from './value-risks.ts';

/** Entries that occur in folders of programs, but not in folders of pictures and documents. */
const OF_PROGRAMS = ['package.json', 'node_modules', '.git', '.env', 'stowage.json', 'composer.json'];

const OF_SYSTEM =
  /^\/(?:(?:dev|home|lib\w*|opt|root|usr|var)$|(?:bin|boot|etc|proc|sbin|sys)(?:\/|$)|(?:.*\/)?\.(?:aws|gnupg|ssh)(?:\/|$))/u;

/** Placeholders that were not replaced: variables of other programs, wildcards, Windows drives. */
const UNREAD =
  /\$\{[^}/]*\}|\$[A-Z_]{3,}|\{\{.*\}\}|%\w+%|\*|(?<![^/])(?:undefined|null|NaN|[A-Za-z]:\\.*)(?![^/])/u;

export const holds = (outer: string, inner: string): boolean => {
  const path = relative(outer, inner);
  return path === '' || (!path.startsWith('..') && !isAbsolute(path));
};

const strangeIn = (root: string): string | undefined => {
  if (root === parse(root).root) return 'is the whole file system';
  if (OF_SYSTEM.test(root)) return 'is a folder of the operating system';
  // A user without an entry in the system, and without HOME, has none.
  if (root === orUndefined(homedir)) return 'is the home directory of the user that the service runs as';
  return holds(root, process.cwd())
    ? 'holds the directory that the service runs in, and what is configured there'
    : undefined;
};

const strangeRoot = ({ key, settings }: SourceConfig, root: string, strange: string) => [
  {
    key: `sources.${key}.root`,
    text: `${root} ${strange}: users of the source can list and change all of it${settings.serve === 'public' ? ', and everybody can download it' : ''}`,
    fix: 'Give the source a folder of its own: "root": "/srv/photos".',
  },
];

const rootRisks = (source: SourceConfig): readonly SettingRisk[] => {
  const { key, root, storageAdapter } = source;
  if (storageAdapter !== 'local' || root === undefined) return [];
  const unread = process.platform === 'win32' ? undefined : UNREAD.exec(root)?.[0];
  if (unread !== undefined)
    return [
      {
        key: `sources.${key}.root`,
        text: `has ${JSON.stringify(unread)}, which is not replaced: the folder has exactly this name`,
        fix: 'Write the whole path, or { "env": "NAME" }.',
      },
    ];
  const strange = strangeIn(root);
  return strange === undefined ? [] : strangeRoot(source, root, strange);
};

/** Whether something is there, as far as this process may see it. */
export const isThere = (path: string): Promise<boolean> => succeeds(access(path));

/** The same of what lies in the root of a local source. */
export const programRisks = async (source: SourceConfig): Promise<readonly SettingRisk[]> => {
  const { root, storageAdapter } = source;
  if (storageAdapter !== 'local' || root === undefined || strangeIn(root) !== undefined) return [];
  for (const name of OF_PROGRAMS)
    if (await isThere(join(root, name)))
      return strangeRoot(source, root, `holds ${name}, and so is the folder of a program`);
  return [];
};

const REGION =
  /^(?:af|ap|ca|cn|eu|eusc|il|me|mx|sa|us)(?:-gov|-iso[a-z]?|-[a-z]{2})?-(?:north|south|east|west|central|northeast|northwest|southeast|southwest)-\d$/u;

const s3Risks = (key: string, { region, endpoint, bucket }: PlainObject): readonly SettingRisk[] => {
  const at = `sources.${key}.s3`;
  if (typeof endpoint !== 'string')
    return riskIf(
      typeof region === 'string' && !REGION.test(region),
      `${at}.region`,
      `"${String(region)}" does not look like a region of Amazon S3`,
      'Write one such as "eu-central-1", or the endpoint of the service that has it.',
    );
  const { hostname, pathname } = new URL(endpoint);
  const first = pathname.split('/')[1];
  const start = `${String(bucket)}.`;
  // The host of a custom domain may begin with the same word: media.example.com.
  const isBucketHost =
    hostname.startsWith(start) && /^s3[.-]|(?:\.[^.]+){2}$/u.test(hostname.slice(start.length));
  return riskIf(
    isBucketHost || first === bucket,
    `${at}.endpoint`,
    'holds the name of the bucket, which is added to it once more',
    'Write the address of the service alone: "https://s3.example.com".',
  );
};

/** Maximum plausible timeout; larger values look like milliseconds. */
const MOST_SECONDS = 3600;
const TIMEOUTS = ['timeout', 'connectTimeout', 'readTimeout'];

const timeoutRisks = (key: string, adapter: string, options: PlainObject): readonly SettingRisk[] =>
  TIMEOUTS.flatMap((name) => {
    const seconds = Number(options[name] ?? 0);
    return riskIf(
      seconds >= MOST_SECONDS,
      `sources.${key}.${adapter}.${name}`,
      `is in seconds: a store that is silent is waited for ${String(Math.round(seconds / 60))} minutes`,
      'Write seconds, not milliseconds: 30.',
    );
  });

const unusedRisks = ({ key, storageAdapter, unusedOptions, unserved }: SourceConfig) => [
  ...unusedOptions.map((name) => ({
    key: `sources.${key}.${name}`,
    text: `has no effect: the files of this source are in its storageAdapter "${storageAdapter}"`,
    fix: `Write "storageAdapter": "${name}", or remove it.`,
  })),
  ...unserved.map((name) => ({
    key: `sources.${key}.${name}`,
    text: 'has no effect: the service does not serve the files of this source',
    fix: 'Write "serve": "public", "protected" or "signed", or remove it.',
  })),
];

/** Warnings about originals with all metadata in a published root. Servers hide dot folders. */
const originalRisks = ({ key, baseurl, settings: { uploadImages } }: SourceConfig) => {
  const { metadata = '', keepOriginal = false } = uploadImages ?? {};
  const isPublished = baseurl !== undefined && keepOriginal !== false && !keepOriginal.startsWith('.');
  return riskIf(
    isPublished && metadata.startsWith('strip'),
    `sources.${key}.uploadImages.keepOriginal`,
    `is "${String(keepOriginal)}": the web server of baseurl also publishes the originals, with the metadata that metadata "${metadata}" removes`,
    `Write ".${String(keepOriginal)}", and let the web server refuse names that begin with a dot.`,
  );
};

const EXTENSIONS_OF_FORMAT = { keep: [], webp: ['webp'], avif: ['avif'], jpeg: ['jpg', 'jpeg'] } as const;

const formatRisks = ({ key, settings }: SourceConfig): readonly SettingRisk[] => {
  const { uploadImages, extensions, imageExtensions } = settings;
  const { format = 'keep' } = uploadImages ?? {};
  const wanted: readonly string[] = EXTENSIONS_OF_FORMAT[format];
  const takesPictures = imageExtensions.some((one) => one !== 'svg' && extensions.includes(one));
  return riskIf(
    takesPictures && wanted.length > 0 && !wanted.some((one) => extensions.includes(one)),
    `sources.${key}.uploadImages.format`,
    `stores pictures as ${format}, which extensions do not allow: uploads of pictures are refused`,
    `Add "${wanted[0] ?? ''}" to extensions.`,
  );
};

/** Warnings about the locations of sources. */
export const sourceRisks = (source: SourceConfig): readonly SettingRisk[] => {
  const { key, storageAdapter, adapterOptions } = source;
  const options = isPlainObject(adapterOptions) ? adapterOptions : {};
  return [
    ...rootRisks(source),
    ...unusedRisks(source),
    ...originalRisks(source),
    ...formatRisks(source),
    ...(storageAdapter === 's3' ? s3Risks(key, options) : []),
    ...timeoutRisks(key, storageAdapter, options),
  ];
};
