import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import {
  createServer,
  request,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

/** Starts a server for one test; returns its origin. */
export const serveWith = async (listener: RequestListener): Promise<string> => {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
};

type Headers = Readonly<Record<string, string>>;

/** A web server that serves a folder. */
export const serveFolder = (root: string, headers: Headers = {}): Promise<string> =>
  serveWith((request, response) => {
    readFile(join(root, decodeURIComponent(request.url ?? '/'))).then(
      (bytes) => response.writeHead(200, headers).end(bytes),
      () => response.writeHead(404).end(),
    );
  });

/** A server that answers everything alike. */
export const answerAll = (status: number, body = '', headers: Headers = {}): Promise<string> =>
  serveWith((incoming, response) => {
    incoming.resume();
    response.writeHead(status, headers).end(body);
  });

/** Answers in place of the server behind a proxy; false: hands the request on. */
export type Meddle = (incoming: IncomingMessage, response: ServerResponse) => boolean;

/** A proxy that may answer by itself, and change the path and the headers of answers. */
export const proxyTo = (
  target: string,
  {
    meddle = () => false,
    path = (url) => url,
    headers = {},
  }: {
    readonly meddle?: Meddle;
    readonly path?: (url: string) => string;
    readonly headers?: Readonly<Record<string, string | string[]>>;
  } = {},
): Promise<string> =>
  serveWith((incoming, response) => {
    if (meddle(incoming, response)) return;
    const { method, url = '/' } = incoming;
    const onward = request(`${target}${path(url)}`, { method, headers: incoming.headers }, (answer) => {
      const { statusCode = 502 } = answer;
      response.writeHead(statusCode, { ...answer.headers, ...headers });
      answer.pipe(response);
    });
    onward.on('error', () => response.destroy());
    incoming.pipe(onward);
  });

/** An error of S3. */
export const refuse = (response: ServerResponse, status: number, code: string): true => {
  response.writeHead(status, { 'content-type': 'application/xml' });
  response.end(`<?xml version="1.0"?><Error><Code>${code}</Code><Message>about ${code}</Message></Error>`);
  return true;
};
