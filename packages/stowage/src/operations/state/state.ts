import type { DurableQueue } from './file-queue.ts';

/**
 * Changes a small document, and gives what it says besides. Pure, and quick: it may be asked again when
 * another writer was faster. An undefined document is none.
 * @param now milliseconds since 1970, by one clock for all who share the document
 */
export type DocumentChange<Document, Result> = (
  document: Document | undefined,
  now: number,
) => readonly [Document | undefined, Result];

/** Small JSON documents by key. One that has not changed for long may be forgotten. */
export interface Documents {
  /** One step: no other change comes between. @throws where the documents cannot be reached */
  change<Document, Result>(key: string, change: DocumentChange<Document, Result>): Promise<Result>;
}

/**
 * What outlives a request, and with some kinds the process: either of this process alone, or shared by all
 * instances of a service. Callers cannot tell which.
 */
export interface State {
  readonly documents: Documents;
  /** The queue of this name. To be asked once in a process. */
  queue(name: string, most: number): DurableQueue;
  close(): Promise<void>;
}
