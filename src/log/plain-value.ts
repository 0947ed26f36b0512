import { inspect } from 'node:util';

/** Nested causes that are still included. */
const MOST_CAUSES = 5;

const isJson = (value: unknown): boolean => {
  try {
    return value === undefined || JSON.stringify(value) !== undefined;
  } catch {
    return false;
  }
};

const plainError = (error: Error, stacks: boolean, causes: number): unknown => {
  const { name, message, stack, cause } = error;
  const { code, detail } = error as { readonly code?: unknown; readonly detail?: unknown };
  return {
    name,
    message,
    ...(typeof code === 'string' ? { code } : {}),
    ...(typeof detail === 'string' ? { detail } : {}),
    ...(stacks ? { stack } : {}),
    ...(cause === undefined || causes === 0 ? {} : { cause: plainValue(cause, stacks, causes - 1) }),
  };
};

/**
 * Anything that may be logged, or was thrown, as a value that JSON can hold: errors with their code, detail and up to five causes, and on
 * request their stacks; what JSON cannot hold (circles, large integers, symbols) as text. Never throws for such values.
 */
export const plainValue = (value: unknown, stacks: boolean, causes = MOST_CAUSES): unknown => {
  if (value instanceof Error) return plainError(value, stacks, causes);
  return isJson(value) ? value : inspect(value, { depth: 3, breakLength: Number.POSITIVE_INFINITY });
};
