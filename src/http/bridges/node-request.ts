import type { IncomingMessage } from 'node:http';
import type { Http2ServerRequest } from 'node:http2';
import type { ConnectorRequest } from '../message.ts';
import { hostBody } from './host-body.ts';

/** What a framework on top of node's HTTP may know better. */
export interface NodeRequestView {
  /** Path and query below the mount point. Default: `request.url`, which Express has cut already. */
  readonly url?: string;
  /** What hooks get as `native`. Default: the request. */
  readonly native?: unknown;
}

/** The stream of an HTTP/2 request; undefined for HTTP/1. */
export const http2Stream = (request: IncomingMessage): Http2ServerRequest['stream'] | undefined =>
  request.httpVersionMajor === 2 ? (request as unknown as Http2ServerRequest).stream : undefined;

const hasBody = (request: IncomingMessage): boolean => {
  const stream = http2Stream(request);
  if (stream !== undefined) return !stream.endAfterHeaders;
  const { headers } = request;
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) !== 0;
};

/** A request of node's HTTP as the core takes it. */
export const toRequest = (
  request: IncomingMessage,
  view: NodeRequestView,
  signal: AbortSignal,
): ConnectorRequest => {
  const host = hostBody(request);
  return {
    method: request.method ?? 'GET',
    url: view.url ?? request.url ?? '/',
    // Only `set-cookie` can be a list, and that is no header of requests.
    headers: request.headers as ConnectorRequest['headers'],
    native: view.native ?? request,
    signal,
    body: host === undefined && hasBody(request) ? request : host?.body,
    parsedBody: host?.parsedBody,
  };
};
