import { ChangedMeanwhileError, StorageDeniedError } from '../../errors/errors.ts';
import { strongEtag, type Bucket } from './bucket.ts';
import type { Support } from './conditional-writes.ts';
import { PART_BYTES } from './multipart.ts';
import type { Doomed } from './remove-keys.ts';

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
const removeMoved = async (
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

/** Both ends of a move whose copy was made. */
export interface MadeMove {
  readonly source: SourceObject;
  readonly target: Doomed;
  /** Nothing lay under the target's key before. */
  readonly created: boolean;
}

/**
 * Ends a move by removing its source. When that is refused for certain, nothing has moved: what the move has created goes away again.
 * @throws ChangedMeanwhileError (the source was replaced and stays), StorageDeniedError, and what removing throws
 */
export const finishMove = async (
  bucket: Bucket,
  support: Support,
  { source, target, created }: MadeMove,
): Promise<void> => {
  try {
    await removeMoved(bucket, support, source);
  } catch (error) {
    const refused = error instanceof StorageDeniedError || error instanceof ChangedMeanwhileError;
    if (refused && created) {
      await bucket.remove(target.key, {}, support.remove ? target.etag : undefined).catch(() => undefined);
    }
    throw error;
  }
};
