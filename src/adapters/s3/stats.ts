import type { HeadObjectCommandOutput } from '@aws-sdk/client-s3';
import type { Stat } from '../../storage/adapter.ts';
import type { SourcePath } from '../../storage/source-path.ts';
import { strongEtag } from './bucket.ts';

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

/** Size of a whole object, also when only a range of it was asked for. */
export const wholeSize = (
  contentRange: string | undefined,
  length: number | undefined,
): number | undefined => {
  const total = /\/(\d+)$/u.exec(contentRange ?? '')?.[1];
  return total === undefined ? length : Number(total);
};
