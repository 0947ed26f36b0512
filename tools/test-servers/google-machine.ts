import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { json, text } from 'node:stream/consumers';

/** A simulated Google machine that returns tokens and signatures. */
export interface GoogleMachine {
  /** Address of its metadata server. */
  readonly host: string;
  /** A proxy that routes every https request to its signing service, which also renews the login `renewable`. */
  readonly proxy: string;
  /** Received requests: paths with their queries, and the token for signatures. */
  readonly asked: string[];
  /** Returns a token; null: no response. */
  token: () => { readonly status: number; readonly body: object } | null;
  /** Signs a text; undefined: rejects. */
  sign: (text: string) => string | undefined;
  close(): Promise<void>;
}

export interface Certificate {
  readonly key: string;
  readonly cert: string;
}

export const EMAIL = 'machine@tests.iam.example';

const portOf = (server: { address(): unknown }): string => String((server.address() as AddressInfo).port);

export const startGoogleMachine = async (certificate: Certificate): Promise<GoogleMachine> => {
  const asked: string[] = [];
  const sockets = new Set<Socket>();
  const metadata = (incoming: IncomingMessage, outgoing: ServerResponse): void => {
    const { pathname, search } = new URL(incoming.url ?? '', 'http://metadata');
    const path = pathname.replace('/computeMetadata/v1', '');
    asked.push(`${path}${search}`);
    outgoing.setHeader('metadata-flavor', 'Google');
    if (path.endsWith('/email')) return void outgoing.end(EMAIL);
    if (path.startsWith('/universe')) return void outgoing.end('googleapis.com');
    if (path === '/project/project-id') return void outgoing.end('tests');
    if (!path.endsWith('/token')) return void outgoing.end('{}');
    const answer = machine.token();
    if (answer === null) return;
    outgoing.writeHead(answer.status, { 'content-type': 'application/json' });
    outgoing.end(JSON.stringify(answer.body));
  };
  const renew = async (incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> => {
    const isKnown = new URLSearchParams(await text(incoming)).get('refresh_token') === 'renewable';
    outgoing.writeHead(isKnown ? 200 : 400, { 'content-type': 'application/json' });
    outgoing.end(
      JSON.stringify(
        isKnown
          ? { access_token: 'token-1', expires_in: 3600, token_type: 'Bearer' }
          : { error: 'invalid_grant' },
      ),
    );
  };
  const iam = async (incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> => {
    if (incoming.headers.host === 'oauth2.googleapis.com') return renew(incoming, outgoing);
    asked.push(`${incoming.headers.host ?? ''}${incoming.url ?? ''} ${incoming.headers.authorization ?? ''}`);
    const { payload = '' } = (await json(incoming)) as { payload?: string };
    const signedBlob = machine.sign(Buffer.from(payload, 'base64').toString());
    outgoing.writeHead(signedBlob === undefined ? 403 : 200, { 'content-type': 'application/json' });
    outgoing.end(JSON.stringify(signedBlob === undefined ? { error: { code: 403 } } : { signedBlob }));
  };
  const http = createServer(metadata);
  const https = createSecureServer(certificate, (incoming, outgoing) => {
    void iam(incoming, outgoing);
  });
  const proxy = createServer().on('connect', (_request, client: Socket) => {
    const inner = connect(Number(portOf(https)), '127.0.0.1');
    client.on('error', () => inner.destroy()).write('HTTP/1.1 200 go\r\n\r\n');
    inner.on('error', () => client.destroy());
    client.pipe(inner).pipe(client);
  });
  for (const server of [http, https, proxy]) {
    server.on('connection', (socket: Socket) => {
      sockets.add(socket);
      socket.on('close', () => sockets.delete(socket)).on('error', () => undefined);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  }
  const machine: GoogleMachine = {
    host: `127.0.0.1:${portOf(http)}`,
    proxy: `http://127.0.0.1:${portOf(proxy)}`,
    asked,
    token: () => ({ status: 200, body: { access_token: 'token-1', expires_in: 3600, token_type: 'Bearer' } }),
    sign: () => undefined,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      for (const server of [http, https, proxy]) await new Promise((resolve) => server.close(resolve));
    },
  };
  return machine;
};
