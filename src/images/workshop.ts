import { availableParallelism } from 'node:os';
import type { ImageEngine } from './engine.ts';
import { createSharedLanes, type Lanes } from './lanes.ts';
import { createSharpEngine } from './sharp-engine.ts';

/** Bytes of pictures in memory at the same time. Small ones count as a sixteenth of it, which bounds their number too. */
const MEMORY_BYTES = 128 * 1024 * 1024;
const LIGHTEST = MEMORY_BYTES / 16;

/** Somebody waits for an edit and can be told to come back; a listing just shows fewer thumbnails. */
const EDITS = { maxWaiting: 32, maxWaitMs: 10_000 };
const THUMBNAILS = { maxWaiting: 10_000, maxWaitMs: 30_000 };

/** What all work on pictures of one connector shares: the engine, its cores and the memory that whole pictures take. */
export interface Workshop {
  readonly engine: ImageEngine;
  /** From before a picture is read until its result is stored; edits go before thumbnails. */
  readonly memory: { readonly edits: Lanes; readonly thumbnails: Lanes };
}

/** The weight of a picture of this many bytes, where they are known, in the lanes of the memory. */
export const memoryWeight = (bytes: number | undefined): number => Math.max(bytes ?? 0, LIGHTEST);

/** Threads of the runtime when nobody has set another number. */
const DEFAULT_THREADS = 4;

/**
 * Sets up a workshop that works on as many pictures at a time as the process may use cores. One of the `threads` that it shares with all
 * reading and writing of files stays free for them: else every download would stand still while pictures are decoded.
 */
export const createWorkshop = (threads: number = DEFAULT_THREADS): Workshop => {
  const concurrency = Math.max(1, Math.min(availableParallelism(), threads - 1));
  return {
    engine: createSharpEngine(createSharedLanes(concurrency, { edits: EDITS, thumbnails: THUMBNAILS })),
    memory: createSharedLanes(MEMORY_BYTES, { edits: EDITS, thumbnails: THUMBNAILS }),
  };
};
