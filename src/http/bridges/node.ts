import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2';
import { Readable } from 'node:stream';
import type { Handle } from '../message.ts';
import { createMountReader, type MountOptions } from './mount.ts';
import { send } from './node-answer.ts';
import { NodeConnectorRequest, type NodeRequestView } from './node-request.ts';
import { untilTurn } from './turn.ts';

/**
 * A handler for `node:http`, `node:https` and `node:http2` servers, for `app.use` of Express and for everything that hands
 * on their requests. Resolves when the answer has been handed over; every path is answered, so `next` only gets failures.
 */
export type NodeHandler = (
  request: IncomingMessage | Http2ServerRequest,
  response: ServerResponse | Http2ServerResponse,
  next?: (error?: unknown) => void,
) => Promise<void>;

/** Serves one request of a framework on top of node's HTTP. */
export const serveNode = async (
  handle: Handle,
  request: IncomingMessage,
  response: ServerResponse,
  view: NodeRequestView,
  stallMs?: number,
): Promise<void> => {
  const turn = untilTurn(request, response);
  if (turn !== true && !(await turn)) {
    response.destroy();
    return;
  }
  const message = new NodeConnectorRequest(request, response, view);
  const answer = await handle(message);
  if (response.destroyed) {
    if (answer.body instanceof Readable) answer.body.destroy();
    return;
  }
  try {
    await send(request, response, answer, message.body !== undefined && !request.complete, stallMs);
  } catch (error) {
    if (answer.body instanceof Readable) answer.body.destroy();
    if (!response.headersSent) throw error;
    // A body that broke off, or a client that left: what was sent is not a whole answer, and the client must see that.
    response.destroy();
  }
};

/** How a handler is mounted, and how long it waits. */
export interface NodeHandlerOptions extends MountOptions {
  /** A client that takes nothing for this long while there is something to send is given up. Default: two minutes. */
  readonly stallMs?: number | undefined;
}

/** Makes the handler of a connector. */
export const toNodeHandler = (
  handle: Handle,
  { stallMs, ...options }: NodeHandlerOptions = {},
): NodeHandler => {
  const readMount = createMountReader(options);
  return async (request, response, next) => {
    try {
      // The compatibility API of HTTP/2 has all that is used here.
      const message = request as IncomingMessage;
      await serveNode(handle, message, response as ServerResponse, readMount(message), stallMs);
    } catch (error) {
      if (next === undefined) response.destroy();
      else next(error);
    }
  };
};
