import type { ByteRange, WriteOptions } from '../../storage/adapter.ts';
import { ChangedMeanwhileError } from '../../errors/errors.ts';
import { cannotFlush, fromSystemError } from '../../basics/files/system-errors.ts';
import { closeFile, flushData, readPart, writeParts } from './system.ts';

const BATCH_BYTES = 256 * 1024;
const MOST_PARTS = 512;
/** Bytes between two flushes: more delays the end of an upload, less causes more flushes. */
const FLUSH_BYTES = 3 * 1024 * 1024;

const writeAll = async (fd: number, parts: readonly Uint8Array[], total: number): Promise<void> => {
  let { bytesWritten } = await writeParts(fd, parts);
  // A full disk or a signal can cut a write short; writing the rest succeeds or reports the error.
  while (bytesWritten < total) {
    const rest = Buffer.concat(parts).subarray(bytesWritten);
    const next = await writeParts(fd, [rest]);
    bytesWritten += next.bytesWritten;
  }
};

/** Flushes an open file. Some network file systems do not support it. */
export const flushFile = async (fd: number): Promise<void> => {
  await flushData(fd).catch((error: unknown) => {
    if (!cannotFlush(error)) throw fromSystemError(error, 'write');
  });
};

/**
 * Writes chunks to an open file at its position, and flushes it unless it is `derived`. Combines small
 * chunks, and receives the next ones while a batch is being written: holds at most two batches.
 * @throws errors of the chunks unchanged; errors of the file system converted
 */
export const writeChunks = async (
  fd: number,
  chunks: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
  { derived = false }: Pick<WriteOptions, 'derived'> = {},
): Promise<void> => {
  const running: { write: Promise<void>; flush: Promise<void> | undefined } = {
    write: Promise.resolve(),
    flush: undefined,
  };
  let parts: Uint8Array[] = [];
  let [held, unflushed] = [0, 0];
  const write = async (batch: readonly Uint8Array[], total: number): Promise<void> => {
    await writeAll(fd, batch, total).catch((error: unknown) => {
      throw fromSystemError(error, 'write');
    });
    unflushed += total;
    if (derived || running.flush !== undefined || unflushed < FLUSH_BYTES) return;
    unflushed = 0;
    running.flush = flushFile(fd);
    // A failed flush stays until the end: the system reports it only once, so it fails the whole write.
    running.flush.then(
      () => (running.flush = undefined),
      () => undefined,
    );
  };
  /** Waits for the previous write, and begins the next one. */
  const writeNext = async (): Promise<void> => {
    const [batch, total] = [parts, held];
    [parts, held] = [[], 0];
    await running.write;
    running.write = write(batch, total);
    // Awaited later; until then a failure must not count as unhandled.
    running.write.catch(() => undefined);
  };
  try {
    for await (const chunk of chunks) {
      parts.push(chunk);
      held += chunk.byteLength;
      if (held >= BATCH_BYTES || parts.length >= MOST_PARTS) await writeNext();
    }
    if (held > 0) await writeNext();
    await running.write;
    await running.flush;
    if (!derived) await flushFile(fd);
  } finally {
    // The file may be closed when nothing is running any more.
    await running.write.catch(() => undefined);
    await running.flush?.catch(() => undefined);
  }
};

/** The bytes of an open file from its position to its end. */
export async function* chunksOfFile(
  fd: number,
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array, void, undefined> {
  for (;;) {
    signal?.throwIfAborted();
    // A new buffer each time: the previous one may still be waiting to be written.
    const buffer = Buffer.allocUnsafeSlow(BATCH_BYTES);
    const length = await readPart(fd, buffer).catch((error: unknown) => {
      throw fromSystemError(error, 'read');
    });
    if (length === 0) return;
    yield buffer.subarray(0, length);
  }
}

/** Bytes of a large file that are read between two checks of the signal. */
const PIECE_BYTES = 8 * 1024 * 1024;

/** Reads a range of an open file, and closes it. @throws ChangedMeanwhileError; the signal's reason */
export const readWhole = async (
  fd: number,
  { start, end }: ByteRange,
  signal: AbortSignal | undefined,
): Promise<Uint8Array> => {
  try {
    const bytes = Buffer.allocUnsafeSlow(end - start + 1);
    let length = 0;
    while (length < bytes.length) {
      signal?.throwIfAborted();
      const read = await readPart(fd, bytes.subarray(length, length + PIECE_BYTES), start + length);
      if (read === 0) throw new ChangedMeanwhileError();
      length += read;
    }
    return bytes;
  } finally {
    void closeFile(fd).catch(() => undefined);
  }
};
