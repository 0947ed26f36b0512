import type { Readable } from 'node:stream';
import { passBody } from '../../remote/core/body.ts';
import type { ReadOptions, ReadResult } from '../../../storage/adapter.ts';
import type { SourcePath } from '../../../storage/source-path.ts';
import { fileStat } from './lookup.ts';
import type { Objects } from './objects.ts';

// A reader that has paused for this long may have lost its connection: we close those on which nothing moves,
// and so do services.
const LONG_PAUSE_MS = 500;

/** Opens an object, or a range of it. @throws NotFoundError, ChangedMeanwhileError, CorruptError */
export const openObject = async (
  objects: Objects,
  path: SourcePath,
  key: string,
  options: ReadOptions,
): Promise<ReadResult> => {
  const { signal } = options;
  const { facts, body, length: told } = await objects.get(key, options);
  const { start, end } = options.range ?? { start: 0, end: undefined };
  const length = end === undefined ? told : end - start + 1;
  const { etag } = facts;
  const openRest = async (offset: number): Promise<Readable> => {
    const range = { start: start + offset, end: end ?? (length ?? 0) - 1 };
    return (await objects.get(key, { signal, range, ifMatch: etag })).body;
  };
  const mayReopen = etag !== undefined && length !== undefined;
  const stream = passBody(body, {
    length,
    signal,
    failure: (error) => objects.downloadFailure(error, key),
    reopen: mayReopen ? { afterMs: LONG_PAUSE_MS, open: openRest } : undefined,
  });
  return { stat: fileStat(path, facts), stream };
};
