import { Readable } from 'node:stream';
import type {
  StagedFile,
  StageOptions,
  Stat,
  StorageAdapter,
  OperationOptions,
  ReadableStore,
  WriteOptions,
} from './adapter.ts';
import { consumeContent, spool, type SpooledFile, streamOf } from './content.ts';
import type { SourcePath } from './source-path.ts';
import { NotFoundError } from '../errors/errors.ts';

/** Takes content in before its name is known, as `stageContent` does. */
export type Stage = (
  adapter: StorageAdapter,
  content: Readable,
  options?: StageOptions,
) => Promise<StagedFile>;

/** The part of the memory that one content may take. */
const SHARE = 4;
/**
 * Content is copied into blocks of this size. Its chunks would take memory without a bound: a client may send
 * each byte in one of its own, which takes some 200 bytes.
 */
const BLOCK_BYTES = 64 * 1024;

/** Content in memory. The store stages it when it is to get a name after all. */
class StagedBytes implements StagedFile {
  readonly #bytes: Buffer;
  readonly #adapter: StorageAdapter;
  readonly #release: () => void;
  #stored: StagedFile | undefined;

  constructor(bytes: Buffer, adapter: StorageAdapter, release: () => void) {
    this.#bytes = bytes;
    this.#adapter = adapter;
    this.#release = release;
  }

  get size(): number {
    return this.#bytes.length;
  }

  open(): Readable {
    return streamOf(this.#bytes);
  }

  async commit(target: SourcePath, options: PlaceOptions = {}): Promise<Stat> {
    const { signal } = options;
    this.#stored ??= await stageContent(this.#adapter, this.open(), { near: target.parent, signal });
    const stat = await this.#stored.commit(target, options);
    this.#release();
    return stat;
  }

  async discard(): Promise<void> {
    this.#release();
    await this.#stored?.discard();
  }
}

/** Copies a chunk behind the `size` bytes that lie in the blocks. */
const append = (blocks: Buffer[], size: number, chunk: Uint8Array): void => {
  for (let from = 0; from < chunk.byteLength;) {
    const used = (size + from) % BLOCK_BYTES;
    if (used === 0) blocks.push(Buffer.allocUnsafeSlow(BLOCK_BYTES));
    const part = chunk.subarray(from, from + BLOCK_BYTES - used);
    blocks.at(-1)?.set(part, used);
    from += part.byteLength;
  }
};

/** The `size` bytes of the blocks, let go block by block and then released, and the rest of the chunks. */
async function* resumed(
  blocks: Buffer[],
  size: number,
  release: () => void,
  rest: AsyncIterator<Uint8Array>,
): AsyncGenerator<Uint8Array, void, undefined> {
  let left = size;
  for (let block = blocks.shift(); block !== undefined; block = blocks.shift()) {
    yield block.subarray(0, left);
    left -= BLOCK_BYTES;
  }
  release();
  for (let next = await rest.next(); next.done !== true; next = await rest.next()) yield next.value;
}

/**
 * Stages content in memory, at most `capacity` bytes at the same time: for what is read whole soon and then
 * dropped, a file would be written, flushed and read for nothing. Content longer than a quarter of the
 * capacity, or finds it taken, is staged as all else is.
 */
export const createMemoryStaging = (capacity: number): Stage => {
  let held = 0;
  return (adapter, content, options = {}) =>
    consumeContent(content, options, async (chunks) => {
      const blocks: Buffer[] = [];
      let size = 0;
      const release = (): void => {
        held -= size;
        size = 0;
      };
      try {
        const rest = chunks[Symbol.asyncIterator]();
        for (let next = await rest.next(); next.done !== true; next = await rest.next()) {
          append(blocks, size, next.value);
          size += next.value.byteLength;
          held += next.value.byteLength;
          if (size <= capacity / SHARE && held <= capacity) continue;
          const all = Readable.from(resumed(blocks, size, release, rest), { objectMode: false });
          return await stageContent(adapter, all, options);
        }
        return new StagedBytes(Buffer.concat(blocks, size), adapter, release);
      } catch (error) {
        release();
        throw error;
      }
    });
};

/** How staged content is given its name. */
export type PlaceOptions = Omit<WriteOptions, 'size'>;

/**
 * Takes content into a private temporary file of this machine. `write` stores it under its name and may open
 * it as often as it likes; `drop` is called at the end. Destroys `content` on every way out.
 * @throws the content's own error, the signal's reason, or an error of the file system
 */
export const stageLocally = async (
  content: Readable,
  options: OperationOptions,
  write: (target: SourcePath, file: SpooledFile, options: PlaceOptions) => Promise<Stat>,
  drop: () => Promise<void> = async () => undefined,
): Promise<StagedFile> => {
  const file = await spool(content, options);
  let ended = false;
  const end = async (): Promise<void> => {
    ended = true;
    await Promise.all([file.remove(), drop()]);
  };
  return {
    size: file.size,
    open: () => file.open(),
    commit: async (target, commitOptions = {}) => {
      if (ended) throw new NotFoundError({ detail: 'the staged content was committed or discarded before' });
      const stat = await write(target, file, commitOptions);
      await end();
      return stat;
    },
    discard: end,
  };
};

/**
 * Takes content in before its name is known. The store does it where it can; else the content is spooled to a
 * private temporary file of this machine and `commit` sends it to the store with its size. Destroys `content`
 * on every way out.
 * @throws the content's own error, the signal's reason, or an error of the store
 */
export const stageContent = async (
  adapter: StorageAdapter,
  content: Readable,
  options: StageOptions = {},
): Promise<StagedFile> =>
  adapter.stage === undefined
    ? stageLocally(content, options, (target, file, more) =>
        adapter.write(target, file.open(), { ...more, size: file.size }),
      )
    : adapter.stage(content, options);

/**
 * Gives staged content its name in `adapter`: by a commit where it was staged in that very store, else by
 * having the store link or copy its file, or streaming it across, and dropping the staged bytes. After an
 * error (AlreadyExistsError above
 * all) the content is still there for another try.
 * @param stagedIn the store that `stageContent` was called with, as far as known
 */
export const placeStaged = async (
  staged: StagedFile,
  stagedIn: ReadableStore | undefined,
  adapter: StorageAdapter,
  path: SourcePath,
  options: PlaceOptions = {},
): Promise<Stat> => {
  if (stagedIn === adapter) return staged.commit(path, options);
  const { file, size } = staged;
  const stat = await (file !== undefined && adapter.adopt !== undefined
    ? adapter.adopt(path, file, options)
    : adapter.write(path, staged.open(), { ...options, size }));
  await staged.discard();
  return stat;
};
