import type sharpModule from 'sharp';
import type { SharpOptions } from 'sharp';
import { BrokenImageError, StowageError } from '../errors/errors.ts';
import { MAX_DECODED_PIXELS } from './engine.ts';

/** The library that decodes and encodes. */
export type SharpLibrary = typeof sharpModule;

/** Pictures are given as bytes, never as a path: one must not be able to name other files of its folder. */
export const READ_OPTIONS: SharpOptions = {
  limitInputPixels: MAX_DECODED_PIXELS,
  sequentialRead: true,
  // Cut-off and damaged pictures are refused; the harmless oddities of cameras are not.
  failOn: 'error',
};

/**
 * Loads the library at the first picture: it takes a tenth of a second, which the start of a service need not
 * wait for.
 */
export const createSharpLoader = (): (() => Promise<SharpLibrary>) => {
  let loading: Promise<SharpLibrary> | undefined;
  return () =>
    (loading ??= import('sharp').then(({ default: sharp }) => {
      // Pictures rarely come twice; their pixels would only fill the memory.
      sharp.cache(false);
      return sharp;
    }));
};

/** Turns what the library throws into our error: it says nothing that a client could use. */
export const asBroken = async <Result>(work: () => Promise<Result>): Promise<Result> => {
  try {
    return await work();
  } catch (error) {
    throw error instanceof StowageError ? error : new BrokenImageError({ cause: error });
  }
};
