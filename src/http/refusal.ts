import { STATUS_CODES, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { errorTable, type ErrorCode } from '../errors/table.ts';
import { errorEnvelope, jsonResponse } from './envelope.ts';

type Headers = Readonly<Record<string, string>>;

interface Refusal {
  readonly status: number;
  readonly headers: Headers;
  readonly body: string;
}

const refusal = (code: ErrorCode, more: Headers): Refusal => {
  const { status, message } = errorTable[code];
  const body = errorEnvelope(status, code, [message]);
  const { headers } = jsonResponse(status, body, { headers: { ...more, connection: 'close' } });
  return { status, headers, body };
};

/** Answers a request that the connector does not get to see, and closes its connection. */
export const refuse = (response: ServerResponse, code: ErrorCode, headers: Headers): void => {
  const answer = refusal(code, headers);
  response.writeHead(answer.status, answer.headers);
  response.end(answer.body);
};

const codes: Readonly<Record<string, ErrorCode>> = {
  HPE_HEADER_OVERFLOW: 'HEADERS_TOO_LARGE',
  ERR_HTTP_REQUEST_TIMEOUT: 'REQUEST_TIMEOUT',
};

/** Answers what the server could not read as a request, and closes its connection. */
export const refuseUnreadable = (socket: Duplex, error: NodeJS.ErrnoException, more: Headers): void => {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const { status, headers, body } = refusal(codes[error.code ?? ''] ?? 'INVALID_PARAMETERS', more);
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${String(status)} ${STATUS_CODES[status] ?? ''}\r\n${lines.join('')}\r\n${body}`);
};
