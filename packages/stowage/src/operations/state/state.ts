import type { DurableQueue } from './file-queue.ts';

/**
 * Changes a small record, and returns an additional result. Must be pure and fast: it may be called again
 * when another writer was faster. Undefined stands for no record. Rejects by its result: a record with which it
 * throws counts as damaged, and is replaced.
 * @param now milliseconds since 1970, by one clock for all who share the record
 */
export type RecordChange<Value, Result> = (
  record: Value | undefined,
  now: number,
) => readonly [Value | undefined, Result];

/** Small JSON records by key. A record that has not changed for long may be dropped. */
export interface Records {
  /** Atomic: no other change comes in between. @throws when the records cannot be reached */
  change<Value, Result>(key: string, change: RecordChange<Value, Result>): Promise<Result>;
}

/**
 * State that outlives a request, and partly the process: either of this process alone, or shared by all
 * instances of a service. Callers see no difference.
 */
export interface State {
  readonly records: Records;
  /** The queue of this name. Call it once in a process. */
  queue(name: string, most: number): DurableQueue;
  /** Number of entries in queues of earlier processes that this one has not opened. */
  forgotten?(): Promise<number>;
  close(): Promise<void>;
}
