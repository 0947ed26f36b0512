import type { Readable } from 'node:stream';
import type { ByteRange, Stat } from '../storage/adapter.ts';

/** An answer that is a file: the edge adds ranges, conditional requests and headers. */
export class FileAnswer {
  /** File name for `Content-Disposition: attachment`. */
  readonly filename: string;
  readonly contentType: string;
  readonly stat: Pick<Stat, 'size' | 'modifiedAt' | 'etag'>;
  /** Opens the content, or a range that lies inside it. The caller owns the stream. Called at most once. */
  readonly open: (range?: ByteRange) => Promise<Readable>;

  constructor(fields: {
    filename: string;
    contentType: string;
    stat: Pick<Stat, 'size' | 'modifiedAt' | 'etag'>;
    open: (range?: ByteRange) => Promise<Readable>;
  }) {
    this.filename = fields.filename;
    this.contentType = fields.contentType;
    this.stat = fields.stat;
    this.open = fields.open;
  }
}

/**
 * An answer that is a file made for this request alone. It is made when its bytes are wanted, so that
 * describing it costs nothing.
 */
export class MadeFileAnswer {
  /** File name for `Content-Disposition: attachment`. */
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
 * A text of the JSON answer that is written bit by bit, such as a picture in base64. Whoever takes the chunks
 * ends their source.
 */
export class StreamedText {
  readonly chunks: AsyncIterable<string>;

  constructor(chunks: AsyncIterable<string>) {
    this.chunks = chunks;
  }
}
