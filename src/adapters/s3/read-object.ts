import type { Readable } from 'node:stream';
import type { HeadObjectCommandOutput } from '@aws-sdk/client-s3';
import { CorruptError } from '../../errors/errors.ts';
import { strongEtag, wholeSize } from '../../remote-store/answers.ts';
import { passBody } from '../../remote-store/body.ts';
import type { ReadOptions, ReadResult, Stat } from '../../storage/adapter.ts';
import type { SourcePath } from '../../storage/source-path.ts';
import type { Bucket } from './bucket.ts';
import { fromS3Error } from './errors.ts';

/** What is known of a folder. */
export const folderStat = (path: SourcePath): Stat => ({
  name: path.name,
  kind: 'folder',
  size: undefined,
  modifiedAt: undefined,
  etag: undefined,
});

/** What an answer about its object says of a file. */
export const fileStat = (
  path: SourcePath,
  head: Pick<HeadObjectCommandOutput, 'LastModified' | 'ETag'>,
  size: number | undefined,
): Stat => ({
  name: path.name,
  kind: 'file',
  size,
  modifiedAt: head.LastModified?.getTime(),
  etag: strongEtag(head.ETag),
});

// A reader that has paused for this long may have lost its connection: we close those on which nothing moves,
// and so do services.
const LONG_PAUSE_MS = 500;

/** Opens an object, or a range of it. @throws NotFoundError, ChangedMeanwhileError, CorruptError */
export const openObject = async (
  bucket: Bucket,
  path: SourcePath,
  key: string,
  options: ReadOptions,
): Promise<ReadResult> => {
  const { signal } = options;
  const open = async (request: ReadOptions) => {
    const { output, release } = await bucket.get(key, request);
    const body = output.Body as Readable | undefined;
    if (body === undefined) {
      release();
      throw new CorruptError({ detail: 'an answer to GetObject has no body' });
    }
    body.once('close', release);
    return { output, body };
  };
  const { output, body } = await open(options);
  const { start, end } = options.range ?? { start: 0, end: undefined };
  const length = end === undefined ? output.ContentLength : end - start + 1;
  const etag = strongEtag(output.ETag);
  const size = wholeSize(output.ContentRange) ?? output.ContentLength;
  const openRest = async (offset: number): Promise<Readable> => {
    const range = { start: start + offset, end: end ?? (length ?? 0) - 1 };
    return (await open({ signal, range, ifMatch: etag })).body;
  };
  const mayReopen = etag !== undefined && length !== undefined;
  const stream = passBody(body, {
    length,
    signal,
    failure: (error) => fromS3Error(error, `GetObject ${key}`),
    reopen: mayReopen ? { afterMs: LONG_PAUSE_MS, open: openRest } : undefined,
  });
  return { stat: fileStat(path, output, size), stream };
};
