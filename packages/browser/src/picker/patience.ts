import { ConnectorError } from '../client/index.ts';
import { anyOf } from '../transfer/request.ts';

/** The user has cancelled the wait for a response. */
export class Stopped extends Error {}

/**
 * Called when a change takes long, with a function that cancels the wait. Returns a function that is called
 * at its end.
 */
export type Slow = (stop: () => void) => () => void;

/** Time limit of read requests in milliseconds; after it they fail. */
const PATIENCE = 30_000;
const LOOKS = /\/(?:files|fileUses|folders|permissions|filesSearch|trashList)$/u;
/**
 * Changes and downloads have no time limit: after this time the user is informed, and can cancel the wait.
 */
const SLOW = 3000;

/** Wraps `fetch`: aborts read requests without a response in time, and reports other slow requests. */
export const patientFetch =
  (send: typeof fetch, slow: Slow = () => () => undefined): typeof fetch =>
  async (input, init) => {
    const ending = new AbortController();
    const signal = anyOf(init?.signal ? [ending.signal, init.signal] : [ending.signal]);
    const isLook = typeof input !== 'string' || LOOKS.test(input);
    let ended: (() => void) | undefined;
    const timer = setTimeout(
      () => {
        if (isLook) ending.abort(new ConnectorError(0, []));
        else ended = slow(() => ending.abort(new Stopped()));
      },
      isLook ? PATIENCE : SLOW,
    );
    try {
      const response = await send(input, { ...init, signal });
      // Includes the wait for the body.
      return new Response(await response.blob(), response);
    } catch (error) {
      // For an aborted body, browsers do not report the signal's reason, nor may another `fetch`.
      if (signal.aborted) throw signal.reason;
      throw error instanceof TypeError ? new ConnectorError(0, []) : error;
    } finally {
      clearTimeout(timer);
      ended?.();
      // Lets browsers forget the listener of `anyOf`.
      ending.abort();
    }
  };
