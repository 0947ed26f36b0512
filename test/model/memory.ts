/**
 * `npx tsx test/model/memory.ts webdav --cycles 1600`: what a service holds in memory, for a request, after many rounds of
 * requests that leave nothing behind, some of which their client leaves. A service that runs for months must come to a
 * level. `--fresh` gives the files of each round names of their own; `--snapshots` writes two heaps to compare.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { writeHeapSnapshot } from 'node:v8';
import sharp from 'sharp';
import { createApp } from 'stowage';
import { memoryInUse } from '../memory-in-use.ts';
import { silent } from '../protocol/service.ts';
import { storeKinds } from './stores.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    cycles: { type: 'string', default: '800' },
    fresh: { type: 'boolean', default: false },
    snapshots: { type: 'boolean', default: false },
  },
});
const STEPS = 8;

class Visitor {
  requests = 0;
  readonly #fetch: (request: Request) => Promise<Response>;
  readonly #source: string;
  readonly #picture: Blob;

  constructor(fetch: Visitor['visit'], source: string, picture: Blob) {
    this.#fetch = fetch;
    this.#source = source;
    this.#picture = picture;
  }

  visit(request: Request): Promise<Response> {
    this.requests += 1;
    return this.#fetch(request);
  }

  #form(fields: Readonly<Record<string, string>>, fileName?: string): FormData {
    const form = new FormData();
    for (const [name, value] of Object.entries({ source: this.#source, ...fields })) form.append(name, value);
    if (fileName !== undefined) form.append('files[0]', this.#picture, fileName);
    return form;
  }

  async #call(action: string, fields: Readonly<Record<string, string>>, fileName?: string): Promise<string> {
    const init = { method: 'POST', body: this.#form(fields, fileName) };
    return (await this.visit(new Request(`http://host/${action}`, init))).text();
  }

  async #show(path: string): Promise<void> {
    await (await this.visit(new Request(`http://host/file/${this.#source}/${path}`))).arrayBuffer();
  }

  /** Begins to read an answer, and goes away. */
  async #leave(path: string, milliseconds: number, init: RequestInit = {}): Promise<void> {
    const abort = new AbortController();
    const request = new Request(`http://host/${path}`, { ...init, signal: abort.signal });
    setTimeout(() => abort.abort(), milliseconds);
    try {
      const reader = (await this.visit(request)).body?.getReader();
      await reader?.read();
      await reader?.cancel();
    } catch {
      // It has left before there was an answer.
    }
  }

  async #removeAll(folder: string): Promise<void> {
    await this.#call('folderRemove', { name: folder });
    const { data } = JSON.parse(await this.#call('files', {})) as {
      data: { sources: { files: { file: string }[] }[] };
    };
    for (const { file } of data.sources[0]?.files ?? []) await this.#call('fileRemove', { name: file });
    await this.#call('trashEmpty', {});
  }

  async round(mark: string): Promise<void> {
    const [first, second, folder] = [`a${mark}.png`, `b${mark}.png`, `f${mark}`];
    await this.#call('fileUpload', {}, first);
    await this.#call('files', { 'mods[details]': 'true' });
    await this.#call('permissions', {});
    await this.#show(first);
    await this.#show(`_thumbs/${first}`);
    for (const milliseconds of [0, 1, 3]) {
      await this.#leave(`files?source=${this.#source}&mods[details]=true`, milliseconds);
      await this.#leave(`file/${this.#source}/${first}`, milliseconds);
      await this.#leave(`filesSearch?source=${this.#source}&query=a`, milliseconds);
      const body = this.#form({}, `left${mark}.png`);
      await this.#leave('fileUpload', milliseconds, { method: 'POST', body });
    }
    await this.#call('fileRename', { name: first, newname: second });
    await this.#show(first);
    await this.#call('fileDescribe', { name: second, alt: 'A red field' });
    await this.#call('folderCreate', { name: folder });
    await this.#call('fileCopy', { from: second, path: folder });
    await this.#call('filesSearch', { query: 'b' });
    await this.#call('imageResize', {
      name: second,
      'box[w]': '30',
      'box[h]': '20',
      newname: `c${mark}.png`,
    });
    await this.#call('fileRemove', { name: second });
    const { data } = JSON.parse(await this.#call('trashList', {})) as { data: { items: { id: string }[] } };
    await this.#call('trashRestore', { id: data.items[0]?.id ?? '' });
    await this.#call('fileRemove', { name: 'missing.png' });
    await this.#removeAll(folder);
  }
}

const [name = 'local'] = positionals;
const kind = storeKinds[name];
if (kind?.missing !== undefined || kind === undefined) throw new Error(kind?.missing ?? `no store ${name}`);
const stores = await kind.start();
const stateDirectory = await mkdtemp(join(tmpdir(), 'stowage-soak-'));
const sources = Object.fromEntries(
  Object.entries(stores.sources ?? {}).map(([key, source]) => [
    key,
    { ...source, serve: 'public' as const, redirectMoved: { entries: 100 } },
  ]),
);
const app = createApp({ extensions: ['png'], trash: {}, sources, stateDirectory }, {}, { logger: silent });
const background = { width: 60, height: 40, channels: 3, background: 'red' } as const;
const picture = new Blob([new Uint8Array(await sharp({ create: background }).png().toBuffer())]);
const visitor = new Visitor((request) => app.fetch(request), Object.keys(sources)[0] ?? '', picture);
try {
  const step = Math.ceil(Number(values.cycles) / STEPS);
  let before = 0;
  for (let part = 1; part <= STEPS; part += 1) {
    const asked = visitor.requests;
    for (let cycle = 0; cycle < step; cycle += 1)
      await visitor.round(values.fresh ? `-${part}-${cycle}` : '');
    const { heapUsed } = memoryInUse();
    const grown =
      part === 1 ? '' : `${Math.round((heapUsed - before) / (visitor.requests - asked))} bytes a request`;
    console.log(`${name}: ${visitor.requests} requests, ${(heapUsed / 1e6).toFixed(1)} MB, ${grown}`);
    before = heapUsed;
    if (values.snapshots && part % (STEPS / 2) === 0) console.log(writeHeapSnapshot());
  }
} finally {
  await app.close();
  await stores.stop();
  await rm(stateDirectory, { recursive: true, force: true });
}
