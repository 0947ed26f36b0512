import { Readable } from 'node:stream';
import type { ConnectorRequest, ConnectorResponse, Handle } from '../message.ts';

interface WithSocket {
  readonly socket?: { readonly remoteAddress?: unknown } | null;
}

/**
 * The address of the other end of a request's connection, as far as the host's request knows its socket; no
 * header is read. Bridges ask when a request arrives: a client that resets its connection leaves no address.
 */
export const peerAddress = (native: unknown): string | undefined => {
  // Hono on Node keeps the request of node:http beside its own.
  const { socket, env } = (native ?? {}) as WithSocket & {
    readonly env?: { readonly incoming?: WithSocket } | null;
  };
  try {
    const address = (socket ?? env?.incoming?.socket)?.remoteAddress;
    return typeof address === 'string' ? address : undefined;
  } catch {
    // The socket of an HTTP/2 request whose session has ended.
    return undefined;
  }
};

export interface MountOptions {
  /** Path that the connector is mounted below, when the framework leaves it in the URL: `/api/files`. */
  readonly basePath?: string | undefined;
}

/**
 * Makes the cut of a base path from a URL: by whole segments, so that `/files2` is not below `/files`.
 * Undefined: not below it.
 */
export const createCut = (basePath: string): ((url: string) => string | undefined) => {
  const segments = basePath.split('/').filter((segment) => segment !== '');
  // As it stands in a URL: `/größe` is sent as `/gr%C3%B6%C3%9Fe`.
  const base = segments.length === 0 ? '' : new URL(`/${segments.join('/')}`, 'http://host').pathname;
  return (url) => {
    if (!url.startsWith(base)) return undefined;
    const rest = url.slice(base.length);
    if (rest.startsWith('/')) return rest;
    return rest === '' || rest.startsWith('?') ? `/${rest}` : undefined;
  };
};

/** What stands before the rest of a URL. */
export const mountOf = (whole: string, rest: string): string => {
  const [path = ''] = whole.split('?', 1);
  const [inside = ''] = rest.split('?', 1);
  const mount = path.endsWith(inside) ? path.slice(0, path.length - inside.length) : path;
  return mount.replace(/\/+$/u, '');
};

/** How much of an unwanted body is read, so that the client gets round to reading the answer. */
const [DRAINED_BYTES, DRAIN_MS, SILENT_MS] = [1024 ** 3, 30_000, 5_000];

/**
 * Reads and drops the rest of a body. A client that is still sending when its connection closes often loses
 * the answer, so the answer goes out first and the rest is taken for a while. True when the body has come to
 * its end; the stream is left to its owner. Never rejects.
 */
export const drain = (body: Readable): Promise<boolean> =>
  new Promise((resolve) => {
    let bytes = 0;
    const stop = (whole: boolean) => (): void => {
      clearTimeout(total);
      clearTimeout(idle);
      body.off('data', onData).off('end', onEnd).off('close', onEnd);
      if (!whole) body.pause();
      resolve(whole);
    };
    const giveUp = stop(false);
    const onEnd = stop(true);
    const total = setTimeout(giveUp, DRAIN_MS);
    const idle = setTimeout(giveUp, SILENT_MS);
    const onData = (chunk: Buffer): void => {
      bytes += chunk.length;
      idle.refresh();
      if (bytes > DRAINED_BYTES) giveUp();
    };
    // Nothing waits for a drain: it must not keep a process alive.
    total.unref();
    idle.unref();
    body.on('error', () => undefined);
    if (body.readableEnded || body.destroyed) {
      onEnd();
      return;
    }
    body.on('data', onData).once('end', onEnd).once('close', onEnd);
    body.resume();
  });

/** A handler of web requests: Hono, Next.js, Bun and all that speak `Request` and `Response`. */
export type FetchHandler = (
  request: Request,
  /** What hooks get as `native`, for example Hono's context. Default: the request. */
  native?: unknown,
) => Promise<Response>;

type WebBody = ConstructorParameters<typeof Response>[0];

const bodyOf = ({ body, bodyUsed }: Request): Readable | undefined => {
  if (body === null || bodyUsed) return undefined;
  // A client may leave while nothing reads it yet: a failure without a listener would end the process.
  return Readable.fromWeb(body).on('error', () => undefined);
};

const toBody = (body: ConnectorResponse['body']): WebBody =>
  (body instanceof Readable ? Readable.toWeb(body) : (body ?? null)) as WebBody;

export const toFetchHandler = (handle: Handle, { basePath = '' }: MountOptions = {}): FetchHandler => {
  const cut = createCut(basePath);
  return async (request, native = request) => {
    const { pathname, search } = new URL(request.url);
    const body = bodyOf(request);
    const rest = cut(pathname) ?? pathname;
    const message: ConnectorRequest = {
      method: request.method,
      url: rest + search,
      mount: mountOf(pathname, rest),
      headers: Object.fromEntries(request.headers),
      native,
      peer: peerAddress(native),
      signal: request.signal,
      body,
    };
    const answer = await handle(message);
    if (body !== undefined && !body.readableEnded) {
      // The answer goes out meanwhile; cancelling immediately would cost many clients the answer.
      void drain(body).then(() => body.destroy());
    }
    return new Response(toBody(answer.body), {
      status: answer.status,
      ...(answer.statusText === undefined ? {} : { statusText: answer.statusText }),
      headers: answer.headers,
    });
  };
};
