import { startDeadline, type Deadline } from '../basics/network/deadline.ts';
import type { DocumentResources } from './document-resources.ts';

/** The time of one document: its own, which stands still while something loads, and that of loading. */
export interface DocumentClock extends Deadline {
  /** The same resources; while any of them loads, the document's own time stands still. */
  time(resources: DocumentResources): DocumentResources;
}

/** Milliseconds. Both together are the most that a document takes. */
export interface DocumentTimes {
  readonly ownMs: number;
  readonly loadingMs: number;
}

/** Starts the clock. Its signal's reason is what `late` makes, or that of `outer`. */
export const startDocumentClock = (
  { ownMs, loadingMs }: DocumentTimes,
  outer: AbortSignal,
  late: () => Error,
): DocumentClock => {
  const deadline = startDeadline(ownMs + loadingMs, outer, late);
  let left = ownMs;
  let loading = 0;
  let isEnded = false;
  let since = performance.now();
  let timer: NodeJS.Timeout | undefined;
  const run = (): void => {
    since = performance.now();
    timer = setTimeout(() => deadline.abort(late()), left);
  };
  const stop = (): void => {
    clearTimeout(timer);
    left -= performance.now() - since;
  };
  run();
  return {
    ...deadline,
    end: () => {
      isEnded = true;
      clearTimeout(timer);
      deadline.end();
    },
    time: (resources) => ({
      load: async (url, accept) => {
        loading += 1;
        if (loading === 1) stop();
        try {
          return await resources.load(url, accept);
        } finally {
          loading -= 1;
          if (loading === 0 && !isEnded) run();
        }
      },
    }),
  };
};
