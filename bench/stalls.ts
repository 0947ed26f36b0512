import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import {
  davShapes,
  htmlShapes,
  pictureShapes,
  svgShapes,
  xmlShapes,
  type Shape as FileShape,
} from '../test/security/growing-shapes.ts';
import { timed, type Measurement, type Row } from './measurement.ts';
import { withScratch } from './scratch.ts';
import { drain, keepAlive, withService, type Service } from './service.ts';

/** Maximum response time of `/ping` during any request, in milliseconds. */
const MOST_MS = 250;
const ROUNDS = 3;

/** A request that is as expensive as its limits allow. */
interface Shape {
  readonly what: string;
  /** Path and query. */
  readonly path: string;
  readonly init?: () => RequestInit;
}

/** Combining marks in the wrong order: Unicode normalization takes time quadratic in their number. */
const marks = (units: number): string =>
  `a${'\u0345'.repeat(Math.floor(units / 2))}${'\u0334'.repeat(Math.floor(units / 2))}`;

const list = <Item>(count: number, itemAt: (index: number) => Item): Item[] =>
  Array.from({ length: count }, (_, index) => itemAt(index));

const form = (fields: readonly (readonly [string, string])[]) => (): RequestInit => {
  const body = new FormData();
  for (const [name, value] of fields) body.append(name, value);
  return { method: 'POST', body };
};

const urlencoded = (body: string) => (): RequestInit => ({
  method: 'POST',
  headers: { 'content-type': 'application/x-www-form-urlencoded' },
  body,
});

const json = (value: unknown) => (): RequestInit => ({
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(value),
});

const file = (name: string, content: string | Uint8Array<ArrayBuffer>) => (): RequestInit => {
  const body = new FormData();
  body.append('files[0]', new Blob([content]), name);
  return { method: 'POST', body };
};

const FILE_BYTES = 1024 * 1024;

/** Uploads of every kind of hostile file; pages are converted instead. */
const filesOf = (extension: string, files: Readonly<Record<string, FileShape>>): Promise<readonly Shape[]> =>
  Promise.all(
    Object.entries(files).map(async ([name, shape]): Promise<Shape> => {
      const content = new Uint8Array(Buffer.from(await shape(FILE_BYTES)));
      const text = Buffer.from(content).toString('utf8');
      return extension === 'html'
        ? {
            what: `page: ${name}`,
            path: '/generateDocx',
            init: form([['html', text.slice(0, FILE_BYTES / 2)]]),
          }
        : { what: `${extension}: ${name}`, path: '/fileUpload', init: file(`a.${extension}`, content) };
    }),
  );

const fileShapes = async (): Promise<readonly Shape[]> => [
  ...(await filesOf('xml', { ...xmlShapes, ...davShapes })),
  ...(await filesOf('svg', svgShapes)),
  ...(await filesOf('png', pictureShapes)),
  ...(await filesOf('html', htmlShapes)),
];

/** During each of these the service must respond to others. Add a new one as a new row. */
const shapes: readonly Shape[] = [
  { what: 'form: one long name', path: '/fileDownload', init: form([['name', marks(480_000)]]) },
  { what: 'form: a long filterWord', path: '/files', init: form([['mods[filterWord]', marks(480_000)]]) },
  { what: 'form: a long address', path: '/getLocalFileByUrl', init: form([['url', `/${marks(480_000)}`]]) },
  {
    what: 'form: 1,000 names of 1,000 letters',
    path: '/fileDownload',
    init: form(list(990, () => ['names[]', marks(1000)] as const)),
  },
  {
    what: 'form: names as long as they may be',
    path: '/fileDownload',
    init: form(list(990, (index) => ['names[]', marks(500) + String(index)] as const)),
  },
  {
    what: 'form: paths as long as they may be',
    path: '/fileMove',
    init: form(list(120, () => ['froms[]', list(8, () => marks(500)).join('/')] as const)),
  },
  { what: 'form: 1,000 fields', path: '/files', init: form(list(1000, (at) => [`f${String(at)}`, 'x'])) },
  {
    what: 'JSON: flat names beside nested ones',
    path: '/files',
    init: json({
      m: Object.fromEntries(list(8500, (at) => [at.toString(36), 1])),
      ...Object.fromEntries(list(990, (at) => [`m[x${String(at)}]`, 1])),
    }),
  },
  { what: 'JSON: 10,000 values', path: '/files', init: json({ names: list(9990, () => 1) }) },
  {
    what: 'JSON: deep',
    path: '/files',
    init: () => ({ ...json({})(), body: `${'{"a":'.repeat(16_000)}1${'}'.repeat(16_000)}` }),
  },
  { what: 'urlencoded: 1,000 items', path: '/files', init: urlencoded(list(1000, () => 'a[]=1').join('&')) },
  { what: 'urlencoded: escapes', path: '/files', init: urlencoded(`path=${'%CD%85'.repeat(17_000)}`) },
  { what: 'query: 990 names', path: `/files?${list(990, (at) => `m[${String(at)}x]=1`).join('&')}` },
  { what: 'query: a long path', path: `/files?path=${encodeURIComponent(marks(2500))}` },
  { what: 'file: a long name', path: '/fileUpload', init: file(`${marks(4000)}.txt`, 'x') },
  { what: 'file: 8 MB of text', path: '/fileUpload', init: file('a.txt', 'x'.repeat(8_000_000)) },
];

/** The longest response time of `/ping` while the request is sent several times. */
const longestBeside = async ({ url }: Service, { path, init }: Shape): Promise<number> => {
  const agent = keepAlive();
  const ping = () => timed(() => drain(`${url}/ping`, agent));
  await ping();
  let isSending = true;
  const sending = (async () => {
    try {
      for (let round = 0; round < ROUNDS; round += 1) {
        await (await fetch(url + path, init?.() ?? {})).arrayBuffer();
      }
    } finally {
      isSending = false;
    }
  })();
  let longest = 0;
  while (isSending) longest = Math.max(longest, await ping());
  await sending;
  agent.destroy();
  return longest;
};

/** The effect of expensive requests on others. */
export const stalls: Measurement = {
  name: 'stalls',
  run: () =>
    withScratch(async (scratch) => {
      const root = join(scratch, 'files');
      mkdirSync(root);
      return withService(scratch, root, async (service) => {
        const rows: Row[] = [];
        const reference = { name: 'allowed', value: MOST_MS };
        for (const shape of [...shapes, ...(await fileShapes())]) {
          const ours = await longestBeside(service, shape);
          const what = `longest /ping beside ${shape.what}`;
          rows.push({ what, unit: 'ms', ours, reference, aim: { atMost: 1 } });
        }
        return rows;
      });
    }),
};
