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

/** An entry with its version. */
export interface Stat extends Entry {
  /**
   * Quoted strong validator of a file's content, as in the HTTP `ETag` header; undefined for folders and
   * where the store has none.
   */
  readonly etag: string | undefined;
}

/** First and last byte, both included, as in HTTP. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}
