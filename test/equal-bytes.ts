import { expect } from 'vitest';

/** Byte by byte, as the library compares, a megabyte takes four seconds. */
expect.addEqualityTesters([
  (one: unknown, other: unknown) =>
    one instanceof Uint8Array && other instanceof Uint8Array ? Buffer.compare(one, other) === 0 : undefined,
]);
