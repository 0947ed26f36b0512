import { readFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import sharp from 'sharp';
import { createApp } from 'stowage';
import { createClient, type Client } from 'stowage/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { shareOfDay } from '../before-release.ts';
import { servedStores } from './served-stores.ts';
import { countTraffic } from './traffic.ts';

const PAGE = fileURLToPath(new URL('../../docs/stores.md', import.meta.url));
const BLOCK = /(<!-- action costs -->\n).*?(\n<!-- end of action costs -->)/su;
const NAMES = ['s3', 'azure', 'gcs', 'webdav', 'sftp', 'ftp'];
const KEPT = 'kept';
const EMPTY = 'Empty a trash of 2 files';

const nothing = (): void => undefined;
const logger = { debug: nothing, info: nothing, warn: nothing, error: nothing };
const text = (name: string): File => new File([name], name);
const numbered = (prefix: string, count: number, extension = 'txt'): readonly string[] =>
  Array.from({ length: count }, (_, index) => `${prefix}${String(index)}.${extension}`);
const picture = await sharp({ create: { width: 300, height: 200, channels: 3, background: 'teal' } })
  .jpeg()
  .toBuffer();
const jpeg = (name: string): File => new File([new Uint8Array(picture)], name);

/** A started service, and what the actions are called by. */
interface Service {
  readonly client: Client;
  readonly url: string;
}

type Action = (service: Service) => Promise<unknown>;

const fetched = async ({ url }: Service, path: string): Promise<void> => {
  const response = await fetch(`${url}/file/files/${path}`);
  expect(response.status).toBe(200);
  await response.arrayBuffer();
};

const idOf = async ({ client }: Service, wanted: string): Promise<string> => {
  const { items } = await client.trashList({ source: KEPT });
  return items.find(({ name }) => name === wanted)?.id ?? '';
};

/** One call each, in this order: the later work on what the earlier have left. A pair does its first part uncounted. */
const ACTIONS: readonly (readonly [what: string, act: Action])[] = [
  ['Upload a file', ({ client }) => client.fileUpload({ path: 'f', files: [text('new.txt')] })],
  [
    'Upload it again, under the next name',
    ({ client }) => client.fileUpload({ path: 'f', files: [text('new.txt')] }),
  ],
  [
    'Upload a form of 10 pictures',
    ({ client }) => client.fileUpload({ path: 'pictures', files: numbered('p', 10, 'jpg').map(jpeg) }),
  ],
  ['List a folder of 12 files', ({ client }) => client.files({ path: 'f' })],
  ['Download a file', async ({ client }) => (await client.fileDownload({ path: 'f', name: '0.txt' })).text()],
  ['Serve a file', (service) => fetched(service, 'f/0.txt')],
  ['Serve a thumbnail for the first time', (service) => fetched(service, 'pictures/_thumbs/p0.jpg')],
  ['Serve it again', (service) => fetched(service, 'pictures/_thumbs/p0.jpg')],
  ['Rename a file', ({ client }) => client.fileRename({ path: 'f', name: '0.txt', newname: 'named.txt' })],
  ['Copy a file', ({ client }) => client.fileCopy({ path: 'g', from: 'f/1.txt' })],
  ['Move a file', ({ client }) => client.fileMove({ path: 'g', from: 'f/2.txt' })],
  ['Remove a file', ({ client }) => client.fileRemove({ path: 'f', name: '3.txt' })],
  ['Remove 20 files', ({ client }) => client.fileRemove({ path: 'g', names: [...numbered('r', 20)] })],
  ['Make a folder', ({ client }) => client.folderCreate({ name: 'made' })],
  ['Rename an empty folder', ({ client }) => client.folderRename({ name: 'made', newname: 'called' })],
  ['Remove a folder of 10 files', ({ client }) => client.folderRemove({ name: 'ten' })],
  ['Search 30 files in a folder', ({ client }) => client.filesSearch({ path: 'g', query: 'nowhere' })],
  [
    'Remove a file into the trash',
    ({ client }) => client.fileRemove({ source: KEPT, path: 'k', name: '0.txt' }),
  ],
  ['List a trash of 3 files', ({ client }) => client.trashList({ source: KEPT })],
  ['List it again', ({ client }) => client.trashList({ source: KEPT })],
  ['Restore a file', async (service) => service.client.trashRestore({ source: KEPT, id: trashed })],
  [EMPTY, ({ client }) => client.trashEmpty({ source: KEPT })],
];

let trashed = '';

/** Waits for requests that continue after the response. */
const untilQuiet = async (): Promise<void> => {
  for (let last = -1; last !== counted.requests(); await pause(500)) last = counted.requests();
};

const fill = async (service: Service): Promise<void> => {
  const { client } = service;
  for (const name of ['f', 'g', 'ten', 'pictures', 'k']) await client.folderCreate({ name });
  await client.fileUpload({ path: 'f', files: numbered('', 10).map(text) });
  await client.fileUpload({ path: 'ten', files: numbered('', 10).map(text) });
  await client.fileUpload({ path: 'g', files: [...numbered('r', 20), ...numbered('s', 10)].map(text) });
  await client.fileUpload({ path: 'k', files: numbered('', 10).map(text) });
  for (const name of ['1.txt', '2.txt']) await client.fileRemove({ source: KEPT, path: 'k', name });
  await client.trashList({ source: KEPT });
  // What is asked for once only: what the server can do, letter case.
  await client.fileRename({ path: 'k', name: '9.txt', newname: 'nine.txt' });
  await client.fileCopy({ path: 'k', from: 'f/9.txt' });
};

const counted = countTraffic();
const costs = new Map<string, readonly number[]>();
beforeAll(counted.start);
afterAll(counted.end);

describe('what actions cost', () => {
  const remote = servedStores.filter(
    ({ adapter, name, missing }) =>
      NAMES.includes(adapter) && !name.includes('nginx') && missing === undefined,
  );

  it.each(shareOfDay(2, remote))(
    'in requests on $name',
    async ({ adapter, start }) => {
      const { source, stop } = await start();
      // Over one connection: a second one would log in at some time.
      for (const kind of ['sftp', 'ftp'])
        if (kind in source) Object.assign((source as Record<string, object>)[kind] ?? {}, { connections: 1 });
      const shared = { baseurl: 'http://localhost/files/', thumbFolderName: '_thumbs', ...source };
      const sources = {
        files: { title: 'Files', ...shared },
        [KEPT]: { title: 'Kept', trash: {}, ...shared },
      };
      const app = createApp({ serve: 'public', createThumb: true, sources }, {}, { logger });
      try {
        const { port } = await app.listen(0, '127.0.0.1');
        const url = `http://127.0.0.1:${String(port)}`;
        const service = { client: createClient({ url }), url };
        await fill(service);
        const own: number[] = [];
        for (const [what, act] of ACTIONS) {
          if (what === 'Restore a file') trashed = await idOf(service, '0.txt');
          const before = counted.requests();
          await act(service);
          if (what === EMPTY) await untilQuiet();
          own.push(counted.requests() - before);
        }
        costs.set(adapter, own);
      } finally {
        await app.close();
        await stop();
      }
    },
    120_000,
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
    /** Some servers save a request now and then: the page has the most of it. */
    const cell = (name: string, column: number, what: string, index: number): string => {
      const now = costs.get(name)?.[index];
      const before = written(what, column);
      const isSame = now !== undefined && now <= Number(before) && now >= Number(before) * 0.55;
      return now === undefined || isSame ? before : String(now);
    };
    const made = [
      ['', ...NAMES.map((name) => `\`${name}\``)],
      ['---', ...NAMES.map(() => '---:')],
      ...ACTIONS.map(([what], index) => [
        what,
        ...NAMES.map((name, column) => cell(name, column, what, index)),
      ]),
    ].map((cells) => `| ${cells.join(' | ')} |`);
    const now = page.replace(BLOCK, (_all, head: string, end: string) => `${head}${made.join('\n')}${end}`);
    await expect(now).toMatchFileSnapshot(PAGE);
  });
});
