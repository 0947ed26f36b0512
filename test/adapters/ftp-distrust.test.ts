import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { SourcePath } from 'stowage/storage';
import { afterEach, describe, expect, it, onTestFinished } from 'vitest';
import type { FtpAdapter } from '../../packages/stowage/dist/adapters/remote/ftp/adapter.js';
import { startService } from '../protocol/service.ts';
import { openFtpStore } from '../../tools/test-servers/ftp.ts';
import { startFtpStub, type FtpStub, type StubOptions } from '../../tools/test-servers/ftp-stub.ts';
import { makeCertificate, opensslMissing } from '../../tools/test-servers/tls-front.ts';

const at = (text: string): SourcePath => SourcePath.parse(text);
const contentOf = (text: string): Readable => Readable.from([Buffer.from(text)], { objectMode: false });

const FILE = '250-here\r\n type=file;size=3;modify=20260101000000; /a.txt\r\n250 end';
const LISTED = 'type=file;size=3;modify=20260101000000; a.txt\r\n';

const failureOf = async (failing: Promise<unknown>): Promise<{ code: string; detail: string }> => {
  const error: unknown = await failing.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  const { code, detail = '' } = (error ?? {}) as { code: string; detail?: string };
  return { code, detail };
};

const namesIn = async (store: FtpAdapter): Promise<readonly string[]> => {
  const names: string[] = [];
  for await (const page of store.list(SourcePath.root)) names.push(...page.map(({ name }) => name));
  return names.sort();
};

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

const start = async (
  stubOptions: StubOptions = {},
  options: object = {},
): Promise<{ readonly stub: FtpStub; readonly store: FtpAdapter }> => {
  const stub = await startFtpStub(stubOptions);
  const login = { host: '127.0.0.1', port: stub.port, username: 'ann', password: 'pass-word-1' };
  const store = openFtpStore({ options: login }, { timeout: 2, ...options });
  closing.push(
    () => store.close(),
    () => stub.close(),
  );
  return { stub, store };
};

describe('data connections of the ftp adapter', () => {
  const passive = (address: string, port: () => number) => (verb: string) => {
    if (verb === 'EPSV') return '502 no';
    const [high, low] = [port() >> 8, port() & 255];
    return verb === 'PASV'
      ? `227 go (${address.replaceAll('.', ',')},${String(high)},${String(low)})`
      : undefined;
  };

  it('go to the address of the control connection, whatever PASV names', async () => {
    let port = 0;
    const { stub, store } = await start({ script: passive('127.0.0.2', () => port), listing: LISTED });
    port = stub.dataPort();
    let strangers = 0;
    const canary = createServer(() => (strangers += 1)).listen(stub.dataPort(), '127.0.0.2');
    await once(canary, 'listening');
    onTestFinished(() => void canary.close());
    expect(await namesIn(store)).toEqual(['a.txt']);
    expect(stub.heard).toContain('PASV');
    expect(strangers).toBe(0);
  });

  it.each(['501 no', '522 no', '550 no', '425 no'])(
    'are asked for by PASV after %s to EPSV',
    async (refusal) => {
      let port = 0;
      const offered = passive('127.0.0.1', () => port);
      const script = (verb: string) => (verb === 'EPSV' ? refusal : offered(verb));
      const { stub, store } = await start({ script, listing: LISTED });
      port = stub.dataPort();
      expect(await namesIn(store)).toEqual(['a.txt']);
    },
  );

  it('are asked for by PASV where no port of EPSV can be reached, which is tried once', async () => {
    let port = 0;
    const closed = createServer().listen(0, '127.0.0.1');
    await once(closed, 'listening');
    const unreachable = `229 go (|||${String((closed.address() as AddressInfo).port)}|)`;
    await new Promise((resolve) => closed.close(resolve));
    const offered = passive('127.0.0.1', () => port);
    const script = (verb: string) => (verb === 'EPSV' ? unreachable : offered(verb));
    const { stub, store } = await start({ script, listing: LISTED });
    port = stub.dataPort();
    expect(await namesIn(store)).toEqual(['a.txt']);
    stub.hangUp();
    expect(await namesIn(store)).toEqual(['a.txt']);
    expect(stub.made()).toBe(2);
    expect(stub.heard.filter((line) => line === 'EPSV')).toHaveLength(1);
  });

  it('that cannot be made do not count as a rejected command or name where PASV is rejected, as over IPv6', async () => {
    const port = { isOpen: false };
    const script = (verb: string) => {
      if (verb === 'PASV') return '500 PASV is only for IPv4. You have to use EPSV instead.';
      return verb === 'EPSV' && !port.isOpen ? '229 go (|||1025|)' : undefined;
    };
    const { stub, store } = await start({ script, listing: LISTED });
    await expect(namesIn(store)).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
    port.isOpen = true;
    expect(await namesIn(store)).toEqual(['a.txt']);
    expect(stub.heard.filter((line) => line.startsWith('LIST'))).toEqual([]);
  });

  it.each(['227 go (127,0,0,1,0,22)', '227 go (127,0,0,1,999,22)', '227 go', '200 go (|||0|)'])(
    'are not made for an answer like %s',
    async (answer) => {
      const { store } = await start({
        script: (verb) => (verb === 'EPSV' ? '500 no' : verb === 'PASV' ? answer : undefined),
      });
      expect(await failureOf(namesIn(store))).toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
    },
  );
});

describe('answers that the ftp adapter does not trust', () => {
  it('folders may be told with a slash at their end', async () => {
    let folder = '/home/ann';
    const { store } = await start({
      listing: LISTED,
      script: (verb, path) => {
        if (verb === 'CWD') {
          folder = path;
          return '250 there';
        }
        if (verb === 'PWD') return `257 "${folder}/" is where you are`;
        return verb === 'MLST' && path === '/home/ann/a.txt' ? FILE : undefined;
      },
    });
    expect(await namesIn(store)).toEqual(['a.txt']);
    expect((await store.stat(at('a.txt'))).size).toBe(3);
  });

  it('listings: only names of one segment, and no links, are shown', async () => {
    const types = ['../up', 'a/b', '.', '..', 'bell\u0007', 'cr\rDELE x'].map(
      (name) => `type=file;size=1; ${name}`,
    );
    const listing = [...types, 'type=OS.unix=slink:/etc; link', 'type=cdir; .', 'nonsense', LISTED].join(
      '\r\n',
    );
    const { store } = await start({ listing });
    let omitted = 0;
    for await (const page of store.list(SourcePath.root, { onOmitted: (count) => (omitted += count) }))
      expect(page).toEqual([
        expect.objectContaining({ name: 'a.txt', size: 3, modifiedAt: Date.UTC(2026, 0, 1) }),
      ]);
    // The folder itself and its parent are none of its entries, whatever type they are given.
    expect(omitted).toBe(5);
  });

  it.each([
    [
      'as of ls',
      '-rw-r--r-- 1 a b 3 Jan 12 10:33 a.txt\r\ndrwxr-xr-x 2 a b 0 Jan 12 2025 b\r\nlrwxrwxrwx 1 a b 4 Jan 12 2025 c -> /etc\r\n',
    ],
    [
      'as of DOS',
      '01-12-26  10:33AM                    3 a.txt\r\n01-12-26  10:33AM       <DIR>          b\r\n',
    ],
  ])('LIST %s is understood by a server without MLSD', async (_form, listing) => {
    const unknown = ['MLSD', 'MLST', 'FEAT'];
    const { store, stub } = await start({
      listing,
      script: (verb) => (unknown.includes(verb) ? '500 what?' : undefined),
    });
    expect(await namesIn(store)).toEqual(['a.txt', 'b']);
    expect(await store.stat(at('a.txt'))).toMatchObject({ kind: 'file', size: 3 });
    expect(await store.stat(at('b'))).toMatchObject({ kind: 'folder' });
    expect(await failureOf(store.stat(at('c')))).toMatchObject({ code: 'NOT_FOUND' });
    expect(stub.heard).toContain('LIST');
  });

  it('one that comes byte by byte is one answer', async () => {
    const { store } = await start({
      dribbles: true,
      listing: LISTED,
      script: (verb) => (verb === 'MLST' ? FILE : undefined),
    });
    expect(await namesIn(store)).toEqual(['a.txt']);
    expect((await store.stat(at('a.txt'))).size).toBe(3);
  });

  it.each([
    ['a line without an end', `220 ${'x'.repeat(100_000)}`],
    ['many lines without a last one', `220-begin\r\n${'220-more\r\n'.repeat(10_000)}`],
    ['none of the protocol', 'SSH-2.0-OpenSSH_9.2'],
  ])('%s ends the connection', async (_what, greeting) => {
    const { store } = await start({ greeting }, { timeout: 1 });
    expect((await failureOf(store.stat(SourcePath.root))).code).toMatch(/^STORAGE_(?:UNAVAILABLE|TIMEOUT)$/u);
  });

  it('a listing whose line does not end is given up', async () => {
    const { store } = await start({ listing: `type=file; ${'x'.repeat(200_000)}` });
    expect(await failureOf(namesIn(store))).toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
  });

  it('an unrequested reply is not taken for that to the next command', async () => {
    const { store, stub } = await start({ listing: LISTED });
    await namesIn(store);
    stub.say('550 go away\r\n');
    await expect.poll(() => stub.open()).toBe(0);
    expect(await namesIn(store)).toEqual(['a.txt']);
    expect(stub.made()).toBe(2);
  });

  it('a download that is cut, or shorter than it was said to be, fails', async () => {
    const content = Buffer.from('ab');
    const { store } = await start({ content, script: (verb) => (verb === 'MLST' ? FILE : undefined) });
    const { stream } = await store.read(at('a.txt'));
    expect(await failureOf(buffer(stream))).toMatchObject({ code: 'CORRUPT' });
  });

  it.each(['450 busy', '451 try later', '530 log in again'])(
    'a look that is answered with %s does not say that a name is free, nor that something is gone',
    async (answer) => {
      let isRefusing = true;
      const script = (verb: string, path: string): string | undefined => {
        if (verb === 'DELE' && path === '/b.txt') return '550 no';
        if (verb !== 'MLST') return undefined;
        return isRefusing && !path.endsWith('.tmp') ? answer : FILE;
      };
      const { store, stub } = await start({ script });
      const writing = store.write(at('a.txt'), contentOf('abc'), { createOnly: true });
      expect((await failureOf(writing)).code).toMatch(/^(?:BUSY|STORAGE_UNAVAILABLE|STORAGE_DENIED)$/u);
      expect(stub.heard.some((line) => line.startsWith('RNTO'))).toBe(false);
      isRefusing = false;
      stub.heard.length = 0;
      const removing = failureOf(store.removeFile(at('b.txt')));
      await expect.poll(() => stub.heard.some((line) => line.startsWith('DELE'))).toBe(true);
      isRefusing = true;
      expect((await removing).code).not.toBe('NOT_FOUND');
    },
  );

  it('a file that was stored with another length is not taken for stored', async () => {
    const script = (verb: string, path: string): string | undefined =>
      verb === 'MLST' ? (path.endsWith('.tmp') ? FILE.replace('size=3', 'size=2') : '550 no') : undefined;
    const { store, stub } = await start({ script });
    expect(await failureOf(store.write(at('a.txt'), contentOf('abc')))).toMatchObject({ code: 'CORRUPT' });
    expect(stub.heard.some((line) => /^DELE \/\..*\.tmp$/u.test(line))).toBe(true);
    expect(stub.heard.some((line) => line.startsWith('RNTO'))).toBe(false);
  });
});

describe('transfers of the ftp adapter', () => {
  const endings = [
    ['426 broken off', 'STORAGE_UNAVAILABLE'],
    ['451 disk error', 'STORAGE_UNAVAILABLE'],
    ['552 full', 'STORAGE_FULL'],
    ['', 'STORAGE_UNAVAILABLE'],
  ] as const;

  it.each(endings)('a listing that ends with "%s" is not taken for whole', async (ending, code) => {
    const { store } = await start({ listing: LISTED, ending });
    expect(await failureOf(namesIn(store))).toMatchObject({ code });
  });

  it.each(endings)(
    'a download that ends with "%s" fails, though its length is right',
    async (ending, code) => {
      const script = (verb: string) => (verb === 'MLST' ? FILE : undefined);
      const { store } = await start({ content: Buffer.from('abc'), ending, script });
      const { stream } = await store.read(at('a.txt'));
      expect(await failureOf(buffer(stream))).toMatchObject({ code });
    },
  );

  it.each(endings)('an upload that ends with "%s" gets no name', async (ending, code) => {
    const { store, stub } = await start({ ending });
    expect(await failureOf(store.write(at('a.txt'), contentOf('abc')))).toMatchObject({ code });
    expect(stub.heard.some((line) => line.startsWith('RNTO'))).toBe(false);
  });

  it('an upload whose data connection breaks fails as its answer says, on a connection that goes on', async () => {
    const { store, stub } = await start({ ending: '552 full', resets: true });
    const content = Readable.from([Buffer.alloc(8_000_000)], { objectMode: false });
    expect(await failureOf(store.write(at('a.txt'), content))).toMatchObject({ code: 'STORAGE_FULL' });
    expect((await store.stat(SourcePath.root)).kind).toBe('folder');
    expect(stub.made()).toBe(1);
  });

  it('a file that goes between the look and its download is not there; one that is closed is denied', async () => {
    let isThere = true;
    let goes = true;
    const script = (verb: string, path: string): string | undefined => {
      if (verb === 'MLST' && path === '/a.txt' && isThere) return FILE;
      if (verb !== 'RETR') return undefined;
      if (goes) isThere = false;
      return '550 no';
    };
    const { store } = await start({ script, listing: 'type=file;size=3; b.txt\r\n' });
    expect(await failureOf(store.read(at('a.txt')))).toMatchObject({ code: 'NOT_FOUND' });
    [isThere, goes] = [true, false];
    expect(await failureOf(store.read(at('a.txt')))).toMatchObject({ code: 'STORAGE_DENIED' });
  });

  it('content that fails leaves nothing of itself, and its error', async () => {
    const script = (verb: string, path: string) =>
      verb === 'MLST' && path.endsWith('.tmp') ? FILE : undefined;
    const { store, stub } = await start({ script });
    const content = Readable.from(
      (async function* () {
        yield Buffer.from('abc');
        await Promise.resolve();
        throw new Error('the sender has left');
      })(),
    );
    await expect(store.write(at('a.txt'), content)).rejects.toThrow('the sender has left');
    expect(stub.heard.some((line) => line.startsWith('RNTO'))).toBe(false);
    expect(stub.heard.some((line) => /^DELE \/\..*\.tmp$/u.test(line))).toBe(true);
  });

  it('parts of a file are read one after another on one connection', async () => {
    const content = Buffer.alloc(4_000_000, 'stowage');
    const script = (verb: string) => {
      if (verb === 'REST') return '502 no';
      return verb === 'MLST' ? FILE.replace('size=3', `size=${String(content.length)}`) : undefined;
    };
    const { store, stub } = await start({ content, script }, { connections: 1 });
    for (const range of [
      { start: 7, end: 13 },
      { start: 14, end: 20 },
      { start: content.length - 3, end: content.length - 1 },
    ]) {
      const { stream } = await store.read(at('a.bin'), { range });
      expect(await buffer(stream)).toEqual(content.subarray(range.start, range.end + 1));
    }
    expect(stub.made()).toBe(1);
  });
});

describe('connections of the ftp adapter', () => {
  it('that a server has closed meanwhile are replaced, unless something was changed', async () => {
    let isLeaving = '';
    const script = (verb: string): string | undefined => {
      if (verb !== isLeaving) return undefined;
      isLeaving = '';
      return '421 too late';
    };
    const { store, stub } = await start({ listing: LISTED, script });
    await namesIn(store);
    stub.hangUp();
    expect(await namesIn(store)).toEqual(['a.txt']);
    isLeaving = 'CWD';
    expect(await namesIn(store)).toEqual(['a.txt']);
    isLeaving = 'STOR';
    expect(await failureOf(store.write(at('new.txt'), contentOf('new')))).toMatchObject({
      code: 'STORAGE_UNAVAILABLE',
    });
    expect(stub.heard.filter((line) => line.startsWith('STOR'))).toHaveLength(1);
    expect(await namesIn(store)).toEqual(['a.txt']);
  });

  it('that were used before are asked once for what is missing', async () => {
    const { store, stub } = await start({ listing: LISTED });
    await namesIn(store);
    expect(await failureOf(store.stat(at('none.txt')))).toMatchObject({ code: 'NOT_FOUND' });
    expect(stub.heard.filter((line) => line === 'MLST /none.txt')).toHaveLength(1);
  });

  it('are bounded, closed when they are unused, and all at the end', async () => {
    const { store, stub } = await start({ listing: LISTED }, { connections: 3, idleTimeout: 0.2 });
    await Promise.all(Array.from({ length: 12 }, () => namesIn(store)));
    expect(stub.made()).toBeLessThanOrEqual(3);
    await expect.poll(() => stub.open()).toBe(0);
    await namesIn(store);
    await store.close();
    await expect.poll(() => stub.open()).toBe(0);
    expect(await failureOf(store.stat(SourcePath.root))).toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
  });

  it('to a server that says nothing are given up, and a request can be given up before', async () => {
    let isSilent = false;
    const { store } = await start(
      { listing: LISTED, script: () => (isSilent ? null : undefined) },
      { timeout: 1 },
    );
    await namesIn(store);
    isSilent = true;
    const abort = new AbortController();
    const aborted = store.stat(at('a.txt'), { signal: abort.signal });
    const silent = failureOf(store.stat(at('a.txt')));
    setTimeout(() => abort.abort(new Error('enough')), 50);
    await expect(aborted).rejects.toThrow('enough');
    expect(await silent).toMatchObject({ code: 'STORAGE_TIMEOUT' });
    isSilent = false;
    expect(await namesIn(store)).toEqual(['a.txt']);
  });

  it.each(['EPSV', 'STOR', 'RETR', 'MLSD'])(
    'are given up with their request while %s is not answered',
    async (silent) => {
      let isAsked = (): void => undefined;
      const asked = new Promise<void>((resolve) => (isAsked = resolve));
      const script = (verb: string, path: string): string | null | undefined => {
        if (verb === silent) isAsked();
        if (verb === silent) return null;
        return verb === 'MLST' && path === '/a.txt' ? FILE : undefined;
      };
      const { store, stub } = await start({ script }, { timeout: 600 });
      const abort = new AbortController();
      const options = { signal: abort.signal };
      const running =
        silent === 'MLSD'
          ? store.list(SourcePath.root, options)[Symbol.asyncIterator]().next()
          : silent === 'RETR'
            ? store.read(at('a.txt'), options)
            : store.write(at('new.txt'), contentOf('new'), options);
      const outcome = expect(running).rejects.toThrow('enough');
      await asked;
      abort.abort(new Error('enough'));
      await outcome;
      expect(stub.heard.some((line) => line.startsWith('RNTO'))).toBe(false);
    },
  );
});

describe('the login of the ftp adapter', () => {
  const answerOf = async (stub: FtpStub, more: object = {}): Promise<readonly [number, string, string]> => {
    const logged: string[] = [];
    const log = (...line: readonly unknown[]): void => {
      const whole = (_key: string, value: unknown): unknown =>
        value instanceof Error
          ? { ...value, message: value.message, cause: value.cause, stack: value.stack }
          : value;
      logged.push(JSON.stringify(line, whole));
    };
    const ftp = {
      host: '127.0.0.1',
      port: stub.port,
      username: 'ann',
      password: 'pass-word-1',
      timeout: 2,
      ...more,
    };
    const source = { storageAdapter: 'ftp', root: '', ftp };
    const logger = { debug: log, info: log, warn: log, error: log };
    const service = await startService({ sources: { files: source } }, {}, logger);
    const { status, data } = await service.call('fileRemove', { name: 'a.txt' });
    return [status, JSON.stringify(data), logged.join('\n')];
  };

  it('refused: a short answer, and no word of the password, though the server repeats it', async () => {
    const { stub } = await start({
      script: (verb, text) => (verb === 'PASS' ? `530 not ${text} on secret-host` : undefined),
    });
    const [status, answer, logged] = await answerOf(stub);
    expect(status).toBe(500);
    expect(answer).not.toMatch(/127\.0\.0\.1|pass-word|secret-host|530/u);
    expect(logged).toContain('the server refuses the login (530)');
    expect(logged).not.toContain('pass-word-1');
  });

  it('with TLS is not sent to a server without TLS', async () => {
    const { stub } = await start();
    const [status, , logged] = await answerOf(stub, { tls: true });
    expect(status).toBe(500);
    expect(logged).toContain('the server does not offer TLS');
    expect(stub.heard.filter((line) => line !== 'QUIT')).toEqual(['AUTH TLS']);
  });

  it.skipIf(opensslMissing)(
    `with TLS goes to a certificate that is trusted, or that need not be${opensslMissing ? ' (openssl is not installed)' : ''}`,
    async () => {
      const certificate = await makeCertificate();
      const { stub, store } = await start({ certificate }, { tls: true });
      expect(await failureOf(store.stat(SourcePath.root))).toEqual({
        code: 'STORAGE_UNAVAILABLE',
        detail: 'the connection was not made: DEPTH_ZERO_SELF_SIGNED_CERT',
      });
      expect(stub.heard.filter((line) => line !== 'QUIT')).toEqual(['AUTH TLS']);
      const login = {
        host: '127.0.0.1',
        port: stub.port,
        username: 'ann',
        password: 'pass-word-1',
        tls: true,
      };
      for (const more of [{ ca: certificate.cert }, { verifyCertificate: false }]) {
        const trusting = openFtpStore({ options: login }, more);
        expect((await trusting.stat(SourcePath.root)).kind).toBe('folder');
        await trusting.close();
      }
      const otherName = openFtpStore({ options: login }, { ca: certificate.cert, host: 'localhost' });
      expect((await failureOf(otherName.stat(SourcePath.root))).detail).toContain(
        'ERR_TLS_CERT_ALTNAME_INVALID',
      );
      await otherName.close();
      expect(stub.heard).toContain('PROT P');
    },
  );

  it.skipIf(opensslMissing)(
    `with TLS is useless when files are not encrypted${opensslMissing ? ' (openssl is not installed)' : ''}`,
    async () => {
      const certificate = await makeCertificate();
      const { store } = await start(
        { certificate, script: (verb) => (verb === 'PROT' ? '536 no' : undefined) },
        { tls: true, verifyCertificate: false },
      );
      expect(await failureOf(store.stat(SourcePath.root))).toEqual({
        code: 'STORAGE_UNAVAILABLE',
        detail: 'the server does not encrypt files (536)',
      });
    },
  );

  it('and names hold one line: nothing else is ever sent', async () => {
    const { stub } = await start({ listing: LISTED });
    const ftp = { host: '127.0.0.1', port: stub.port, username: 'ann', password: 'pass-word-1' };
    const service = await startService({ sources: { files: { storageAdapter: 'ftp', root: '', ftp } } });
    for (const name of ['a\r\nDELE b.txt', 'a\nDELE b.txt', 'a\0b']) {
      const { status } = await service.call('folderCreate', { name });
      expect(status).toBeGreaterThanOrEqual(400);
      expect((await service.call('fileRemove', { name })).status).toBeGreaterThanOrEqual(400);
    }
    expect(stub.heard.filter((line) => line.startsWith('DELE'))).toEqual([]);
    for (const key of ['username', 'password', 'directory'])
      expect(() => openFtpStore({ options: ftp }, { [key]: 'a\r\nDELE b' })).toThrow(
        `${key}: must not hold line breaks`,
      );
  });
});
