import { readKept } from '../kept-text.ts';
import type { OperationOptions, ReadableStore, Stat } from '../readable.ts';
import type { SourcePath } from '../source-path.ts';
import { MOST_RECORD_BYTES, movedPaths, type NameHistory, NO_HISTORY, parseHistory } from './name-events.ts';

/** A record as it was read, and the version that it was. */
export interface ReadHistory extends NameHistory {
  /** Undefined where there is none. */
  readonly version: Stat | undefined;
}

/**
 * What is remembered of a name. Costs one question to the store, and a small reading where there is something.
 * What is no record of ours counts as none.
 * @throws errors of the store
 */
export const readHistory = async (
  store: ReadableStore,
  about: SourcePath,
  options: OperationOptions,
): Promise<ReadHistory> => {
  const kept = await readKept(store, movedPaths.record(store, about), MOST_RECORD_BYTES, options);
  const history = kept?.text === undefined ? undefined : parseHistory(store, about, kept.text);
  return { ...(history ?? NO_HISTORY), version: kept?.version };
};
