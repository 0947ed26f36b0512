import type { Readable } from 'node:stream';
import { CorruptError } from '../errors/errors.ts';

/** What is known of a content before it is read. */
export interface ContentOptions {
  /** Ends the reading: the whole operation then rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** Bytes that the content must yield; CorruptError as soon as it is clear that it does not. */
  readonly size?: number | undefined;
}

const asError = (reason: unknown): Error => (reason instanceof Error ? reason : new Error(String(reason)));

async function* checkedChunks(
  content: Readable,
  size: number | undefined,
): AsyncGenerator<Uint8Array, void, undefined> {
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
 * Lets an adapter use a content that it owns: `use` gets the chunks, in order and checked for length. From
 * the call on, errors of the content are caught even while it is not read, and the content is destroyed on
 * every way out.
 * @throws the signal's reason when it aborted the reading; otherwise what the content or `use` threw, as it
 *   is
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
