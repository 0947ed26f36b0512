import type { FileHandle } from 'node:fs/promises';
import { openUnnamed } from './spool.ts';
import { fromSystemError } from '../basics/files/system-errors.ts';

const BLOCK_ITEMS = 5000;

interface Block {
  readonly start: number;
  readonly length: number;
}

/** A temporary file for lists that may be too long for memory. It is made when it is first needed. */
export class SpillFile {
  #opening: Promise<FileHandle> | undefined;
  #end = 0;

  /** @throws StorageFullError and the other errors of a file system */
  async append(bytes: Buffer): Promise<Block> {
    const block = { start: this.#end, length: bytes.length };
    this.#end += bytes.length;
    try {
      this.#opening ??= openUnnamed();
      const handle = await this.#opening;
      for (let done = 0; done < bytes.length;) {
        const { bytesWritten } = await handle.write(bytes, done, bytes.length - done, block.start + done);
        done += bytesWritten;
      }
    } catch (error) {
      throw fromSystemError(error, 'keeping a list in a temporary file');
    }
    return block;
  }

  async read({ start, length }: Block): Promise<Buffer> {
    const bytes = Buffer.alloc(length);
    try {
      const handle = await this.#opening;
      for (let done = 0; done < length;) {
        const found = await handle?.read(bytes, done, length - done, start + done);
        if (found === undefined || found.bytesRead === 0) throw new Error('the file is too short');
        done += found.bytesRead;
      }
    } catch (error) {
      throw fromSystemError(error, 'reading a list in a temporary file');
    }
    return bytes;
  }

  /** Frees the space. Never throws. */
  async close(): Promise<void> {
    await this.#opening?.then((handle) => handle.close()).catch(() => undefined);
  }
}

/**
 * A list of plain data (what JSON can hold) that grows at its end and is read in order. Beyond some thousand
 * items it lies in the file.
 */
export class SpilledList<T> {
  readonly #file: SpillFile;
  readonly #blocks: Block[] = [];
  /** What no block holds yet. */
  #recent: T[] = [];
  #spilling: Promise<void> | undefined;

  constructor(file: SpillFile) {
    this.#file = file;
  }

  get length(): number {
    return this.#blocks.length * BLOCK_ITEMS + this.#recent.length;
  }

  /** Adds an item, also when it throws. @throws StorageFullError and the other errors of a file system */
  async push(item: T): Promise<void> {
    this.#recent.push(item);
    if (this.#recent.length < BLOCK_ITEMS) return;
    this.#spilling ??= this.#spill().finally(() => (this.#spilling = undefined));
    await this.#spilling;
  }

  /** The items from one index to before another one. Not to be called before every `push` has ended. */
  async *items(from = 0, to = this.length): AsyncGenerator<T, void, undefined> {
    for (let at = from; at < to;) {
      const index = Math.floor(at / BLOCK_ITEMS);
      const block = this.#blocks[index];
      const items =
        block === undefined
          ? this.#recent
          : (JSON.parse((await this.#file.read(block)).toString()) as readonly T[]);
      const first = index * BLOCK_ITEMS;
      const end = block === undefined ? to : Math.min(to, first + BLOCK_ITEMS);
      yield* items.slice(at - first, end - first);
      at = end;
    }
  }

  async #spill(): Promise<void> {
    const block = await this.#file.append(Buffer.from(JSON.stringify(this.#recent.slice(0, BLOCK_ITEMS))));
    this.#blocks.push(block);
    this.#recent = this.#recent.slice(BLOCK_ITEMS);
  }
}
