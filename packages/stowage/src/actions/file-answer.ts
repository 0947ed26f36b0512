import type { Readable } from 'node:stream';
import type { ByteRange, Stat } from '../storage/entry.ts';

export interface FileAnswerFields {
  readonly filename: string;
  readonly contentType: string;
  readonly stat: Pick<Stat, 'size' | 'modifiedAt' | 'etag'>;
  /** Headers beside or instead of those of a download, names in lower case. */
  readonly headers?: Readonly<Record<string, string>>;
  /** True: browsers may show the file instead of saving it. */
  readonly isInline?: boolean;
  /** Opens the content, or a range that lies inside it. The caller owns a stream. Called at most once. */
  readonly open: (range?: ByteRange) => Promise<Readable | Uint8Array>;
}

/** An answer that is a file: the edge adds ranges, conditional requests and headers. */
export class FileAnswer implements FileAnswerFields {
  readonly filename: string;
  readonly contentType: string;
  readonly stat: FileAnswerFields['stat'];
  readonly headers: Readonly<Record<string, string>>;
  readonly isInline: boolean;
  readonly open: FileAnswerFields['open'];

  constructor({ filename, contentType, stat, headers = {}, isInline = false, open }: FileAnswerFields) {
    this.filename = filename;
    this.contentType = contentType;
    this.stat = stat;
    this.headers = headers;
    this.isInline = isInline;
    this.open = open;
  }
}

/** The answer of bytes that are at hand, and have no version. */
export const answerOfBytes = (
  bytes: Uint8Array,
  fields: Omit<FileAnswerFields, 'stat' | 'open'>,
): FileAnswer =>
  new FileAnswer({
    ...fields,
    stat: { size: bytes.length, modifiedAt: undefined, etag: undefined },
    open: async (range) => (range === undefined ? bytes : bytes.subarray(range.start, range.end + 1)),
  });

/** An answer whose bytes do not come from here: the store, the web server in front, or the service by another link. */
export class HandedOverAnswer {
  readonly status: 200 | 302 | 308;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: 200 | 302 | 308, headers: Readonly<Record<string, string>>) {
    this.status = status;
    this.headers = headers;
  }
}

/**
 * An answer that is a file made for this request alone. It is made when its bytes are wanted, so that
 * describing it costs nothing.
 */
export class MadeFileAnswer {
  readonly filename: string;
  readonly contentType: string;
  /** Makes the whole file. Called at most once. */
  readonly make: () => Promise<Uint8Array>;

  constructor(fields: { filename: string; contentType: string; make: () => Promise<Uint8Array> }) {
    this.filename = fields.filename;
    this.contentType = fields.contentType;
    this.make = fields.make;
  }
}

/**
 * An answer without the envelope of the protocol, in the form that an editor reads. Iterables are written out as
 * JSON arrays, bit by bit.
 */
export class EditorAnswer {
  readonly body: object;

  constructor(body: object) {
    this.body = body;
  }
}

export interface ItemOutcome {
  /** As the request names it. */
  readonly name: string;
  readonly failure?: { readonly error: unknown };
  /** That it has got. */
  readonly newName?: string | undefined;
}

export class ManyAnswer {
  readonly outcomes: readonly ItemOutcome[];

  constructor(outcomes: readonly ItemOutcome[]) {
    this.outcomes = outcomes;
  }
}

/**
 * A text of the JSON answer that is written bit by bit, such as a picture in base64. The caller that takes the chunks
 * ends their source.
 */
export class StreamedText {
  readonly chunks: AsyncIterable<string>;

  constructor(chunks: AsyncIterable<string>) {
    this.chunks = chunks;
  }
}
