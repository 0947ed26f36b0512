import { InternalError, isHttpError, StowageError } from '../errors/errors.ts';

/**
 * What a failed hook means for its request: an `HttpError` stays, anything else is an internal error. That includes our own
 * errors about requests, which a hook may meet when it works with a store: they are not about this request.
 */
export const asHookFailure = (error: unknown, hook: string): unknown => {
  if (isHttpError(error)) return error;
  if (error instanceof StowageError && error.status >= 500) return error;
  return new InternalError({ detail: `the hook ${hook} failed`, cause: error });
};

/** Waits for a hook and turns its failure into ours. */
export const fromHook = async <Value>(hook: string, call: () => Value | Promise<Value>): Promise<Value> => {
  try {
    return await call();
  } catch (error) {
    throw asHookFailure(error, hook);
  }
};
