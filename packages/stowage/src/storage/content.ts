import { Readable } from 'node:stream';
import { randomUUID } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { lstat, mkdir, open, readdir, rm, rmdir, type FileHandle } from 'node:fs/promises';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { CorruptError, StorageDeniedError, StorageUnavailableError } from '../errors/errors.ts';
import type { OperationOptions } from './adapter.ts';
import { isLeftOver, isOwnFolder, readProcessMark } from '../basics/files/temporary-folder.ts';
import { fromSystemError, ifCode, systemCode } from '../basics/files/system-errors.ts';

export interface ContentOptions {
  /** Aborts the reading; the whole operation then rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** Expected length in bytes; CorruptError as soon as the content is longer or ends early. */
  readonly size?: number | undefined;
}

const asError = (reason: unknown): Error => (reason instanceof Error ? reason : new Error(String(reason)));

async function* checkedChunks(content: Readable, size: number | undefined) {
  let seen = 0;
  for await (const chunk of content as AsyncIterable<Uint8Array | string>) {
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
    seen += bytes.byteLength;
    if (size !== undefined && seen > size)
      throw new CorruptError({ detail: `the content is longer than ${size} bytes` });
    if (bytes.byteLength > 0) yield bytes;
  }
  if (size !== undefined && seen < size) {
    throw new CorruptError({ detail: `the content ended after ${seen} of ${size} bytes` });
  }
}

/**
 * Consumes a content that an adapter owns: `use` gets the chunks, in order and checked for length. From the
 * call on, errors of the content are caught even while it is not read, and the content is always destroyed.
 * @throws the signal's reason when it aborted the reading; otherwise the error of the content or of `use`,
 * unchanged
 */
export const consumeContent = async <T>(
  content: Readable,
  options: ContentOptions,
  use: (chunks: AsyncIterable<Uint8Array>) => Promise<T>,
): Promise<T> => {
  const { signal, size } = options;
  content.on('error', () => undefined);
  const abort = (): void => void content.destroy(asError(signal?.reason));
  try {
    signal?.throwIfAborted();
    signal?.addEventListener('abort', abort, { once: true });
    return await use(checkedChunks(content, size));
  } catch (error) {
    signal?.throwIfAborted();
    throw error;
  } finally {
    signal?.removeEventListener('abort', abort);
    content.destroy();
  }
};

/** Content in a private temporary file of this machine. */
export interface SpooledFile {
  readonly path: string;
  readonly size: number;
  /** The bytes from the start; the caller owns the stream. */
  readonly open: () => Readable;
  /** Removes the file. May be called several times; never throws. */
  remove(): Promise<void>;
}

const ignore = (): undefined => undefined;

/** `<tmp>/stowage-<user>`. Checks owner and mode: another user could have created the folder. */
const ensurePrivateFolder = async (): Promise<string> => {
  const user = process.getuid?.() ?? userInfo().username.replace(/\W/gu, '_');
  const folder = join(tmpdir(), `stowage-${user}`);
  await mkdir(folder, { mode: 0o700 }).catch(ifCode('EEXIST'));
  if (!isOwnFolder(await lstat(folder)))
    throw new StorageDeniedError({ detail: 'the folder for temporary files belongs to another user' });
  return folder;
};

const sweep = async (folder: string): Promise<void> => {
  for (const name of await readdir(folder)) {
    const path = join(folder, name);
    const changedAt = async (): Promise<number> => (await lstat(path)).mtimeMs;
    if (await isLeftOver(name, changedAt)) await rm(path, { recursive: true, force: true });
  }
};

/** Creates an empty file in the temp directory of this process, which is removed with its last file. */
const createFile = async (): Promise<{ handle: FileHandle; path: string; folder: string }> => {
  const base = await ensurePrivateFolder();
  const folder = join(base, await readProcessMark());
  for (let attempt = 0; ; attempt += 1) {
    const path = join(folder, randomUUID());
    try {
      const made = await mkdir(folder, { mode: 0o700, recursive: true });
      // The folder is new, so this is the first file of this process: remove the leftovers of dead processes.
      if (made !== undefined && attempt === 0) await sweep(base).catch(ignore);
      return { handle: await open(path, 'wx+', 0o600), path, folder };
    } catch (error) {
      if (systemCode(error) !== 'ENOENT' || attempt === 8) throw error;
    }
  }
};

/** Opens an empty private temporary file without a name: it disappears with its handle or the process. */
export const openUnnamed = async (): Promise<FileHandle> => {
  const { handle, path, folder } = await createFile();
  await removeFile(path, folder);
  return handle;
};

/**
 * Writes the content into a private temporary file. Always destroys `content`; leaves no file when it fails.
 * @throws the content's own error unchanged, the signal's reason, StorageFullError and other failures of the storage
 */
export const spool = async (content: Readable, options: OperationOptions = {}): Promise<SpooledFile> => {
  const { signal } = options;
  let contentError: Error | undefined;
  let isFileBroken = false;
  content.on('error', (error) => {
    // After a failure of the file the pipeline destroys the content with the same error.
    if (!isFileBroken) contentError = error;
  });
  let file: Awaited<ReturnType<typeof createFile>> | undefined;
  try {
    signal?.throwIfAborted();
    file = await createFile();
    const { path, folder } = file;
    const sink = createWriteStream(path, { fd: file.handle, highWaterMark: 1 << 18 });
    sink.once('error', () => (isFileBroken = contentError === undefined));
    await pipeline(content, sink, { signal });
    return {
      path,
      size: sink.bytesWritten,
      open: () => createReadStream(path, { highWaterMark: 1 << 18 }),
      remove: () => removeFile(path, folder),
    };
  } catch (error) {
    content.destroy();
    await file?.handle.close().catch(ignore);
    if (file !== undefined) await removeFile(file.path, file.folder);
    if (signal?.aborted) throw signal.reason;
    if (contentError !== undefined || systemCode(error)?.startsWith('ERR_STREAM'))
      throw contentError ?? error;
    const failure = fromSystemError(error, 'spooling');
    // A missing or conflicting entry in the temp folder is not the fault of the request.
    if (failure.status >= 500) throw failure;
    throw new StorageUnavailableError({ detail: 'no temporary file could be written', cause: error });
  }
};

/** Runs `use` with the content in a private temporary file, and removes the file. @throws as `spool` */
export const withSpooled = async <T>(
  content: Readable,
  options: OperationOptions,
  use: (file: SpooledFile) => Promise<T>,
): Promise<T> => {
  const file = await spool(content, options);
  try {
    return await use(file);
  } finally {
    await file.remove();
  }
};

const removeFile = async (path: string, folder: string): Promise<void> => {
  await rm(path, { force: true }).catch(ignore);
  await rmdir(folder).catch(ignore);
};

/** A new stream of bytes in memory. Stores destroy the streams they get: every attempt needs its own. */
export const streamOf = (bytes: Uint8Array): Readable => Readable.from([bytes], { objectMode: false });

/** The text of a small file; undefined when it is longer than `mostBytes`. Always closes the stream. */
export const boundedText = async (stream: Readable, mostBytes: number): Promise<string | undefined> => {
  const chunks: Uint8Array[] = [];
  let length = 0;
  // Leaving the loop early destroys the stream.
  for await (const chunk of stream as AsyncIterable<Uint8Array>) {
    length += chunk.byteLength;
    if (length > mostBytes) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
};
