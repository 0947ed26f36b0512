import { fromSystemError, systemCode } from '../../storage/system-errors.ts';
import { flushData, readPart, writeParts } from './system.ts';

const BATCH_BYTES = 256 * 1024;
const MOST_PARTS = 512;
const NO_FLUSH: ReadonlySet<string | undefined> = new Set(['EINVAL', 'ENOTSUP', 'ENOSYS']);

const writeAll = async (fd: number, parts: readonly Uint8Array[], total: number): Promise<void> => {
  let { bytesWritten } = await writeParts(fd, parts);
  // A full disk or a signal can cut a write short; the rest either goes through or tells why not.
  while (bytesWritten < total) {
    const rest = Buffer.concat(parts).subarray(bytesWritten);
    const next = await writeParts(fd, [rest]);
    bytesWritten += next.bytesWritten;
  }
};

/**
 * Writes chunks to an open file, at its position, and down to the disk. Gathers small chunks, and takes the next ones in while a batch is
 * being written: at most two batches are held.
 * @throws what the chunks throw, as it is; errors of the file system as ours
 */
export const writeChunks = async (fd: number, chunks: AsyncIterable<Uint8Array>): Promise<void> => {
  let parts: Uint8Array[] = [];
  let held = 0;
  let writing: Promise<unknown> = Promise.resolve();
  const failed = (error: unknown): never => {
    throw fromSystemError(error, 'write');
  };
  const flush = async (): Promise<void> => {
    await writing;
    if (held === 0) return;
    writing = writeAll(fd, parts, held).catch(failed);
    // Awaited later; until then a failure must not count as unhandled.
    writing.catch(() => undefined);
    parts = [];
    held = 0;
  };
  try {
    for await (const chunk of chunks) {
      parts.push(chunk);
      held += chunk.byteLength;
      if (held >= BATCH_BYTES || parts.length >= MOST_PARTS) await flush();
    }
    await flush();
  } finally {
    // The handle must not be closed under a running write.
    await writing.catch(() => undefined);
  }
  await writing;
  await flushData(fd).catch((error: unknown) => {
    // Some network file systems have nothing to flush.
    if (!NO_FLUSH.has(systemCode(error))) failed(error);
  });
};

/** The bytes of an open file from its position to its end. */
export async function* chunksOfFile(
  fd: number,
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array, void, undefined> {
  for (;;) {
    signal?.throwIfAborted();
    // A fresh buffer each time: the one before may still be waiting to be written.
    const buffer = Buffer.allocUnsafeSlow(BATCH_BYTES);
    const length = await readPart(fd, buffer).catch((error: unknown) => {
      throw fromSystemError(error, 'read');
    });
    if (length === 0) return;
    yield buffer.subarray(0, length);
  }
}
