import type { DurableQueue } from './file-queue.ts';

/**
 * Changes a small record, and returns what it says besides. Pure, and quick: it may be asked again when
 * another writer was faster. An undefined record is none.
 * @param now milliseconds since 1970, by one clock for all who share the record
 */
export type RecordChange<Value, Result> = (
  record: Value | undefined,
  now: number,
) => readonly [Value | undefined, Result];

/** Small JSON records by key. One that has not changed for long may be forgotten. */
export interface Records {
  /** One step: no other change comes between. @throws where the records cannot be reached */
  change<Value, Result>(key: string, change: RecordChange<Value, Result>): Promise<Result>;
}

/**
 * What outlives a request, and with some kinds the process: either of this process alone, or shared by all
 * instances of a service. Callers cannot tell which.
 */
export interface State {
  readonly records: Records;
  /** The queue of this name. To be asked once in a process. */
  queue(name: string, most: number): DurableQueue;
  close(): Promise<void>;
}
