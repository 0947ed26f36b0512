/** Kinds of entries. Links, sockets and devices are neither listed nor accessible. */
export type EntryKind = 'file' | 'folder';

/** One entry of a folder. `size` and `modifiedAt` are undefined where the store does not report them. */
export interface Entry {
  readonly name: string;
  readonly kind: EntryKind;
  /** Bytes; undefined for folders and where the store does not report it. */
  readonly size: number | undefined;
  /** Milliseconds since 1970; undefined where the store does not report it. */
  readonly modifiedAt: number | undefined;
  /** ETag of a file, as in `Stat`, where a listing includes it at no extra cost. */
  readonly etag?: string | undefined;
  /**
   * Milliseconds since 1970 of the last change of the entry's content, name or metadata, which no program can
   * set; absent where the store does not report it.
   */
  readonly changedAt?: number | undefined;
}

/** A sequence of entries. A long one may create entries on access: do not compare identities. */
export interface Entries extends Iterable<Entry> {
  readonly length: number;
  at(index: number): Entry | undefined;
}

/** An entry with its version. */
export interface Stat extends Entry {
  /** Quoted strong validator of a file's content, as in HTTP; undefined for folders and where none exists. */
  readonly etag: string | undefined;
}

/** A folder of which only the name is known. */
export const folderNamed = (name: string): Stat & { readonly kind: 'folder' } => ({
  name,
  kind: 'folder',
  size: undefined,
  modifiedAt: undefined,
  etag: undefined,
});

/** First and last byte, both included, as in HTTP. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/**
 * Sort key of an entry within its folder: its name, followed by a slash for folders. Every walk uses this
 * order, so that one can resume where another stopped.
 */
export const keyOf = (entry: { readonly name: string; readonly kind: 'file' | 'folder' }): string =>
  entry.kind === 'folder' ? `${entry.name}/` : entry.name;

export const byKey = (left: { readonly key: string }, right: { readonly key: string }): number =>
  left.key < right.key ? -1 : left.key === right.key ? 0 : 1;

/** The key of the first name of a position, and the position below it: empty where the walk starts there. */
export const firstOf = (position: string): { readonly key: string; readonly below: string } => {
  const end = position.indexOf('/') + 1;
  return end === 0
    ? { key: position, below: '' }
    : { key: position.slice(0, end), below: position.slice(end) };
};

const SECOND = 1000;

/** Compares times, which some stores report in milliseconds in one response and in seconds in another. */
export const isSameTime = (one: number, other: number): boolean =>
  one === other ||
  ((one % SECOND === 0 || other % SECOND === 0) && Math.floor(one / SECOND) === Math.floor(other / SECOND));

// Some servers report a weak tag for a new file and the same tag as strong a moment later.
const opaque = (etag: string): string => etag.replace(/^W\//u, '');

/** Whether two stats describe the same content, by all properties that both have. */
export const isSameVersion = (one: Stat, other: Stat): boolean =>
  one.kind === other.kind &&
  (one.size === undefined || other.size === undefined || one.size === other.size) &&
  (one.modifiedAt === undefined ||
    other.modifiedAt === undefined ||
    isSameTime(one.modifiedAt, other.modifiedAt)) &&
  (one.etag === undefined || other.etag === undefined || opaque(one.etag) === opaque(other.etag));

/** How long a request may reuse its lookup of an entry: short, because an upload may take hours. */
export const LOOKUP_MS = 5000;
