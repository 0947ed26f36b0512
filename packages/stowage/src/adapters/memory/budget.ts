import { StorageFullError } from '../../errors/errors.ts';

/** Bytes that may still be taken; an adapter that keeps everything in memory must not fill it. */
export interface Budget {
  /** @throws StorageFullError when that many are not left. */
  take(bytes: number): void;
  give(bytes: number): void;
}

/** A budget of `maxBytes`, all of it free. */
export const createBudget = (maxBytes: number): Budget => {
  let used = 0;
  return {
    take: (bytes) => {
      if (used + bytes > maxBytes)
        throw new StorageFullError({ detail: `the memory store holds ${maxBytes} bytes` });
      used += bytes;
    },
    give: (bytes) => {
      used -= bytes;
    },
  };
};
