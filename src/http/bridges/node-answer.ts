import type { IncomingMessage, ServerResponse } from 'node:http';
import { constants } from 'node:http2';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ConnectorResponse } from '../message.ts';
import { drain } from './drain.ts';
import { http2Stream } from './node-request.ts';

/** A client that takes nothing for this long while we have something to send is given up. */
const STALL_MS = 120_000;

const writeBody = async (
  response: ServerResponse,
  body: ConnectorResponse['body'],
  end: boolean,
  stallMs: number,
): Promise<void> => {
  response.setTimeout(stallMs, () => response.destroy());
  if (body instanceof Readable) {
    await pipeline(body, response, { end });
  } else if (end) response.end(body);
  else if (body === undefined) response.flushHeaders();
  else response.write(body);
};

/** Keeps what the host's own answers vary by: without it a shared cache would mix its users. */
const withHostVary = (
  response: ServerResponse,
  headers: ConnectorResponse['headers'],
): ConnectorResponse['headers'] => {
  const ofHost = response.getHeader('vary');
  if (ofHost === undefined || headers['vary'] === undefined) return headers;
  return { ...headers, vary: [ofHost, headers['vary']].flat().join(', ') };
};

/**
 * Sends an answer. `unread`: the client is still sending a body that nobody reads; over HTTP/1 the answer goes out first, the
 * rest is taken for a while, and then the connection is closed. Rejects when a stream body fails or the client leaves.
 */
export const send = async (
  request: IncomingMessage,
  response: ServerResponse,
  answer: ConnectorResponse,
  unread: boolean,
  stallMs = STALL_MS,
): Promise<void> => {
  const stream = http2Stream(request);
  if (stream === undefined && answer.statusText !== undefined) response.statusMessage = answer.statusText;
  const lingers = unread && stream === undefined;
  if (lingers) response.setHeader('connection', 'close');
  response.writeHead(answer.status, withHostVary(response, answer.headers));
  const drained = lingers ? drain(request) : undefined;
  await writeBody(response, answer.body, !lingers, stallMs);
  if (drained !== undefined) {
    await drained;
    response.end();
  }
  // HTTP/2 can stop the one request and keep the connection.
  if (unread && stream !== undefined) {
    stream.close(constants.NGHTTP2_NO_ERROR);
    // Without a reader the stream would never end.
    request.resume();
  }
};
