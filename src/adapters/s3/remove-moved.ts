import { ChangedMeanwhileError } from '../../errors/errors.ts';
import { strongEtag, type Bucket } from './bucket.ts';
import type { Support } from './conditional-writes.ts';
import { PART_BYTES } from './multipart.ts';

/** An object that is moved: its key, its bytes, and its version as seen before the copy. */
export interface SourceObject {
  readonly key: string;
  readonly size: number;
  readonly etag: string | undefined;
}

/**
 * Removes an object after its copy was made. Without the caller's signal: the copy is there, and the move ends with it.
 * @throws ChangedMeanwhileError when it is seen to have been replaced since: decided by the service where it can, else looked at only
 *   after a copy in parts, which may have taken minutes
 */
export const removeMoved = async (
  bucket: Bucket,
  support: Support,
  { key, size, etag }: SourceObject,
): Promise<void> => {
  if (!support.remove) {
    const now = size > PART_BYTES ? await bucket.find(key, {}) : undefined;
    if (now !== undefined && strongEtag(now.ETag) !== etag) throw new ChangedMeanwhileError();
    return bucket.remove(key, {});
  }
  try {
    await bucket.remove(key, {}, etag);
  } catch (error) {
    // Also the answer for an object that is not there, which an attempt before may have removed.
    const isGone = error instanceof ChangedMeanwhileError && (await bucket.find(key, {})) === undefined;
    if (!isGone) throw error;
  }
};
