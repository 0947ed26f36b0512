import { type ErrorCode, errorTable } from './table.ts';

const REFUSALS: ReadonlySet<ErrorCode> = new Set([
  'NOT_FOUND',
  'WRONG_KIND',
  'ALREADY_EXISTS',
  'NOT_EMPTY',
  'CHANGED_MEANWHILE',
  'CONTENTS_CONFLICT',
  'UNSAFE_PATH',
  'UNSAFE_NAME',
  'STORAGE_DENIED',
  'STORAGE_FULL',
  'UNSUPPORTED',
]);

const isCode = (code: unknown): code is ErrorCode => typeof code === 'string' && code in errorTable;

/**
 * Whether an error of a store says that it has not done what it was asked for. After any other, such as a lost
 * connection or an abort, it may have done it, or do it yet.
 */
export const isRefusal = (error: unknown): boolean => {
  const code: unknown = error instanceof Error && 'code' in error ? error.code : undefined;
  return isCode(code) && REFUSALS.has(code);
};
