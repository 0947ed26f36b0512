import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { SourcePath } from 'stowage/storage';
import { afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { AzureAdapter, parseAzureOptions } from '#internals';
import { makeCertificate, opensslMissing } from '../../tools/test-servers/tls-front.ts';

const TOKEN_SECONDS = 86_400;
const listed = (names: readonly string[]): string => {
  const blobs = names.map((name) => `<Blob><Name>${name}</Name><Properties/></Blob>`).join('');
  return `<?xml version="1.0" encoding="utf-8"?><EnumerationResults ContainerName="media"><Blobs>${blobs}</Blobs><NextMarker/></EnumerationResults>`;
};

const SIGNER =
  '<?xml version="1.0" encoding="utf-8"?><UserDelegationKey><SignedOid>o</SignedOid><SignedTid>t</SignedTid>' +
  '<SignedStart>2020-01-01T00:00:00Z</SignedStart><SignedExpiry>2090-01-01T00:00:00Z</SignedExpiry>' +
  '<SignedService>b</SignedService><SignedVersion>2020-01-01</SignedVersion><Value>c2VjcmV0</Value></UserDelegationKey>';

/** What is answered to who asks for a token; null: nothing. */
type Token = () => { readonly status: number; readonly body: object } | null;

const good = (access_token: string, seconds = TOKEN_SECONDS) => ({
  status: 200,
  body: {
    access_token,
    token_type: 'Bearer',
    resource: 'https://storage.azure.com',
    expires_in: seconds,
    expires_on: String(Math.floor(Date.now() / 1000) + seconds),
  },
});

describe.skipIf(opensslMissing)(
  `the default login of Azure${opensslMissing ? ' (openssl is not installed)' : ''}`,
  () => {
    let certificate: { readonly key: string; readonly cert: string };
    let [tokens, blobs]: [Server | undefined, Server | undefined] = [undefined, undefined];
    let origins: { readonly tokens: string; readonly blobs: string };
    let token: Token;
    let accepted: Set<string>;
    let files: readonly string[];
    const asked: string[] = [];

    beforeAll(async () => {
      certificate = await makeCertificate();
    });

    const listen = async (server: Server): Promise<string> => {
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
      return `https://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
    };

    const sayToken = async (incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> => {
      const body = await text(incoming);
      const { pathname } = new URL(incoming.url ?? '', 'https://login');
      asked.push(`${pathname} ${body}`);
      outgoing.setHeader('content-type', 'application/json');
      if (pathname.endsWith('openid-configuration')) {
        const endpoint = (name: string): string => `${origins.tokens}/adfs/oauth2/${name}`;
        const found = {
          issuer: `${origins.tokens}/adfs`,
          authorization_endpoint: endpoint('authorize'),
          token_endpoint: endpoint('token'),
          jwks_uri: endpoint('keys'),
        };
        return void outgoing.end(JSON.stringify(found));
      }
      const answer = token();
      if (answer === null) return;
      outgoing.writeHead(answer.status).end(JSON.stringify(answer.body));
    };

    const sayBlobs = async (incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> => {
      const body = await text(incoming);
      outgoing.setHeader('content-type', 'application/xml');
      const isAccepted = accepted.has(incoming.headers.authorization?.replace(/^Bearer /u, '') ?? '');
      const isSigner = incoming.url?.includes('comp=userdelegationkey') === true;
      if (isAccepted && incoming.url?.includes('comp=batch') === true) {
        const removed = [...body.matchAll(/^DELETE \/media\/(\S+)/gmu)].map(([, name = '']) => name);
        files = files.filter((name) => !removed.includes(decodeURIComponent(name)));
        const done = removed.map(
          (_, id) =>
            `--b\r\nContent-Type: application/http\r\nContent-ID: ${String(id)}\r\n\r\nHTTP/1.1 202 Accepted\r\n\r\n`,
        );
        outgoing.writeHead(202, { 'content-type': 'multipart/mixed; boundary=b' });
        return void outgoing.end(`${done.join('')}--b--`);
      }
      if (isAccepted) return void outgoing.end(isSigner ? SIGNER : listed(files));
      const code = 'AuthenticationFailed';
      outgoing.writeHead(401, { 'x-ms-error-code': code });
      outgoing.end(`<?xml version="1.0"?><Error><Code>${code}</Code><Message>secret</Message></Error>`);
    };

    beforeEach(async () => {
      asked.length = 0;
      accepted = new Set(['token-1']);
      files = [];
      token = () => good('token-1');
      tokens = createSecureServer(certificate, (incoming, outgoing) => void sayToken(incoming, outgoing));
      blobs = createSecureServer(certificate, (incoming, outgoing) => void sayBlobs(incoming, outgoing));
      origins = { tokens: await listen(tokens), blobs: await listen(blobs) };
      vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0');
      vi.stubEnv('AZURE_AUTHORITY_HOST', origins.tokens);
      // Of other tenants the library asks a server of its own first.
      vi.stubEnv('AZURE_TENANT_ID', 'adfs');
      vi.stubEnv('AZURE_CLIENT_ID', '11111111-2222-3333-4444-555555555555');
      vi.stubEnv('AZURE_CLIENT_SECRET', 'client-secret');
      vi.stubEnv('AZURE_TOKEN_CREDENTIALS', 'EnvironmentCredential');
    });
    afterEach(async () => {
      vi.unstubAllEnvs();
      for (const server of [tokens, blobs]) {
        server?.closeAllConnections();
        await new Promise((resolve) => server?.close(resolve));
      }
    });

    const open = (more: object = {}): AzureAdapter => {
      const given = { container: 'media', accountUrl: origins.blobs, ca: certificate.cert, maxAttempts: 1 };
      const parsed = parseAzureOptions({ ...given, ...more });
      if ('problems' in parsed) throw new Error(parsed.problems.join('; '));
      const store = new AzureAdapter(parsed.value);
      onTestFinished(() => store.close());
      return store;
    };

    const namesIn = async (store: AzureAdapter, signal?: AbortSignal): Promise<readonly string[]> => {
      const names: string[] = [];
      for await (const page of store.list(SourcePath.root, { signal }))
        names.push(...page.map(({ name }) => name));
      return names;
    };

    const failureOf = async (failing: Promise<unknown>): Promise<string> => {
      const error: unknown = await failing.then(
        () => undefined,
        (reason: unknown) => reason,
      );
      const { code, detail = '', cause } = (error ?? {}) as { code?: string; detail?: string; cause?: Error };
      expect(`${detail} ${String(cause?.message)} ${JSON.stringify(cause)}`).not.toMatch(
        /token-|secret|127\.0/u,
      );
      return String(code);
    };

    const asks = (): readonly string[] => asked.filter((line) => line.includes('/token'));

    it('is that of the environment, for the store alone, asked once until its token ends', async () => {
      const store = open();
      expect(await namesIn(store)).toEqual([]);
      await namesIn(store);
      expect(asks()).toHaveLength(1);
      expect(decodeURIComponent(asks()[0] ?? '')).toMatch(/client_secret=client-secret/u);
      expect(decodeURIComponent(asks()[0] ?? '')).toMatch(/scope=https:\/\/storage\.azure\.com\/\.default/u);
      let count = 1;
      token = () => {
        count += 1;
        accepted = new Set([`token-${String(count)}`]);
        return good(`token-${String(count)}`, 1);
      };
      const other = open();
      await namesIn(other);
      await namesIn(other);
      expect(count).toBeGreaterThanOrEqual(3);
    });

    // The library makes no difference between a refusal and a failure of who is asked.
    it.each([400, 401])('that is answered with %s: a clear error, and none of its words', async (status) => {
      token = () => ({ status, body: { error: 'invalid_client', error_description: 'secret-words' } });
      expect(await failureOf(namesIn(open()))).toBe('STORAGE_DENIED');
    });

    it('that is not answered is given up in time, and with its request', async () => {
      token = () => null;
      expect(await failureOf(namesIn(open({ connectTimeout: 1, readTimeout: 1 })))).toBe('STORAGE_TIMEOUT');
      const abort = new AbortController();
      const running = namesIn(open(), abort.signal);
      await expect.poll(() => asks().length).toBeGreaterThanOrEqual(2);
      abort.abort(new Error('enough'));
      await expect(running).rejects.toThrow('enough');
    });

    it('that the service does not accept is refused', async () => {
      accepted.clear();
      expect(await failureOf(namesIn(open()))).toBe('STORAGE_DENIED');
    });

    it('signs URLs for the account in the address, and none where the address does not contain it', async () => {
      const how = { lifetime: 60, contentType: 'text/plain', disposition: 'inline' };
      const urlBy = (accountUrl: string) =>
        open({ accountUrl }).temporaryUrl(SourcePath.parse('a b.txt'), how);
      const url = new URL((await urlBy(`${origins.blobs}/account`)) ?? '');
      expect(url.pathname).toBe('/account/media/a%20b.txt');
      expect(Object.fromEntries(url.searchParams)).toMatchObject({
        sp: 'r',
        sr: 'b',
        skoid: 'o',
        rscd: 'inline',
      });
      expect(await urlBy(origins.blobs)).toBeUndefined();
    });

    it('of the command line is asked once for many files that are removed together', async () => {
      const folder = await mkdtemp(join(tmpdir(), 'stowage-az-'));
      onTestFinished(() => rm(folder, { recursive: true }));
      const told = { accessToken: 'token-1', expires_on: Math.floor(Date.now() / 1000) + TOKEN_SECONDS };
      const program = `#!/bin/sh\necho asked >> ${folder}/asked\necho '${JSON.stringify(told)}'\n`;
      await writeFile(join(folder, 'az'), program, { mode: 0o755 });
      vi.stubEnv('PATH', `${folder}:${process.env['PATH'] ?? ''}`);
      vi.stubEnv('AZURE_TOKEN_CREDENTIALS', 'AzureCliCredential');
      files = ['f/1.txt', 'f/2.txt', 'f/3.txt', 'f/4.txt'];
      await open().removeFolder(SourcePath.parse('f'));
      expect(files).toEqual([]);
      expect(await readFile(join(folder, 'asked'), 'utf8')).toBe('asked\n');
    });

    it('that is missing is refused', async () => {
      vi.stubEnv('AZURE_CLIENT_SECRET', '');
      expect(await failureOf(namesIn(open()))).toBe('STORAGE_DENIED');
    });
  },
);
