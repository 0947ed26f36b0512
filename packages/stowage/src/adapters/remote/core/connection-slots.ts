import { createSlots, type Slots } from '../../../basics/concurrency/slots.ts';
import { StorageTimeoutError } from '../../../errors/errors.ts';

/** How connections to a server are shared. */
export interface ConnectionLimits {
  /** Connections that may be in use at the same time. */
  readonly connections: number;
  /** Requests that may wait for one; one more fails with BusyError. */
  readonly mayWait: number;
  /** How long a request waits while no connection becomes free. */
  readonly waitMs: number;
}

/**
 * Slots for the connections to one server. A download keeps its slot as long as its reader takes, so waiting
 * has a limit: a request fails with StorageTimeoutError when no slot has become free for `waitMs`. While
 * slots become free it keeps waiting.
 */
export const createConnectionSlots = ({ connections, mayWait, waitMs }: ConnectionLimits): Slots => {
  const slots = createSlots(connections, mayWait);
  let freedAt = 0;

  const takeInTime = async (signal: AbortSignal | undefined): Promise<() => void> => {
    const limit = new AbortController();
    const since = performance.now();
    const check = (): void => {
      const idle = performance.now() - Math.max(since, freedAt);
      if (idle < waitMs) timer = setTimeout(check, waitMs - idle);
      else limit.abort(new StorageTimeoutError({ detail: 'all connections to the server are in use' }));
    };
    let timer = setTimeout(check, waitMs);
    try {
      return await slots.take(signal === undefined ? limit.signal : AbortSignal.any([signal, limit.signal]));
    } finally {
      clearTimeout(timer);
    }
  };

  return {
    take: async (signal) => {
      const free = await takeInTime(signal);
      return () => {
        freedAt = performance.now();
        free();
      };
    },
  };
};
