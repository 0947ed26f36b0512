import { ConnectorError } from '../client/index.ts';

/** A person does not wait for an answer any more. */
export class Stopped extends Error {}

/** Told of a change that takes its time, with what ends the wait for it. Returns what its end calls. */
export type Slow = (stop: () => void) => () => void;

/** What is only looked at comes within this time, or the person is told. Milliseconds. */
const PATIENCE = 30_000;
const LOOKS = /\/(?:files|fileUses|folders|permissions|filesSearch|trashList)$/u;
/** Changes and downloads may take as long as they need: after this time the person is told, and can stop waiting. */
const SLOW = 3000;

/** Ends requests for what is to be shown whose answer does not come, and tells of others that take their time. */
export const patientFetch =
  (send: typeof fetch, slow: Slow = () => () => undefined): typeof fetch =>
  async (input, init) => {
    const ending = new AbortController();
    const isLook = typeof input !== 'string' || LOOKS.test(input);
    let ended: (() => void) | undefined;
    const timer = isLook
      ? setTimeout(() => ending.abort(new ConnectorError(0, [])), PATIENCE)
      : setTimeout(() => {
          ended = slow(() => ending.abort(new Stopped()));
        }, SLOW);
    const signals = [ending.signal, ...(init?.signal ? [init.signal] : [])];
    try {
      const response = await send(input, { ...init, signal: AbortSignal.any(signals) });
      // The body is waited for too.
      return new Response(await response.blob(), response);
    } catch (error) {
      // Of a body that is broken off, browsers do not say why.
      if (ending.signal.aborted) throw ending.signal.reason;
      throw error instanceof TypeError ? new ConnectorError(0, []) : error;
    } finally {
      clearTimeout(timer);
      ended?.();
    }
  };
