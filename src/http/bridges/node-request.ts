import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Http2ServerRequest } from 'node:http2';
import type { Readable } from 'node:stream';
import type { ConnectorRequest, ParsedBody } from '../message.ts';
import { hostBody } from './host-body.ts';

/** What a framework on top of node's HTTP may know better. */
export interface NodeRequestView {
  /** Path and query below the mount point. Default: `request.url`. */
  readonly url?: string;
  /** Whether the URL begins at the mount for certain. */
  readonly isExact?: boolean;
  /** What hooks get as `native`. Default: the request. */
  readonly native?: unknown;
}

/** The stream of an HTTP/2 request; undefined for HTTP/1. */
export const http2Stream = (request: IncomingMessage): Http2ServerRequest['stream'] | undefined =>
  request.httpVersionMajor === 2 ? (request as unknown as Http2ServerRequest).stream : undefined;

const signalOf = (response: ServerResponse): AbortSignal => {
  const gone = new AbortController();
  const onClose = (): void => {
    if (!response.writableFinished) gone.abort();
  };
  if (response.destroyed) onClose();
  else response.once('close', onClose);
  return gone.signal;
};

const hasBody = (request: IncomingMessage): boolean => {
  const stream = http2Stream(request);
  if (stream !== undefined) return !stream.endAfterHeaders;
  const { headers } = request;
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) !== 0;
};

/** A request of node's HTTP as the core takes it. */
export class NodeConnectorRequest implements ConnectorRequest {
  readonly method: string;
  readonly url: string;
  readonly isExact: boolean | undefined;
  readonly headers: ConnectorRequest['headers'];
  readonly native: unknown;
  readonly body: Readable | undefined;
  readonly parsedBody: ParsedBody | undefined;
  readonly #response: ServerResponse;
  #signal: AbortSignal | undefined;

  constructor(request: IncomingMessage, response: ServerResponse, view: NodeRequestView) {
    const host = hostBody(request);
    this.method = request.method ?? 'GET';
    this.url = view.url ?? request.url ?? '/';
    this.isExact = view.isExact;
    // Only `set-cookie` can be a list, and that is not a header of requests.
    this.headers = request.headers as ConnectorRequest['headers'];
    this.native = view.native ?? request;
    this.body = host === undefined && hasBody(request) ? request : host?.body;
    this.parsedBody = host?.parsedBody;
    this.#response = response;
  }

  /** Made when it is first asked for: a signal costs as much as a tenth of a small answer. */
  get signal(): AbortSignal {
    this.#signal ??= signalOf(this.#response);
    return this.#signal;
  }
}
