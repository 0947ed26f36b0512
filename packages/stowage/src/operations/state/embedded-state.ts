import { join } from 'node:path';
import { LRUCache } from 'lru-cache';
import { createFileQueue } from './file-queue.ts';
import type { DocumentChange, State } from './state.ts';

const MOST_DOCUMENTS = 10_000;

/**
 * State of this process alone: documents in memory, of which the one that was used longest ago is forgotten
 * first, and queues in a directory, which outlive it.
 */
export const createEmbeddedState = (directory: string): State => {
  const documents = new LRUCache<string, { readonly document: unknown }>({
    // A bound by number would make lists of that length at the start.
    maxSize: MOST_DOCUMENTS,
    sizeCalculation: () => 1,
  });
  return {
    documents: {
      change: <Document, Result>(key: string, change: DocumentChange<Document, Result>) =>
        new Promise<Result>((resolve) => {
          const [document, result] = change(documents.get(key)?.document as Document | undefined, Date.now());
          if (document === undefined) documents.delete(key);
          else documents.set(key, { document });
          resolve(result);
        }),
    },
    queue: (name, most) => createFileQueue(join(directory, 'webhooks', name), most),
    close: () => Promise.resolve(),
  };
};
