import { createWriteStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { BrokenImageError } from '../../errors/errors.ts';
import type { ByteRange, ReadableStore } from '../../storage/readable.ts';
import type { SourcePath } from '../../storage/source-path.ts';
import type { PreviewCommand } from './commands.ts';

/** A stored file of which a copy is made. */
export interface StoredFile {
  readonly storage: ReadableStore;
  readonly path: SourcePath;
  /** Bytes; undefined where the store does not report it. */
  readonly size: number | undefined;
}

const tooLarge = (): Error => new BrokenImageError('The file is too large.');

const bounded = (limit: number) =>
  async function* (chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    let length = 0;
    for await (const chunk of chunks) {
      length += chunk.length;
      if (length > limit) throw tooLarge();
      yield chunk;
    }
  };

const copyPart = async (
  { storage, path }: StoredFile,
  file: string,
  { range, limit }: { readonly range?: ByteRange; readonly limit: number },
  signal: AbortSignal,
): Promise<void> => {
  const { stream } = await storage.read(path, { range, signal });
  const sink = createWriteStream(file, { flags: range?.start ? 'r+' : 'wx', start: range?.start ?? 0 });
  await pipeline(stream, bounded(limit), sink, { signal });
};

/** Bytes that are enough to tell what a file is. */
const BEGINNING_BYTES = 1024;

const beginningOf = async (file: string): Promise<Buffer> => {
  const handle = await open(file, 'r');
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(BEGINNING_BYTES), 0, BEGINNING_BYTES, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await handle.close();
  }
};

/**
 * Copies a stored file, or its first and last bytes with nothing but a gap between them, and gives what it
 * begins with. Most bytes are those of `head` and `tail`; the gap takes no room on the disk.
 * @throws BrokenImageError when it is longer and has no tail, the signal's reason, errors of the store
 */
export const fetchBeginning = async (
  stored: StoredFile,
  file: string,
  { head, tail }: PreviewCommand,
  signal: AbortSignal,
): Promise<Buffer> => {
  const size = stored.size ?? 0;
  if (size <= head + tail) {
    await copyPart(stored, file, { limit: head + tail }, signal);
    return beginningOf(file);
  }
  // Elsewhere a gap is written out.
  if (tail === 0 || process.platform === 'win32') throw tooLarge();
  await copyPart(stored, file, { range: { start: 0, end: head - 1 }, limit: head }, signal);
  await copyPart(stored, file, { range: { start: size - tail, end: size - 1 }, limit: tail }, signal);
  return beginningOf(file);
};
