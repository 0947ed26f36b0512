import { Readable } from 'node:stream';

/**
 * A stream that uses the memory of its chunks again when its reader gives them back. Memory outside of the
 * heap is freed by full garbage collections only: a reader that gives nothing back costs one for each 64 MB
 * or so.
 */
export abstract class RecyclingStream extends Readable {
  /** Takes back a chunk of this stream that is not read any more; ignores all other bytes. */
  abstract recycle(chunk: Uint8Array): void;
}
