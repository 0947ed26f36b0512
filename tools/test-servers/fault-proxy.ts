import { once } from 'node:events';
import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';

/** A request that passed the proxy. */
export interface SeenRequest {
  readonly operation: string;
  readonly method: string;
  /** Raw path and query. */
  readonly url: string;
  /** The requested range of a file. */
  readonly range: string | undefined;
}

/** A fault of a request. */
export type Effect =
  /** The connection is reset before the server sees anything. */
  | { readonly kind: 'reset' }
  /** The server has processed the request; its response is lost, or replaced by this status of a gateway. */
  | { readonly kind: 'lose'; readonly status?: number }
  /** The server gets the request after this promise, even if the client has disconnected. */
  | { readonly kind: 'late'; readonly after: Promise<unknown> }
  /** Half of the response, then a reset. */
  | { readonly kind: 'cut' }
  /** Half of the response, then silence. */
  | { readonly kind: 'stall-answer' }
  /** No response at all. */
  | { readonly kind: 'stall' }
  /** The proxy stops reading the request's body after some bytes. */
  | { readonly kind: 'stall-upload' }
  /** The connection is reset in the middle of the request's body. */
  | { readonly kind: 'cut-upload' }
  /** Half of the response, then a regular end of the connection. */
  | { readonly kind: 'end-early' }
  /** A complete but shorter response, with a matching length. */
  | { readonly kind: 'short' }
  /** A response of the proxy itself. */
  | {
      readonly kind: 'answer';
      readonly status: number;
      /** S3's error code in the body. */
      readonly code?: string;
      /** Replaces the body that S3 would send. */
      readonly body?: string;
      readonly headers?: Readonly<Record<string, string>>;
    }
  /** The server's response with these headers replaced. */
  | { readonly kind: 'headers'; readonly headers: Readonly<Record<string, string>> };

/** A fault for some of the requests. */
export interface ProxyFault {
  readonly operation: string;
  readonly effect: Effect;
  /** Number of the first matching request with the fault, from 1. Default: 1. */
  readonly from?: number;
  /** Number of requests with the fault. Default: all from `from` on. */
  readonly times?: number;
}

/** A proxy between an adapter and its server: counts requests, and injects faults into chosen ones. */
export class FaultProxy {
  readonly seen: SeenRequest[] = [];
  readonly endpoint: string;
  readonly #close: () => Promise<void>;
  #choose: (request: SeenRequest) => Effect | undefined = () => undefined;
  #faults: { readonly fault: ProxyFault; calls: number }[] = [];
  #interludes: { readonly operation: string; left: number; readonly work: () => Promise<unknown> }[] = [];

  private constructor(endpoint: string, close: () => Promise<void>) {
    this.endpoint = endpoint;
    this.#close = close;
  }

  /** `operationOf` names the requests, for faults and counts. `urlOf` changes their path and query. */
  static async start(
    target: string,
    operationOf: (incoming: IncomingMessage) => string,
    urlOf: (url: string) => string = (url) => url,
  ): Promise<FaultProxy> {
    const sockets = new Set<Socket>();
    const server = createServer((incoming, outgoing) => {
      outgoing.on('error', () => undefined);
      incoming.on('error', () => undefined);
      proxy
        .#pass(new URL(target), { operation: operationOf(incoming), urlOf }, incoming, outgoing)
        .catch(() => incoming.socket.destroy());
    });
    server.on('connection', (socket) => {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => sockets.delete(socket));
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const proxy: FaultProxy = new FaultProxy(
      `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      async () => {
        const closed = once(server, 'close');
        server.close();
        for (const socket of sockets) socket.destroy();
        await closed;
      },
    );
    return proxy;
  }

  /** Replaces all faults. */
  fail(...faults: readonly ProxyFault[]): void {
    this.#faults = faults.map((fault) => ({ fault, calls: 0 }));
  }

  /** Chooses faults for requests that no other fault matches. */
  atRandom(choose: (request: SeenRequest) => Effect | undefined): void {
    this.#choose = choose;
  }

  /** Runs `work` before the request with this number of its operation, from 1, reaches the server. */
  before(operation: string, number: number, work: () => Promise<unknown>): void {
    this.#interludes.push({ operation, left: number, work });
  }

  /** Clears the seen requests, and all faults and interludes. */
  reset(): void {
    this.seen.length = 0;
    this.#faults = [];
    this.#interludes = [];
  }

  /** Number of requests by operation. */
  counts(): Readonly<Record<string, number>> {
    const counts: Record<string, number> = {};
    for (const { operation } of this.seen) counts[operation] = (counts[operation] ?? 0) + 1;
    return counts;
  }

  close(): Promise<void> {
    return this.#close();
  }

  #effectOn(operation: string): Effect | undefined {
    for (const entry of this.#faults) {
      const { fault } = entry;
      if (fault.operation !== operation && fault.operation !== '*') continue;
      entry.calls += 1;
      const from = fault.from ?? 1;
      if (entry.calls >= from && entry.calls < from + (fault.times ?? Number.POSITIVE_INFINITY))
        return fault.effect;
    }
    return undefined;
  }

  async #interlude(operation: string): Promise<void> {
    for (const entry of this.#interludes.filter((one) => one.operation === operation)) {
      entry.left -= 1;
      if (entry.left === 0) await entry.work();
    }
  }

  async #pass(
    target: URL,
    { operation, urlOf }: { readonly operation: string; readonly urlOf: (url: string) => string },
    incoming: IncomingMessage,
    outgoing: ServerResponse,
  ): Promise<void> {
    const { method = 'GET', url = '/', headers } = incoming;
    const seen = { operation, method, url, range: headers.range };
    this.seen.push(seen);
    await this.#interlude(operation);
    const effect = this.#effectOn(operation) ?? this.#choose(seen);
    if (effect?.kind === 'reset') return void incoming.socket.resetAndDestroy();
    if (effect?.kind === 'stall') return void incoming.resume();
    if (effect?.kind === 'stall-upload') return void incoming.once('data', () => incoming.pause());
    if (effect?.kind === 'cut-upload')
      return void incoming.once('data', () => incoming.socket.resetAndDestroy());
    if (effect?.kind === 'answer') {
      incoming.resume();
      const fault = `<?xml version="1.0"?><Error><Code>${effect.code ?? 'Fault'}</Code></Error>`;
      const body = effect.body ?? fault;
      const type = { 'content-type': 'application/xml', 'content-length': body.length };
      outgoing.writeHead(effect.status, { ...type, ...effect.headers });
      return void outgoing.end(method === 'HEAD' ? undefined : body);
    }
    const late = effect?.kind === 'late' ? await buffer(incoming) : undefined;
    if (effect?.kind === 'late') await effect.after;
    const upstream = request({ host: target.hostname, port: target.port, method, path: urlOf(url), headers });
    upstream.on('error', () => incoming.socket.destroy());
    if (late !== undefined) upstream.end(late);
    else incoming.pipe(upstream);
    incoming.once('close', () => {
      if (!incoming.complete) upstream.destroy();
    });
    const [answer] = (await once(upstream, 'response')) as [IncomingMessage];
    if (effect === undefined || effect.kind === 'late' || effect.kind === 'headers') {
      const others = effect?.kind === 'headers' ? effect.headers : {};
      outgoing.writeHead(answer.statusCode ?? 502, { ...answer.headers, ...others });
      outgoing.once('close', () => answer.destroy());
      return void answer.pipe(outgoing);
    }
    const body = await buffer(answer);
    if (effect.kind === 'lose' && effect.status !== undefined)
      return void outgoing.writeHead(effect.status).end();
    if (effect.kind === 'lose') return void incoming.socket.resetAndDestroy();
    const half = body.subarray(0, Math.floor(body.length / 2));
    const { 'content-length': _length, 'transfer-encoding': _encoding, ...rest } = answer.headers;
    const length = effect.kind === 'short' ? half.length : Math.max(body.length, 2);
    outgoing.writeHead(answer.statusCode ?? 502, { ...rest, 'content-length': length });
    outgoing.write(half, () => {
      if (effect.kind === 'cut') incoming.socket.resetAndDestroy();
      if (effect.kind === 'end-early') incoming.socket.end();
      if (effect.kind === 'short') outgoing.end();
    });
  }
}
