import type { Readable } from 'node:stream';

/** The text of a small file; undefined where it is longer. Ends the stream on every way out. */
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
