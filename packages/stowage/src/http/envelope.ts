import type { ErrorCode, ErrorDetails } from '../errors/table.ts';
import type { ConnectorResponse } from './message.ts';

const jsonHeaders = {
  'content-type': 'application/json; charset=utf-8',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
} as const;

/** Headers of every JSON answer. */
export const headersOfJson: Readonly<Record<string, string>> = jsonHeaders;

/** The code of every success, in `data.code`. */
export const SUCCESS_CODE = 220;

/** An answer whose JSON text is at hand. */
export const jsonResponse = (
  status: number,
  text: string,
  more: {
    readonly statusText?: string | undefined;
    readonly headers?: Readonly<Record<string, string>>;
  } = {},
): ConnectorResponse => ({
  status,
  statusText: more.statusText,
  headers: { ...jsonHeaders, 'content-length': String(Buffer.byteLength(text)), ...more.headers },
  body: text,
});

/** The envelope of every error: `{success: false, data: {code, error, messages, details?}}`. */
export const errorEnvelope = (
  code: number,
  error: ErrorCode,
  messages: readonly string[],
  details?: ErrorDetails,
): string => JSON.stringify({ success: false, data: { code, error, messages, details } });

/** The answer of the health check. */
export const pingResponse = (): ConnectorResponse => jsonResponse(200, '{"success":true}');
