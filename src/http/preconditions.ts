/** The version of a file that conditional requests are compared with. */
export interface Version {
  /** Strong, quoted; undefined: none. */
  readonly etag: string | undefined;
  /** Milliseconds since 1970; undefined: not known. */
  readonly modifiedAt: number | undefined;
}

type Headers = Readonly<Record<string, string | undefined>>;

const seconds = (milliseconds: number): number => Math.floor(milliseconds / 1000);

const parseDate = (header: string | undefined): number | undefined => {
  const time = header === undefined ? Number.NaN : Date.parse(header);
  return Number.isNaN(time) ? undefined : seconds(time);
};

/** Entity tags may hold commas, so the list is not split but searched. */
const tagsOf = (header: string): readonly string[] => header.match(/(?:W\/)?"[^"]*"/gu) ?? [];

const listMatches = (header: string, etag: string | undefined, weak: boolean): boolean => {
  if (header.trim() === '*') return true;
  if (etag === undefined) return false;
  return tagsOf(header).some((tag) => (weak ? tag.replace(/^W\//u, '') : tag) === etag);
};

const modifiedSince = ({ modifiedAt }: Version, date: number | undefined): boolean | undefined =>
  modifiedAt === undefined || date === undefined ? undefined : seconds(modifiedAt) > date;

/**
 * Decides a conditional GET or HEAD in the order of the standard.
 * @see https://www.rfc-editor.org/rfc/rfc9110#section-13.2.2
 */
export const judgePreconditions = (
  headers: Headers,
  version: Version,
): 'send' | 'not-modified' | 'failed' => {
  const ifMatch = headers['if-match'];
  if (ifMatch !== undefined) {
    if (!listMatches(ifMatch, version.etag, false)) return 'failed';
  } else if (modifiedSince(version, parseDate(headers['if-unmodified-since'])) === true) {
    return 'failed';
  }
  const ifNoneMatch = headers['if-none-match'];
  if (ifNoneMatch !== undefined) {
    return listMatches(ifNoneMatch, version.etag, true) ? 'not-modified' : 'send';
  }
  return modifiedSince(version, parseDate(headers['if-modified-since'])) === false ? 'not-modified' : 'send';
};

/** Whether `If-Range`, when given, still means this version: an exact strong tag, or exactly the last modification. */
export const rangeStillApplies = (headers: Headers, { etag, modifiedAt }: Version): boolean => {
  const header = headers['if-range']?.trim();
  if (header === undefined) return true;
  if (header.endsWith('"')) return header === etag;
  return modifiedAt !== undefined && parseDate(header) === seconds(modifiedAt);
};
