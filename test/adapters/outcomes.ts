import { Readable } from 'node:stream';
import { expect } from 'vitest';
import { StowageError } from 'stowage/storage';

/** The code of the error that ends an operation, with what it tells the world checked on the way. */
export const outcomeOf = async (operation: Promise<unknown>, secrets: readonly string[]): Promise<string> => {
  const error: unknown = await operation.then(
    () => 'succeeded',
    (reason: unknown) => reason,
  );
  if (!(error instanceof StowageError)) return String(error);
  for (const message of error.messages) {
    for (const secret of secrets) expect(message).not.toContain(secret);
  }
  return error.code;
};

/** Content that comes in pieces, as uploads do. */
export const inPieces = (bytes: Buffer): Readable => {
  const pieces: Buffer[] = [];
  for (let start = 0; start < bytes.length; start += 65_536)
    pieces.push(bytes.subarray(start, start + 65_536));
  return Readable.from(pieces, { objectMode: false });
};
