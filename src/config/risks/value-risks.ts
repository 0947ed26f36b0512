import { mediaTypeExtensions } from '../../content/mime-type.ts';
import { defaultExtensions } from '../setting-values.ts';
import type { Settings } from '../settings.ts';
import type { SettingRisk } from './risk.ts';

/** Settings of which one alone makes a risk, and what names it. */
type Check = (settings: Settings) => readonly SettingRisk[];

const KB = 1024;
const HOUR = 3600;
const DAY = 24 * HOUR;

const risk = (key: string, text: string, fix: string): readonly SettingRisk[] => [{ key, text, fix }];

const tooSmall = (key: string, bytes: number | undefined): readonly SettingRisk[] =>
  bytes === undefined || bytes >= KB
    ? []
    : risk(
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

const tooLong = (key: string, seconds: number | undefined, most: number): readonly SettingRisk[] =>
  seconds === undefined || seconds <= most
    ? []
    : risk(
        key,
        `is in seconds: ${String(seconds)} are ${String(Math.round((seconds / HOUR) * 10) / 10)} hours`,
        'Write seconds, not milliseconds.',
      );

const times: Check = ({ timeoutLimit, dynamicSourcesCache: { ttlMs }, rateLimits, signedUrlLifetime }) => [
  ...tooLong('timeoutLimit', timeoutLimit, HOUR),
  ...tooLong('signedUrlLifetime', signedUrlLifetime, 366 * DAY),
  ...(['uploads', 'pictures', 'documents', 'listings'] as const).flatMap((name) =>
    tooLong(`rateLimits.${name}.seconds`, rateLimits?.[name]?.seconds, HOUR),
  ),
  ...(ttlMs >= 1000
    ? []
    : risk(
        'dynamicSourcesCache.ttlMs',
        `is in milliseconds: the sources of a tenant are built anew after ${String(ttlMs)} ms`,
        'Write 60000 for a minute.',
      )),
];

const lettersOf = (text: string): string => [...text].sort().join('');

/** What the letters of a known extension can be misspelt as: `jepg`. */
const swapped = (extension: string): string | undefined => {
  const known = [...new Set([...mediaTypeExtensions, ...defaultExtensions])];
  if (known.includes(extension)) return undefined;
  return known.find((one) => lettersOf(one) === lettersOf(extension));
};

const extensions: Check = (settings) => [
  ...(settings.extensions.length > 0
    ? []
    : risk(
        'extensions',
        'is empty: every folder looks empty, and every upload is refused',
        'List the extensions that are allowed, or remove the key for the default ones.',
      )),
  ...(['extensions', 'imageExtensions'] as const).flatMap((key) =>
    settings[key].flatMap((extension) => {
      const meant = swapped(extension);
      return meant === undefined
        ? []
        : risk(key, `has "${extension}", which no known file has`, `Did you mean "${meant}"?`);
    }),
  ),
];

/** Letters that other libraries read as a date, and that mean something else here, or nothing. */
const dateProblem = (format: string): string | undefined => {
  const read = format.replaceAll(/\[[^\]]*\]/gu, '');
  if (/y/u.test(read)) return 'the year is YYYY: "y" is printed as it is';
  if (/(?<!d)dd?(?!d)/u.test(read) && !/D/u.test(read))
    return 'the day of the month is DD: "dd" is a weekday';
  if (/m/u.test(read) && !/[Hh]/u.test(read)) return 'the month is MM: "mm" are minutes';
  return undefined;
};

const listings: Check = ({ countInChunk, datetimeFormat, thumbFolderName, createThumb }) => {
  const dates = dateProblem(datetimeFormat);
  const looksLikeContent = createThumb && !/^[._]|thumb|tmb|preview|cache/iu.test(thumbFolderName);
  return [
    ...(countInChunk > 0
      ? []
      : risk('countInChunk', 'is 0: every listing is empty', 'Write how many items a page has: 100.')),
    ...(dates === undefined
      ? []
      : risk(
          'datetimeFormat',
          `is ${JSON.stringify(datetimeFormat)}; ${dates}`,
          'Write "YYYY-MM-DD HH:mm".',
        )),
    ...(looksLikeContent
      ? risk(
          'thumbFolderName',
          `is "${thumbFolderName}": every folder of that name is hidden, with the files in it`,
          'Take a name that no folder of people has: "_thumbs".',
        )
      : []),
  ];
};

/** Values that are probably not what was meant, whichever source they are of. */
export const valueRisks: Check = (settings) =>
  [sizes, times, extensions, listings].flatMap((check) => check(settings));
