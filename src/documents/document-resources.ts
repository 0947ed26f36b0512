import { buffer } from 'node:stream/consumers';
import type { Logger } from '../log/logger.ts';
import type { RemoteFetcher } from '../remote/remote.ts';
import type { DocumentJob } from './documents.ts';

/** More resources than this are not loaded for one document. */
const MAX_RESOURCES = 500;
/** Bytes of all resources of one document, or twice the largest single one where that is more. */
const MAX_TOTAL_BYTES = 100 * 1024 * 1024;
const PARALLEL = 6;

/** Something that a document shows. */
export interface Resource {
  readonly bytes: Buffer;
  /** As the server says. */
  readonly contentType: string | undefined;
}

/** The loader of one document. */
export interface DocumentResources {
  /**
   * Loads over http and https. Undefined when the resource is refused, fails, or passes a limit of the document: documents are made
   * without it. Rejects only with the reason of the document's signal.
   */
  load(url: string, accept: string): Promise<Resource | undefined>;
}

/** Makes the loader of one document. Its time begins now. */
export const createDocumentResources = (
  remote: RemoteFetcher,
  { resources: rules, signal }: Pick<DocumentJob, 'resources' | 'signal'>,
  log: Logger,
): DocumentResources => {
  const endsAt = Date.now() + rules.timeoutMs;
  const queue: (() => void)[] = [];
  let running = 0;
  let count = 0;
  let bytesLeft = Math.max(MAX_TOTAL_BYTES, 2 * rules.maxBytes);

  const turn = async (): Promise<void> => {
    if (running < PARALLEL) running += 1;
    else await new Promise<void>((start) => queue.push(start));
  };
  const leave = (): void => {
    const next = queue.shift();
    if (next === undefined) running -= 1;
    else next();
  };

  const fetchOne = async (url: string, accept: string): Promise<Resource | undefined> => {
    const timeoutMs = endsAt - Date.now();
    if (timeoutMs <= 0 || bytesLeft <= 0) return undefined;
    const maxBytes = Math.min(rules.maxBytes, bytesLeft);
    const { stream, contentType } = await remote.fetch(url, { maxBytes, timeoutMs, accept, signal });
    const bytes = await buffer(stream);
    bytesLeft -= bytes.length;
    return { bytes, contentType };
  };

  return {
    load: async (url, accept) => {
      count += 1;
      if (!rules.enabled || count > MAX_RESOURCES) return undefined;
      await turn();
      try {
        return await fetchOne(url, accept);
      } catch (reason) {
        signal.throwIfAborted();
        log.info('A resource of a document is left out.', { reason });
        return undefined;
      } finally {
        leave();
      }
    },
  };
};
