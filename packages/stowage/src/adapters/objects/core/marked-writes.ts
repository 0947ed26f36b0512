import { randomUUID } from 'node:crypto';
import { BusyError, ChangedMeanwhileError } from '../../../errors/errors.ts';
import type { OperationOptions } from '../../../storage/adapter.ts';
import { failedRequest } from './requests.ts';
import type { UploadTarget } from './uploads.ts';

/** What is read of an object to recognise it. */
export interface MarkedObject {
  readonly mark: string | undefined;
  readonly etag: string | undefined;
}

/** How marks get into metadata, and out of it. */
export interface MarkedWrite {
  /** Resolves with the version. `mark` is for the metadata; absent where the write has no condition. */
  readonly write: (mark: string | undefined) => Promise<string | undefined>;
  readonly find: () => Promise<MarkedObject | undefined>;
}

/**
 * A conditional write that is refused because an attempt whose answer was lost has stored it succeeds: a
 * random text in the metadata shows whose object it is.
 * @throws ChangedMeanwhileError for a create-only write whenever something has the key, and what `write` throws
 */
export const markedWrite = async (
  { createOnly, ifMatch }: Pick<UploadTarget, 'createOnly' | 'ifMatch'>,
  { write, find }: MarkedWrite,
  { signal }: OperationOptions,
): Promise<string | undefined> => {
  if (!createOnly && ifMatch === undefined) return write(undefined);
  const mark = randomUUID();
  try {
    return await write(mark);
  } catch (error) {
    if (failedRequest(error) === undefined) throw error;
    const found = await find().catch(() => undefined);
    if (found?.mark === mark) return found.etag;
    signal?.throwIfAborted();
    // Parts are gone when another upload has taken the key.
    const isTaken = error instanceof BusyError && createOnly && ifMatch === undefined && found !== undefined;
    throw isTaken ? new ChangedMeanwhileError({ cause: error }) : error;
  }
};
