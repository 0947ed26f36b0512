import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { buffer } from 'node:stream/consumers';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SourcePath, type StorageAdapter } from 'stowage/storage';
import {
  AzureAdapter,
  declaredCapabilities,
  GcsAdapter,
  parseAzureOptions,
  parseGcsOptions,
  parseS3Options,
  S3Adapter,
} from '#internals';
import { azuriteMissing, makeContainer, startAzurite } from '../../tools/test-servers/azurite.ts';
import { makeBucket, optionsFor } from '../../tools/test-servers/bucket.ts';
import { openFtpStore, startFtp } from '../../tools/test-servers/ftp.ts';
import { startGcs } from '../../tools/test-servers/gcs-login.ts';
import { hasProftpd } from '../../tools/test-servers/proftpd.ts';
import { radosgwMissing, startRadosgw } from '../../tools/test-servers/radosgw.ts';
import { hasSshd, openSftpStore, startSshd } from '../../tools/test-servers/ssh.ts';
import { davServers, openDavStore } from '../../tools/test-servers/webdav.ts';
import { countTraffic } from './traffic.ts';

const PAGE = fileURLToPath(new URL('../../docs/stores.md', import.meta.url));
const BLOCK = /(<!-- costs -->\n).*?(\n<!-- end of costs -->)/su;
const MB = 1024 ** 2;
const at = (text: string): SourcePath => SourcePath.parse(text);
const put = (store: StorageAdapter, path: string, size = 10_000, createOnly = false) =>
  store.write(at(path), Readable.from([Buffer.alloc(size)], { objectMode: false }), { size, createOnly });

interface OpenedStore {
  readonly store: StorageAdapter;
  readonly stop: () => Promise<unknown>;
}

const valueOf = <T>(parsed: { readonly value: T } | { readonly problems: readonly string[] }): T => {
  if ('problems' in parsed) throw new Error(parsed.problems.join('; '));
  return parsed.value;
};

/** The stores whose requests are counted, each on a server of its own. */
const servers: Readonly<Record<string, readonly [isInstalled: boolean, open: () => Promise<OpenedStore>]>> = {
  s3: [
    radosgwMissing === undefined,
    async () => {
      const server = await startRadosgw();
      const { name, client } = await makeBucket(server);
      const store = new S3Adapter(valueOf(parseS3Options(optionsFor(server, name, {}))));
      return { store, stop: async () => [client.destroy(), await server.stop()] };
    },
  ],
  azure: [
    azuriteMissing === undefined,
    async () => {
      const server = await startAzurite();
      const { name: container } = await makeContainer(server);
      const { accountUrl, accountKey } = server;
      return {
        store: new AzureAdapter(valueOf(parseAzureOptions({ container, accountUrl, accountKey }))),
        stop: () => server.stop(),
      };
    },
  ],
  gcs: [
    true,
    async () => {
      const server = await startGcs(`costs-${randomUUID()}`);
      const { credentialsFile, emulator } = server;
      const { bucket, endpoint } = emulator;
      const store = new GcsAdapter(valueOf(parseGcsOptions({ bucket, endpoint, credentialsFile })));
      return { store, stop: () => server.stop() };
    },
  ],
  webdav: [
    davServers[0].installed,
    async () => {
      const server = await davServers[0].start();
      return { store: openDavStore(server, davServers[0].options, 'costs'), stop: () => server.stop() };
    },
  ],
  sftp: [
    hasSshd,
    async () => {
      const server = await startSshd();
      return { store: openSftpStore(server, { connections: 1 }, 'costs'), stop: () => server.stop() };
    },
  ],
  ftp: [
    hasProftpd,
    async () => {
      const server = await startFtp();
      return { store: openFtpStore(server, { connections: 1 }, 'costs'), stop: () => server.stop() };
    },
  ],
};

type Call = (store: StorageAdapter) => Promise<unknown>;

/** One call each, in this order: the later work on what the earlier have left. */
const CALLS: readonly (readonly [what: string, call: Call])[] = [
  ['Look at a file', (store) => store.stat(at('f/0.bin'))],
  [
    'List a folder of 10 files',
    async (store) => {
      for await (const page of store.list(at('f'))) expect(page).toHaveLength(10);
    },
  ],
  ['Read 10 KB', async (store) => buffer((await store.read(at('f/0.bin'))).stream)],
  ['Store 10 KB under a new name', (store) => put(store, 'f/new.bin', 10_000, true)],
  ['Replace a file by 10 KB', (store) => put(store, 'f/new.bin')],
  ['Store 20 MB under a new name', (store) => put(store, 'f/large.bin', 20 * MB, true)],
  ['Copy a file', (store) => store.copyFile(at('f/0.bin'), at('f/copy.bin'), { createOnly: true })],
  ['Move a file', (store) => store.moveFile(at('f/copy.bin'), at('f/moved.bin'), { createOnly: true })],
  ['Remove a file', (store) => store.removeFile(at('f/moved.bin'))],
  ['Make a folder', (store) => store.makeFolder(at('made'))],
  ['Remove an empty folder', (store) => store.removeEmptyFolder(at('made'))],
  ['Move a folder of 10 files', async (store) => store.moveFolder?.(at('ten'), at('moved'))],
  ['Remove a folder of 10 files', (store) => store.removeFolder(at('moved'))],
];

const counted = countTraffic();
const costs = new Map<string, readonly number[]>();
beforeAll(counted.start);
afterAll(counted.end);

describe('what calls cost', () => {
  it.each(Object.entries(servers).filter(([, [isInstalled]]) => isInstalled))(
    'in requests on %s',
    async (name, [, open]) => {
      const { store, stop } = await open();
      try {
        // Whatever is asked once only: the login, what the server can do, letter case.
        for (const folder of ['f', 'ten'])
          for (let number = 0; number < 10; number += 1)
            await put(store, `${folder}/${String(number)}.bin`, 10_000, true);
        await store.stat(at('f/0.bin'));
        await store.copyFile(at('f/0.bin'), at('first.bin'), { createOnly: true });
        const own: number[] = [];
        for (const [, call] of CALLS) {
          const before = counted.requests();
          await call(store);
          own.push(counted.requests() - before);
        }
        costs.set(name, own);
        await put(store, 'large.bin', 4 * MB);
        const before = counted.bytes();
        await store.copyFile(at('large.bin'), at('copy.bin'));
        const isInside = counted.bytes() - before < MB;
        const { serverCopy } = declaredCapabilities[name as keyof typeof declaredCapabilities];
        if (serverCopy !== 'asked') expect(isInside).toBe(serverCopy);
      } finally {
        await store.close?.();
        await stop();
      }
    },
    60_000,
  );

  it('is as docs/stores.md says (vitest -u writes it)', async () => {
    const page = await readFile(PAGE, 'utf8');
    const rows = page.match(BLOCK)?.[0].split('\n') ?? [];
    /** Of a server that is not installed: as the page has it. */
    const written = (what: string, column: number): string =>
      rows
        .find((row) => row.startsWith(`| ${what} |`))
        ?.split(' | ')
        [column + 1]?.replace(' |', '') ?? '?';
    const names = Object.keys(servers);
    const made = [
      ['', ...names.map((name) => `\`${name}\``)],
      ['---', ...names.map(() => '---:')],
      ...CALLS.map(([what], index) => [
        what,
        ...names.map((name, column) => String(costs.get(name)?.[index] ?? written(what, column))),
      ]),
    ].map((cells) => `| ${cells.join(' | ')} |`);
    const text = page.replace(BLOCK, (_all, head: string, end: string) => `${head}${made.join('\n')}${end}`);
    await expect(text).toMatchFileSnapshot(PAGE);
  });
});
