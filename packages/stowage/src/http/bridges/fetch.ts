import { Readable } from 'node:stream';
import type { ConnectorRequest, ConnectorResponse, Handle } from '../message.ts';

/** In place of the address of a peer on a Unix socket, as in `trustedProxies` and `auth.from`. */
export const UNIX_PEER = 'unix';

interface WithSocket {
  readonly socket?: {
    readonly remoteAddress?: unknown;
    readonly server?: { readonly address?: () => unknown } | null;
  } | null;
}

/**
 * The peer address of a request's connection, from the host's socket; no header is read. `unix` for one that
 * has come over a Unix socket. Bridges call it when a request arrives: after a connection reset the address is
 * lost.
 */
export const peerAddress = (native: unknown): string | undefined => {
  // Hono on Node stores the `node:http` request beside its own.
  const { socket, env } = (native ?? {}) as WithSocket & {
    readonly env?: { readonly incoming?: WithSocket } | null;
  };
  try {
    const { remoteAddress, server } = socket ?? env?.incoming?.socket ?? {};
    if (typeof remoteAddress === 'string') return remoteAddress;
    // The address of such a server is a path. A lost connection has no address either.
    return typeof server?.address?.() === 'string' ? UNIX_PEER : undefined;
  } catch {
    // The socket of an HTTP/2 request throws once its session has ended.
    return undefined;
  }
};

export interface MountOptions {
  /** Path of the mount, when the framework leaves it in the URL: `/api/files`. */
  readonly basePath?: string | undefined;
}

/** A base path in the encoding of URLs (`/größe` is sent as `/gr%C3%B6%C3%9Fe`), without a slash at its end. */
export const encodedBase = (basePath: string): string => {
  const segments = basePath.split('/').filter((segment) => segment !== '');
  return segments.length === 0 ? '' : new URL(`/${segments.join('/')}`, 'http://host').pathname;
};

/** The URL below a base, by whole segments: `/files2` is not below `/files`. Undefined when it is not below it. */
export const belowBase = (base: string, url: string): string | undefined => {
  if (!url.startsWith(base)) return undefined;
  const rest = url.slice(base.length);
  if (rest.startsWith('/')) return rest;
  return rest === '' || rest.startsWith('?') ? `/${rest}` : undefined;
};

/** The part of a URL before the rest. */
export const mountOf = (whole: string, rest: string): string => {
  const [path = ''] = whole.split('?', 1);
  const [inside = ''] = rest.split('?', 1);
  const mount = path.endsWith(inside) ? path.slice(0, path.length - inside.length) : path;
  return mount.replace(/\/+$/u, '');
};

/** Limits for reading an unwanted body, so that the client can read the response. */
const [DRAINED_BYTES, DRAIN_MS, SILENT_MS] = [1024 ** 3, 30_000, 5_000];

/**
 * Reads and discards the rest of a body. A client that is still sending when its connection closes often
 * loses the response, so the response is sent first, and the rest is read for a limited time. The stream stays
 * with its owner. Never rejects.
 */
export const drain = (body: Readable): Promise<void> =>
  new Promise((resolve) => {
    let bytes = 0;
    const stop = (): void => {
      clearTimeout(total);
      clearTimeout(idle);
      body.off('data', onData).off('end', stop).off('close', stop).pause();
      resolve();
    };
    const total = setTimeout(stop, DRAIN_MS);
    const idle = setTimeout(stop, SILENT_MS);
    const onData = (chunk: Buffer): void => {
      bytes += chunk.length;
      idle.refresh();
      if (bytes > DRAINED_BYTES) stop();
    };
    // Draining must not keep the process alive.
    total.unref();
    idle.unref();
    body.on('error', () => undefined);
    if (body.readableEnded || body.destroyed) return stop();
    body.on('data', onData).once('end', stop).once('close', stop);
    body.resume();
  });

/** A handler of web requests: for Hono, Next.js, Bun and others that use `Request` and `Response`. */
export type FetchHandler = (
  request: Request,
  /** The value of `native` for hooks, for example Hono's context. Default: the request. */
  native?: unknown,
) => Promise<Response>;

type WebBody = ConstructorParameters<typeof Response>[0];

const bodyOf = ({ body, bodyUsed }: Request): Pick<ConnectorRequest, 'body' | 'parsedBody'> => {
  if (body === null) return { body: undefined };
  if (bodyUsed || body.locked)
    return { body: undefined, parsedBody: { fields: undefined, files: [], isMissing: true } };
  // A client may disconnect before the body is read: an error without a listener would end the process.
  return { body: Readable.fromWeb(body).on('error', () => undefined) };
};

/** A connection is closed when the client reads nothing for this long while there is data to send. */
export const STALL_MS = 120_000;

/**
 * The body for a web response. Not `Readable.toWeb`: in Node 20 a client that disconnects at the wrong moment
 * would end the process by an uncaught error. As with `node:http`, a body that is not read for long ends: a
 * middleware of the host may have dropped the response, such as Hono's `timeout`, and its file would stay open.
 */
const toBody = (body: ConnectorResponse['body']): WebBody => {
  if (!(body instanceof Readable)) return body ?? null;
  type Chunks = AsyncIterator<Uint8Array, undefined>;
  const chunks = body.on('error', () => undefined)[Symbol.asyncIterator]() as Chunks;
  let unread: NodeJS.Timeout | undefined;
  const wait = (): void => {
    unread = setTimeout(() => body.destroy(new Error('the host does not read the response')), STALL_MS);
    unread.unref();
  };
  const stop = (): void => clearTimeout(unread);
  const pull = async (controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> => {
    stop();
    const { value } = await chunks.next();
    if (value === undefined) return controller.close();
    // Throws after a cancellation, which has stopped the timer.
    controller.enqueue(value);
    wait();
  };
  const cancel = (): void => {
    stop();
    body.destroy();
  };
  wait();
  return new ReadableStream({ pull, cancel }, { highWaterMark: 0 }) as WebBody;
};

export const toFetchHandler = (handle: Handle, { basePath = '' }: MountOptions = {}): FetchHandler => {
  const base = encodedBase(basePath);
  return async (request, native = request) => {
    const { pathname, search } = new URL(request.url);
    const given = bodyOf(request);
    const { body } = given;
    const message: ConnectorRequest = {
      method: request.method,
      // The host may have removed the base already, as mounts of Hono do.
      url: (belowBase(base, pathname) ?? pathname) + search,
      mount: base,
      headers: Object.fromEntries(request.headers),
      native,
      peer: peerAddress(native),
      signal: request.signal,
      ...given,
    };
    const response = await handle(message);
    if (body !== undefined && !body.readableEnded) {
      // The response is sent meanwhile; with an immediate cancel many clients would lose it.
      void drain(body).then(() => body.destroy());
    }
    return new Response(toBody(response.body), {
      status: response.status,
      ...(response.statusText === undefined ? {} : { statusText: response.statusText }),
      headers: response.headers,
    });
  };
};
