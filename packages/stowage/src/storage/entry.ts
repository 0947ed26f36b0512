/**
 * What lies at a path. Stores know nothing else: links, sockets and devices are neither listed nor reached.
 */
export type EntryKind = 'file' | 'folder';

/** One entry of a folder. `size` and `modifiedAt` are undefined where the store does not report them. */
export interface Entry {
  readonly name: string;
  readonly kind: EntryKind;
  /** Bytes; undefined for folders and where the store does not report it. */
  readonly size: number | undefined;
  /** Milliseconds since 1970; undefined where the store does not report it. */
  readonly modifiedAt: number | undefined;
  /** Of a file, as in `Stat`, where a listing has it for free. */
  readonly etag?: string | undefined;
  /**
   * Milliseconds since 1970 of the last change of anything about the entry, its name and its times too, which
   * no program can set; absent where the store does not report it.
   */
  readonly changedAt?: number | undefined;
}

/** Entries in an order. A long list may make each when it is asked for: do not compare identities. */
export interface Entries extends Iterable<Entry> {
  readonly length: number;
  at(index: number): Entry | undefined;
}

/** An entry with its version. */
export interface Stat extends Entry {
  /**
   * Quoted strong validator of a file's content, as in the HTTP `ETag` header; undefined for folders and
   * where the store has none.
   */
  readonly etag: string | undefined;
}

/** A folder of which nothing but its name is known. */
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
 * The order of a walk, which every way of walking keeps, so that one can go on where another has stopped: the
 * entries of a folder by their names, with a slash behind those of folders.
 */
export const keyOf = (entry: { readonly name: string; readonly kind: 'file' | 'folder' }): string =>
  entry.kind === 'folder' ? `${entry.name}/` : entry.name;

/** Compares two entries of one folder. */
export const byKey = (left: { readonly key: string }, right: { readonly key: string }): number =>
  left.key < right.key ? -1 : left.key === right.key ? 0 : 1;

/** The key of the first name of a position, and the position below it: empty where the walk begins there. */
export const firstOf = (position: string): { readonly key: string; readonly below: string } => {
  const end = position.indexOf('/') + 1;
  return end === 0
    ? { key: position, below: '' }
    : { key: position.slice(0, end), below: position.slice(end) };
};

const SECOND = 1000;

/** Stores tell the time of a file to the millisecond in one answer and to the second in another. */
export const isSameTime = (one: number, other: number): boolean =>
  one === other ||
  ((one % SECOND === 0 || other % SECOND === 0) && Math.floor(one / SECOND) === Math.floor(other / SECOND));

// Some servers call the tag of a young file weak, and a moment later strong.
const opaque = (etag: string): string => etag.replace(/^W\//u, '');

/** Whether two looks at a file show the same content, by all that the store reports both times. */
export const isSameVersion = (one: Stat, other: Stat): boolean =>
  one.size === other.size &&
  (one.modifiedAt === undefined ||
    other.modifiedAt === undefined ||
    isSameTime(one.modifiedAt, other.modifiedAt)) &&
  (one.etag === undefined || other.etag === undefined || opaque(one.etag) === opaque(other.etag));
