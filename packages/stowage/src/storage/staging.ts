import { Readable } from 'node:stream';
import type * as port from './adapter.ts';
import { consumeContent, spool, type SpooledFile, streamOf } from './content.ts';
import type { SourcePath } from './source-path.ts';
import { NotFoundError } from '../errors/errors.ts';

/** Receives content before its name is known, as `stageContent` does. */
export type Stage = (
  adapter: port.StorageAdapter,
  content: Readable,
  options?: port.StageOptions,
) => Promise<port.StagedFile>;

/** One content may use this fraction of the memory (a quarter). */
const SHARE = 4;
/**
 * Content is copied into blocks of this size. Keeping the chunks would need unbounded memory: a client may
 * send each byte in a chunk of its own, which takes some 200 bytes.
 */
const BLOCK_BYTES = 64 * 1024;

/** Content in memory. The store stages it only when it is committed. */
const stagedBytes = (bytes: Buffer, adapter: port.StorageAdapter, release: () => void): port.StagedFile => {
  let stored: port.StagedFile | undefined;
  return {
    size: bytes.length,
    open: () => streamOf(bytes),
    commit: async (target, options = {}) => {
      const { signal } = options;
      stored ??= await stageContent(adapter, streamOf(bytes), { near: target.parent, signal });
      const stat = await stored.commit(target, options);
      release();
      return stat;
    },
    discard: async () => {
      release();
      await stored?.discard();
    },
  };
};

/** Copies a chunk behind the `size` bytes in the blocks. */
const append = (blocks: Buffer[], size: number, chunk: Uint8Array): void => {
  for (let from = 0; from < chunk.byteLength;) {
    const used = (size + from) % BLOCK_BYTES;
    if (used === 0) blocks.push(Buffer.allocUnsafeSlow(BLOCK_BYTES));
    const part = chunk.subarray(from, from + BLOCK_BYTES - used);
    blocks.at(-1)?.set(part, used);
    from += part.byteLength;
  }
};

/** Yields the `size` bytes of the blocks, then releases the memory and yields the remaining chunks. */
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
 * Stages content in memory, at most `capacity` bytes in total: for content that is soon read and discarded,
 * where writing and flushing a file would be wasted. Content that is longer than a quarter of the capacity,
 * or finds it used up, is staged as by `stageContent`.
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
        return stagedBytes(Buffer.concat(blocks, size), adapter, release);
      } catch (error) {
        release();
        throw error;
      }
    });
};

export type PlaceOptions = Omit<port.WriteOptions, 'size'>;

/**
 * Receives content into a private local temporary file. `write` stores it under its name and may open it
 * repeatedly; `drop` is called at the end. Always destroys `content`.
 * @throws the content's own error, the signal's reason, or an error of the file system
 */
export const stageLocally = async (
  content: Readable,
  options: port.OperationOptions,
  write: (target: SourcePath, file: SpooledFile, options: PlaceOptions) => Promise<port.Stat>,
  drop: () => Promise<void> = async () => undefined,
): Promise<port.StagedFile> => {
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
 * Receives content before its name is known. The store stages it where it can; otherwise it is spooled to a
 * private local temporary file, and `commit` sends it to the store with its size. Always destroys `content`.
 * @throws the content's own error, the signal's reason, or an error of the store
 */
export const stageContent = async (
  adapter: port.StorageAdapter,
  content: Readable,
  options: port.StageOptions = {},
): Promise<port.StagedFile> =>
  adapter.stage === undefined
    ? stageLocally(content, options, (target, file, more) =>
        adapter.write(target, file.open(), { ...more, size: file.size }),
      )
    : adapter.stage(content, options);

/**
 * Stores staged content under its name in `adapter`: by a commit where it was staged in the same store;
 * otherwise the store links or copies the local file, or the bytes are streamed, and the staged bytes are
 * discarded. After an error (such as AlreadyExistsError) the content remains for another attempt.
 * @param stagedIn the store that `stageContent` was called with, if known
 */
export const placeStaged = async (
  staged: port.StagedFile,
  stagedIn: port.ReadableStore | undefined,
  adapter: port.StorageAdapter,
  path: SourcePath,
  options: PlaceOptions = {},
): Promise<port.Stat> => {
  if (stagedIn === adapter) return staged.commit(path, options);
  const { file, size } = staged;
  const stat = await (file !== undefined && adapter.adopt !== undefined
    ? adapter.adopt(path, file, options)
    : adapter.write(path, staged.open(), { ...options, size }));
  await staged.discard();
  return stat;
};
