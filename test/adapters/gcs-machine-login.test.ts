import { createSign, generateKeyPairSync } from 'node:crypto';
import { copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { SourcePath } from 'stowage/storage';
import { afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { GcsAdapter, parseGcsOptions } from '#internals';
import { startGcs, type GcsServer } from '../../tools/test-servers/gcs-login.ts';
import { GcsEmulator } from '../../tools/test-servers/gcs-emulator.ts';
import {
  EMAIL,
  startGoogleMachine,
  type Certificate,
  type GoogleMachine,
} from '../../tools/test-servers/google-machine.ts';
import { makeCertificate, opensslMissing } from '../../tools/test-servers/tls-front.ts';

const at = (text: string): SourcePath => SourcePath.parse(text);
const contentOf = (text: string): Readable => Readable.from([Buffer.from(text)], { objectMode: false });
const URL_OPTIONS = { lifetime: 60, contentType: 'text/plain', disposition: 'inline' };

const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });

describe.skipIf(opensslMissing)(
  `the default login of Google Cloud${opensslMissing ? ' (openssl is not installed)' : ''}`,
  () => {
    let machine: GoogleMachine;
    let emulator: GcsEmulator;
    let home: string;
    let certificate: Certificate;
    beforeAll(async () => {
      certificate = await makeCertificate();
    });

    beforeEach(async () => {
      machine = await startGoogleMachine(certificate);
      emulator = await GcsEmulator.start('bucket', publicKey);
      emulator.tokens.add('token-1');
      home = await mkdtemp(join(tmpdir(), 'stowage-home-'));
      vi.stubEnv('HOME', home);
      vi.stubEnv('GOOGLE_APPLICATION_CREDENTIALS', '');
      vi.stubEnv('GCE_METADATA_HOST', machine.host);
      vi.stubEnv('METADATA_SERVER_DETECTION', 'assume-present');
      // The service for signatures has one address, and a certificate of its own.
      vi.stubEnv('HTTPS_PROXY', machine.proxy);
      vi.stubEnv('NO_PROXY', '127.0.0.1');
      vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0');
    });
    afterEach(async () => {
      vi.unstubAllEnvs();
      await machine.close();
      await emulator.close();
      await rm(home, { recursive: true, force: true });
    });

    const open = (more: object = {}): GcsAdapter => {
      const given = { bucket: 'bucket', endpoint: emulator.endpoint, maxAttempts: 1, ...more };
      const parsed = parseGcsOptions(given);
      if ('problems' in parsed) throw new Error(parsed.problems.join('; '));
      const store = new GcsAdapter(parsed.value);
      onTestFinished(() => store.close());
      return store;
    };

    const failureOf = async (failing: Promise<unknown>): Promise<string> => {
      const error: unknown = await failing.then(
        () => undefined,
        (reason: unknown) => reason,
      );
      const { code, detail = '', cause } = (error ?? {}) as { code?: string; detail?: string; cause?: Error };
      expect(`${detail} ${String(cause?.message)} ${JSON.stringify(cause)}`).not.toMatch(/token-|secret/u);
      return String(code);
    };

    it('is the file that GOOGLE_APPLICATION_CREDENTIALS names', async () => {
      const server: GcsServer = await startGcs('bucket');
      onTestFinished(() => server.stop());
      vi.stubEnv('GOOGLE_APPLICATION_CREDENTIALS', server.credentialsFile);
      const store = open({ endpoint: server.emulator.endpoint });
      await store.write(at('a.txt'), contentOf('one'));
      const location = (await store.temporaryUrl(at('a.txt'), URL_OPTIONS)) ?? '';
      expect(await (await fetch(location)).text()).toBe('one');
      expect(machine.asked).toEqual([]);
    });

    it('is the new key of its file where the service does not accept the one before any more', async () => {
      const server: GcsServer = await startGcs('bucket');
      onTestFinished(() => server.stop());
      const credentialsFile = join(home, 'key.json');
      await copyFile(server.strangersFile, credentialsFile);
      const store = open({ endpoint: server.emulator.endpoint, credentialsFile, maxAttempts: 2 });
      expect(await failureOf(store.stat(at('a.txt')))).toBe('STORAGE_DENIED');
      await copyFile(server.credentialsFile, credentialsFile);
      await store.write(at('a.txt'), contentOf('one'));
      expect((await store.stat(at('a.txt'))).size).toBe(3);
    });

    it('is the new login of its file where the one before has been revoked', async () => {
      const credentialsFile = join(home, 'login.json');
      const logIn = (refresh_token: string): Promise<void> => {
        const client = { client_id: 'gcloud', client_secret: 'secret' };
        return writeFile(
          credentialsFile,
          JSON.stringify({ type: 'authorized_user', ...client, refresh_token }),
        );
      };
      await logIn('revoked');
      const store = open({ credentialsFile });
      expect(await failureOf(store.stat(at('a.txt')))).toBe('STORAGE_DENIED');
      await logIn('renewable');
      await store.write(at('a.txt'), contentOf('one'));
      expect((await store.stat(at('a.txt'))).size).toBe(3);
    });

    it('is the service account of the machine, asked once until its token ends', async () => {
      const store = open();
      await store.write(at('a.txt'), contentOf('one'));
      await store.stat(at('a.txt'));
      const tokens = (): number => machine.asked.filter((path) => path.includes('/token')).length;
      expect(tokens()).toBe(1);
      // The library takes a new one some minutes before that.
      let count = 1;
      machine.token = () => {
        count += 1;
        const access_token = `token-${String(count)}`;
        emulator.tokens.clear();
        emulator.tokens.add(access_token);
        return { status: 200, body: { access_token, expires_in: 1, token_type: 'Bearer' } };
      };
      const other = open();
      await other.stat(at('a.txt'));
      await other.stat(at('a.txt'));
      expect(count).toBeGreaterThanOrEqual(3);
    });

    it.each([
      [403, 'STORAGE_DENIED'],
      [404, 'STORAGE_DENIED'],
      [503, 'STORAGE_UNAVAILABLE'],
    ])('that is answered with %s: a clear error, and none of its words', async (status, code) => {
      machine.token = () => ({ status, body: { error: 'secret-words', access_token: 'token-1' } });
      expect(await failureOf(open().stat(at('a.txt')))).toBe(code);
    });

    it('that is not answered is given up in time, and with its request', async () => {
      machine.token = () => null;
      expect(await failureOf(open({ timeout: 1 }).stat(at('a.txt')))).toBe('STORAGE_TIMEOUT');
      const abort = new AbortController();
      const running = open().stat(at('a.txt'), { signal: abort.signal });
      await expect.poll(() => machine.asked.filter((path) => path.includes('/token')).length).toBe(2);
      abort.abort(new Error('enough'));
      await expect(running).rejects.toThrow('enough');
    });

    it('that the service does not accept is refused', async () => {
      emulator.tokens.clear();
      expect(await failureOf(open().stat(at('a.txt')))).toBe('STORAGE_DENIED');
    });

    it('signs URLs as the service account, with the same token', async () => {
      const store = open();
      await store.write(at('a.txt'), contentOf('one'));
      machine.sign = (text) => createSign('RSA-SHA256').update(text).sign(privateKey, 'base64');
      const location = (await store.temporaryUrl(at('a.txt'), URL_OPTIONS)) ?? '';
      expect(await (await fetch(location)).text()).toBe('one');
      expect(machine.asked.at(-1)).toBe(
        `iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/${EMAIL}:signBlob Bearer token-1`,
      );
      const scopes = machine.asked.filter((path) => path.includes('/token?')).map(decodeURIComponent);
      expect(scopes.at(-1)).toMatch(/scopes=https:\/\/www\.googleapis\.com\/auth\/cloud-platform$/u);
    });

    it('without the right to sign leaves sending to the service, and is not asked for every file', async () => {
      const store = open();
      await store.write(at('a.txt'), contentOf('one'));
      for (let count = 0; count < 3; count += 1)
        expect(await store.temporaryUrl(at('a.txt'), URL_OPTIONS)).toBeUndefined();
      expect(machine.asked.filter((path) => path.includes(':signBlob'))).toHaveLength(1);
    });
  },
);
