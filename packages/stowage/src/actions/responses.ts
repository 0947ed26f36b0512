import type { Readable } from 'node:stream';
import type { ByteRange, Stat } from '../storage/entry.ts';

export interface FileResponseFields {
  readonly filename: string;
  readonly contentType: string;
  readonly stat: Pick<Stat, 'size' | 'modifiedAt' | 'etag'>;
  /** Headers that add to or replace those of a download; names in lower case. */
  readonly headers?: Readonly<Record<string, string>>;
  /** True: browsers may show the file instead of saving it. */
  readonly isInline?: boolean;
  /** Opens the content, or a range inside it. The caller owns a stream. Called at most once. */
  readonly open: (range?: ByteRange) => Promise<Readable | Uint8Array>;
}

/** A file as the response: the HTTP layer adds ranges, conditional requests and headers. */
export class FileResponse {
  readonly file: FileResponseFields;

  constructor(file: FileResponseFields) {
    this.file = file;
  }
}

/** A file response from bytes in memory, without a version. */
export const bytesResponse = (
  bytes: Uint8Array,
  fields: Omit<FileResponseFields, 'stat' | 'open'>,
): FileResponse =>
  new FileResponse({
    ...fields,
    stat: { size: bytes.length, modifiedAt: undefined, etag: undefined },
    open: async (range) => (range === undefined ? bytes : bytes.subarray(range.start, range.end + 1)),
  });

/** A response whose bytes come from the store, the web server in front, or the service under another URL. */
export class DelegatedResponse {
  readonly status: 200 | 302 | 308;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: 200 | 302 | 308, headers: Readonly<Record<string, string>>) {
    this.status = status;
    this.headers = headers;
  }
}

/** A file that is generated for this request only, when its bytes are needed: HEAD costs nothing. */
export class GeneratedFileResponse {
  readonly file: Pick<FileResponseFields, 'filename' | 'contentType'>;
  /** Generates the whole file. Called at most once. */
  readonly make: () => Promise<Uint8Array>;

  constructor(file: GeneratedFileResponse['file'], make: () => Promise<Uint8Array>) {
    this.file = file;
    this.make = make;
  }
}

/** A response in an editor's format, without the envelope. Iterables are streamed as JSON arrays. */
export class EditorResponse {
  readonly body: object;

  constructor(body: object) {
    this.body = body;
  }
}

export interface ItemOutcome {
  /** The name in the request. */
  readonly name: string;
  readonly failure?: { readonly error: unknown };
  /** The name after the change. */
  readonly newName?: string | undefined;
}

/** The outcome of each item of a request that names several. */
export class BatchResponse {
  readonly outcomes: readonly ItemOutcome[];

  constructor(outcomes: readonly ItemOutcome[]) {
    this.outcomes = outcomes;
  }
}

/** A string of the JSON response that is streamed; the consumer of the chunks ends their source. */
export class StreamedText {
  readonly chunks: AsyncIterable<string>;

  constructor(chunks: AsyncIterable<string>) {
    this.chunks = chunks;
  }
}
