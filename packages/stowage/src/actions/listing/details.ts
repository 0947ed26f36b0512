import { mediaTypeOf } from '../../basics/content/file-type.ts';
import type { PictureSizes } from '../../pictures/kept/sizes.ts';
import type { Entries, Entry } from '../../storage/entry.ts';
import type { SourcePath } from '../../storage/source-path.ts';
import type { Source } from '../../sources/source.ts';
import type { Details } from './item.ts';

const DAY_MS = 24 * 60 * 60_000;

const padded = (value: number, digits: number): string => String(value).padStart(digits, '0');

/**
 * Creates a formatter to ISO 8601 in UTC; undefined for a time outside the range of dates. The files of a
 * folder usually date from few days: caching the text of each day makes it ten times faster.
 */
const createIsoFormat = (): ((milliseconds: number | undefined) => string | undefined) => {
  const dates = new Map<number, string>();
  const dateOf = (day: number): string => {
    const known = dates.get(day);
    if (known !== undefined) return known;
    const [date = ''] = new Date(day * DAY_MS).toISOString().split('T');
    dates.set(day, date);
    return date;
  };
  return (milliseconds) => {
    const time = new Date(milliseconds ?? Number.NaN).getTime();
    if (Number.isNaN(time)) return undefined;
    const day = Math.floor(time / DAY_MS);
    const rest = time - day * DAY_MS;
    const [hours, minutes] = [Math.floor(rest / 3_600_000), Math.floor(rest / 60_000) % 60];
    const [seconds, thousandths] = [Math.floor(rest / 1000) % 60, rest % 1000];
    const clock = `${padded(hours, 2)}:${padded(minutes, 2)}:${padded(seconds, 2)}.${padded(thousandths, 3)}`;
    return `${dateOf(day)}T${clock}Z`;
  };
};

/** Details of entries. Reads the headers of pictures and no other content. */
export const detailsOf = async (
  sizes: PictureSizes,
  source: Source,
  folder: SourcePath,
  entries: Entries,
  signal: AbortSignal,
) => {
  const isoTime = createIsoFormat();
  const seen = await sizes.of(source, folder, entries, signal);
  return {
    /** The sizes of pictures, in the order of the entries. */
    seen,
    /** Details of an entry by its index, created on demand. */
    of: ({ name, kind, size, modifiedAt, etag }: Entry, index: number): Details =>
      kind === 'folder'
        ? { modified: isoTime(modifiedAt) }
        : {
            bytes: size,
            modified: isoTime(modifiedAt),
            mime: mediaTypeOf(name),
            etag,
            width: seen[index]?.width,
            height: seen[index]?.height,
          },
  };
};
