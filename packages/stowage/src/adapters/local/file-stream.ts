import * as fs from 'node:fs';
import { RecyclingStream } from '../../storage/recycling-stream.ts';
import { closeFile } from './system.ts';

/** What all streams of one connector hold together while each can have more than the least. */
const TOTAL_BYTES = 16 * 2 ** 20;
const MOST_AT_ONCE = 256 * 1024;
/** A stream goes on with so much also when nothing is left. */
const LEAST_AT_ONCE = 64 * 1024;
/** One read takes at most this part of what is left: there is something for those who come later. */
const SHARE = 8;
/** Buffers of the largest size that wait for another read. */
const MOST_SPARE = 4;

/**
 * The memory that the streams of a connector's local files share. A client that takes nothing holds the bytes
 * of one read: many such clients would fill the memory of the machine if each read were a large one.
 */
export class ReadMemory {
  #left = TOTAL_BYTES;
  readonly #spare: ArrayBufferLike[] = [];

  /** Lends memory for a read of at most `wanted` bytes; returns how many. */
  take(wanted: number): number {
    const share = Math.min(MOST_AT_ONCE, Math.floor(this.#left / SHARE));
    const bytes = Math.min(wanted, Math.max(LEAST_AT_ONCE, share));
    this.#left -= bytes;
    return bytes;
  }

  giveBack(bytes: number): void {
    this.#left += bytes;
  }

  /** A buffer of so many bytes, with anything in it; its memory is less than twice as large. */
  buffer(bytes: number): Buffer {
    const spare = bytes > MOST_AT_ONCE / 2 ? this.#spare.pop() : undefined;
    return spare === undefined ? Buffer.allocUnsafeSlow(bytes) : Buffer.from(spare, 0, bytes);
  }

  /** Takes memory of a buffer that is not in use any more. */
  reuse(memory: ArrayBufferLike): void {
    if (memory.byteLength === MOST_AT_ONCE && this.#spare.length < MOST_SPARE) this.#spare.push(memory);
  }
}

/** Bytes of an open file; those at `start` and `end` belong to them. */
export interface FilePart {
  readonly fd: number;
  readonly start: number;
  readonly end: number;
}

/**
 * The bytes of an open file, as far as it has them. Closes the file at the end, and when it is destroyed.
 * Reads when its reader has taken what was read before, so that it never holds more than one read.
 */
export class FileStream extends RecyclingStream {
  readonly #fd: number;
  readonly #end: number;
  readonly #memory: ReadMemory;
  /** Memory of chunks that were read and did not come back. */
  readonly #lent = new WeakSet<ArrayBufferLike>();
  #position: number;
  #held = 0;
  #reading: Promise<void> | undefined;

  constructor({ fd, start, end }: FilePart, memory: ReadMemory) {
    super({ highWaterMark: 0 });
    this.#fd = fd;
    this.#position = start;
    this.#end = end;
    this.#memory = memory;
  }

  override recycle({ buffer }: Uint8Array): void {
    if (this.#lent.delete(buffer)) this.#memory.reuse(buffer);
  }

  override _read(): void {
    this.#release();
    const left = this.#end - this.#position + 1;
    if (left > 0) this.#reading = this.#readPart(left);
    else this.push(null);
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.#release();
    // Not before a running read has ended: the number of the file may be another file's by then.
    Promise.resolve(this.#reading)
      .then(() => closeFile(this.#fd))
      .then(
        () => callback(error),
        (failure: unknown) => callback(error ?? (failure as Error)),
      );
  }

  #readPart(left: number): Promise<void> {
    this.#held = this.#memory.take(left);
    const buffer = this.#memory.buffer(this.#held);
    return new Promise((resolve) => {
      fs.read(this.#fd, buffer, 0, buffer.length, this.#position, (error, length) => {
        resolve();
        if (error !== null) {
          this.destroy(error);
          return;
        }
        this.#position += length;
        this.#lent.add(buffer.buffer);
        this.push(length === 0 ? null : buffer.subarray(0, length));
      });
    });
  }

  #release(): void {
    this.#memory.giveBack(this.#held);
    this.#held = 0;
  }
}
