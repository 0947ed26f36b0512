import { AlreadyExistsError, ChangedMeanwhileError } from '../../errors/errors.ts';
import type { OperationOptions } from '../../storage/adapter.ts';
import { attemptsOf } from './errors.ts';
import type { UploadContext } from './upload.ts';

/** A folder that is to be made: the key of its object, and that of a file of its name. */
export interface NewFolder {
  readonly key: string;
  readonly file: string;
}

/** Makes the object of a folder where neither a file nor a folder has the name. @throws AlreadyExistsError */
export const claimFolder = async (
  { bucket, conditional, locks }: UploadContext,
  { key, file }: NewFolder,
  metadata: Readonly<Record<string, string>>,
  options: OperationOptions,
): Promise<void> => {
  const { create } = await conditional.learn(options);
  await locks.hold(key, options, async () => {
    const [found, below] = await Promise.all([bucket.find(file, options), bucket.hasBelow(key, options)]);
    if (found !== undefined || below) throw new AlreadyExistsError();
    try {
      const condition = create ? { IfNoneMatch: '*' } : {};
      options.signal?.throwIfAborted();
      // Without the signal: only when it has ended is it known whether there is something to take away.
      await bucket.put(key, Buffer.alloc(0), condition, {}, metadata);
    } catch (error) {
      if (!(error instanceof ChangedMeanwhileError)) throw error;
      // A later attempt has met what an earlier one made, whose answer was lost: nothing was there just before.
      if (attemptsOf(error.cause) === 1) throw new AlreadyExistsError({ cause: error });
    }
    if (options.signal?.aborted === true) await bucket.remove(key, {});
    options.signal?.throwIfAborted();
  });
};
