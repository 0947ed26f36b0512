import { availableParallelism } from 'node:os';
import { addAbortSignal, type Readable } from 'node:stream';
import { createSharedQueues, type TaskQueue } from '../basics/concurrency/task-queue.ts';
import { BrokenImageError } from '../errors/errors.ts';
import { MAX_PICTURE_BYTES } from './engine.ts';
import type { ImageEngine } from './engine.ts';
import { createSharpEngine } from './sharp-engine.ts';

/** Part of the memory for files that have been read, wait, or are about to be stored. */
const FILE_SHARE = 4;
/**
 * Files in memory at the same time, however small. A file of unknown size counts as a quarter of the memory
 * for files.
 */
const MAX_FILES = 16;

/** A client waits for an edit and can be told to come back; a listing just shows fewer thumbnails. */
const EDITS = { maxWaiting: 32, maxWaitMs: 10_000 };
const THUMBNAILS = { maxWaiting: 10_000, maxWaitMs: 30_000 };

/** Threads of the runtime when `UV_THREADPOOL_SIZE` is not set. */
const DEFAULT_THREADS = 4;
const DEFAULT_MEMORY = 512 * 1024 * 1024;

export interface ImagePoolOptions {
  /**
   * Bytes that all pictures that are decoded at the same time may take; half as much again goes to files in
   * memory and results.
   */
  readonly memory?: number;
  /** Threads of the runtime, which all reading and writing of files shares. */
  readonly threads?: number | undefined;
}

/** A stored or uploaded picture. */
export interface PictureFile {
  /** Bytes; undefined where the store does not report it. */
  readonly size: number | undefined;
  /** Opens it from the start; called at most once unless a method says otherwise. */
  readonly open: () => Readable | Promise<Readable>;
}

/** What all work on pictures of one connector shares: the decoder, its cores and its memory. */
export interface ImagePool {
  readonly engine: ImageEngine;
  /**
   * Runs work that holds this many bytes, from before they are read until the result is stored; edits go
   * before thumbnails.
   */
  readonly hold: <Result>(
    kind: 'edits' | 'thumbnails',
    bytes: number | undefined,
    work: () => Promise<Result>,
    signal?: AbortSignal,
  ) => Promise<Result>;
}

/**
 * Sets up a pool that works on as many pictures at a time as the process may use cores, as far as their
 * memory goes. One of the `threads` stays free for files: else every download would stand still while
 * pictures are decoded.
 */
export const createImagePool = ({
  memory = DEFAULT_MEMORY,
  threads = DEFAULT_THREADS,
}: ImagePoolOptions = {}): ImagePool => {
  const tasks = Math.max(1, Math.min(availableParallelism(), threads - 1));
  const limits = { edits: EDITS, thumbnails: THUMBNAILS };
  // Work that has begun holds its file until it ends: all would hold theirs if each began before one ended.
  const order = { begun: EDITS, ...limits };
  const fileMemory = Math.max(memory / FILE_SHARE, MAX_PICTURE_BYTES);
  const files: Readonly<Record<'edits' | 'thumbnails', TaskQueue>> = createSharedQueues(
    { weight: fileMemory, tasks: MAX_FILES },
    limits,
  );
  return {
    engine: createSharpEngine(createSharedQueues({ weight: memory, tasks }, order), memory),
    hold: (kind, bytes, work, signal) => files[kind].run(work, bytes ?? fileMemory / 4, signal),
  };
};

const tooLarge = (): Error => new BrokenImageError('The image file is too large.');

/**
 * Reads a picture's stream into memory, at most `limit` bytes; the stream is destroyed on every way out.
 * @throws BrokenImageError when it is longer, or the error that `refuse` makes
 */
export const collect = async (
  stream: Readable,
  limit: number,
  signal?: AbortSignal,
  refuse: () => Error = tooLarge,
): Promise<Buffer> => {
  if (signal) addAbortSignal(signal, stream);
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > limit) throw refuse();
    chunks.push(chunk);
  }
  const [first] = chunks;
  return first?.length === length ? first : Buffer.concat(chunks, length);
};
