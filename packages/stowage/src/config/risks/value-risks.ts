import { mediaTypeExtensions } from '../../basics/content/file-type.ts';
import { defaultExtensions } from '../settings/values.ts';
import type { Settings } from '../settings.ts';

/** A setting that is accepted but probably unintended, or less secure than it seems. */
export interface SettingRisk {
  /** Dotted: `sources.photos.root`. */
  readonly key: string;
  /** The consequence; follows the key. */
  readonly text: string;
  /** One sentence with a better value. */
  readonly fix: string;
  /** It concerns requests without a login, which `doctor` checks separately. */
  readonly isOfStrangers?: true;
}

/** Whether two texts differ by one transposition of neighbouring letters: `jepg`, `jpeg`. */
export const isTransposed = (one: string, other: string): boolean => {
  if (one.length !== other.length) return false;
  let at = 0;
  while (at < one.length && one[at] === other[at]) at += 1;
  return (
    one[at + 1] === other[at] &&
    one[at] === other[at + 1] &&
    one.slice(at + 2) === other.slice(at + 2) &&
    /^\p{L}{2}$/u.test(one.slice(at, at + 2))
  );
};

export const riskIf = (isThere: boolean, key: string, text: string, fix: string): readonly SettingRisk[] =>
  isThere ? [{ key, text, fix }] : [];

export const riskLine = ({ key, text, fix }: SettingRisk): string => `${key}: ${text}. ${fix}`;

type Check = (settings: Settings) => readonly SettingRisk[];

const KB = 1024;
const HOUR = 3600;

const tooSmall = (key: string, bytes = KB): readonly SettingRisk[] =>
  riskIf(
    bytes < KB,
    key,
    `is ${String(bytes)} bytes; a number without a unit counts bytes`,
    'Write it with kb, mb or gb: "20mb".',
  );

const sizes: Check = (settings) => [
  ...tooSmall('maxUploadFileSize', settings.maxUploadFileSize),
  ...tooSmall('maxFileSize', settings.maxFileSize),
  ...tooSmall('zipLimits.bytes', settings.zipLimits.bytes),
  ...tooSmall('quota.bytes', settings.quota?.bytes),
  ...tooSmall('trash.maxBytes', settings.trash?.maxBytes),
  ...tooSmall('imageMemory', settings.imageMemory),
  ...tooSmall('tus.maxBytes', settings.tus?.maxBytes),
  ...tooSmall('tus.maxBytesPerClient', settings.tus?.maxBytesPerClient),
];

const tooLong = (key: string, seconds = 0): readonly SettingRisk[] =>
  riskIf(
    seconds > HOUR,
    key,
    `is in seconds: ${String(seconds)} are ${String(Math.round((seconds / HOUR) * 10) / 10)} hours`,
    'Write seconds, not milliseconds.',
  );

const times: Check = ({ timeoutLimit, dynamicSourcesCache: { ttlMs }, rateLimits = {} }) => [
  ...tooLong('timeoutLimit', timeoutLimit),
  ...Object.entries(rateLimits).flatMap(([name, limit]) =>
    tooLong(`rateLimits.${name}.seconds`, limit?.seconds),
  ),
  ...riskIf(
    ttlMs < 1000,
    'dynamicSourcesCache.ttlMs',
    `is in milliseconds: the sources of a tenant are built anew after ${String(ttlMs)} ms`,
    'Write 60000 for a minute.',
  ),
];

const WORDS = ['all', 'any', 'image', 'images', 'none'];

const KNOWN = [...new Set([...mediaTypeExtensions, ...defaultExtensions])];

/** The known extension that was probably meant. A list with both means both. */
const misspelt = (extension: string, all: readonly string[]): string | undefined => {
  if (WORDS.includes(extension)) return 'jpg';
  if (KNOWN.includes(extension)) return undefined;
  return KNOWN.find((one) => isTransposed(one, extension) && !all.includes(one));
};

const extensions: Check = (settings) => [
  ...riskIf(
    settings.extensions.length === 0,
    'extensions',
    'is empty: every folder looks empty, and every upload is refused',
    'List the extensions that are allowed, or remove the key for the default ones.',
  ),
  ...(['extensions', 'imageExtensions'] as const).flatMap((key) =>
    settings[key].flatMap((extension) => {
      const meant = misspelt(extension, settings[key]);
      const text = `has "${extension}", which is not a known extension`;
      return riskIf(meant !== undefined, key, text, `Did you mean "${meant ?? ''}"?`);
    }),
  ),
];

/** Letters that other libraries read as a part of a date, and that have another meaning or none here. */
const dateProblem = (format: string): string | undefined => {
  const read = format.replaceAll(/\[[^\]]*\]/gu, '');
  if (/y/u.test(read)) return 'the year is YYYY: "y" is printed as it is';
  if (/(?<!d)dd?(?!d)/u.test(read) && !/D/u.test(read))
    return 'the day of the month is DD: "dd" is a weekday';
  if (/[DY][-./]m|m[-./][DY]/u.test(read)) return 'the month is MM: "mm" are minutes';
  if (/[Hh]:M/u.test(read)) return 'minutes are mm: "MM" is the month';
  return undefined;
};

const listings: Check = (settings) => {
  const { countInChunk, datetimeFormat, thumbFolderName, createThumb, excludeDirectoryNames } = settings;
  const dates = dateProblem(datetimeFormat);
  const looksLikeContent = createThumb && !/^[^\p{L}\p{N}]|thumb|tmb|preview|cache/iu.test(thumbFolderName);
  return [
    ...riskIf(
      countInChunk === 0,
      'countInChunk',
      'is 0: every listing is empty',
      'Write how many items a page has: 100.',
    ),
    ...riskIf(
      dates !== undefined,
      'datetimeFormat',
      `is ${JSON.stringify(datetimeFormat)}; ${dates ?? ''}`,
      'Write "YYYY-MM-DD HH:mm".',
    ),
    ...excludeDirectoryNames.flatMap((name) =>
      riskIf(
        /[*?]/u.test(name),
        'excludeDirectoryNames',
        `has "${name}": only items of exactly this name are hidden`,
        'Write each name that is to be hidden, without wildcards.',
      ),
    ),
    ...riskIf(
      looksLikeContent,
      'thumbFolderName',
      `is "${thumbFolderName}": every folder of that name is hidden, with the files in it`,
      'Use a name that is not taken by folders of your users: "_thumbs".',
    ),
  ];
};

/** Warnings about values that are probably unintended, for any source. */
export const valueRisks: Check = (settings) =>
  [sizes, times, extensions, listings].flatMap((check) => check(settings));
