import { orAborted } from '../basics/concurrency/or-aborted.ts';

/** Work that runs once however many callers want it at the same time. */
export interface SingleFlight<Result> {
  /**
   * Joins the running work of this key and version, or starts it; work of another version of the key is
   * waited for first. A caller that leaves does not disturb the others; when the last one has left, the
   * work's signal is aborted.
   */
  run(
    key: string,
    version: string,
    work: (signal: AbortSignal) => Promise<Result>,
    signal?: AbortSignal,
  ): Promise<Result>;
  /** Keys of running work. */
  keys(): Iterable<string>;
  /** Aborts the work of a key, if any, and waits until it has ended. Its callers get the abort. */
  cancel(key: string): Promise<void>;
}

interface Flight<Result> {
  readonly version: string;
  readonly controller: AbortController;
  readonly landing: Promise<Result>;
  waiters: number;
}

const nothing = (): void => undefined;

/** Makes a single flight. It remembers nothing but running work. */
export const createSingleFlight = <Result>(): SingleFlight<Result> => {
  const flights = new Map<string, Flight<Result>>();

  const start = (
    key: string,
    version: string,
    work: (signal: AbortSignal) => Promise<Result>,
  ): Flight<Result> => {
    const controller = new AbortController();
    const landing = work(controller.signal).finally(() => flights.delete(key));
    // When every caller has left, its end is not reported.
    landing.catch(nothing);
    const flight: Flight<Result> = { version, controller, landing, waiters: 0 };
    flights.set(key, flight);
    return flight;
  };

  const join = async (flight: Flight<Result>, signal: AbortSignal | undefined): Promise<Result> => {
    flight.waiters += 1;
    try {
      return await orAborted(flight.landing, signal);
    } finally {
      flight.waiters -= 1;
      if (flight.waiters === 0) flight.controller.abort();
    }
  };

  return {
    run: async (key, version, work, signal) => {
      for (;;) {
        signal?.throwIfAborted();
        const flight = flights.get(key);
        if (flight === undefined) return join(start(key, version, work), signal);
        if (flight.version === version && !flight.controller.signal.aborted) return join(flight, signal);
        await orAborted(flight.landing.then(nothing, nothing), signal);
      }
    },
    keys: () => flights.keys(),
    cancel: async (key) => {
      const flight = flights.get(key);
      flight?.controller.abort();
      await flight?.landing.then(nothing, nothing);
    },
  };
};
