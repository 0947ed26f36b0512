import { NotFoundError, WrongKindError } from '../../errors/errors.ts';
import { boundedText } from '../content.ts';
import type { OperationOptions, ReadableStore } from '../readable.ts';
import type { SourcePath } from '../source-path.ts';
import { MOST_RECORD_BYTES, movedPaths, type NameHistory, NO_HISTORY, parseHistory } from './name-events.ts';

/** A record as it was read, and the version that it was. */
export interface ReadHistory extends NameHistory {
  /** Undefined where there is none. */
  readonly version: { readonly etag: string | undefined } | undefined;
}

const NONE: ReadHistory = { ...NO_HISTORY, version: undefined };

/**
 * What is remembered of a name. Costs one question to the store, and a small reading where there is something.
 * What is no record of ours counts as none.
 * @throws errors of the store
 */
export const readHistory = async (
  store: ReadableStore,
  about: SourcePath,
  { signal }: OperationOptions,
): Promise<ReadHistory> => {
  const path = movedPaths.record(store, about);
  try {
    // Nearly always nothing is there: stores look for what may be missing with less effort.
    if ((await store.stat(path, { signal, mayMiss: true })).kind !== 'file') return NONE;
    const { stat, stream } = await store.read(path, { signal });
    const text = await boundedText(stream, MOST_RECORD_BYTES);
    const history = text === undefined ? undefined : parseHistory(store, about, text);
    return { ...(history ?? NO_HISTORY), version: { etag: stat.etag } };
  } catch (error) {
    if (error instanceof NotFoundError || error instanceof WrongKindError) return NONE;
    throw error;
  }
};
