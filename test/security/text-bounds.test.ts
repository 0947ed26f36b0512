import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { startEdge, json, ask as askEdge } from '../http/edge.ts';
import { formOf, startService, type Fields, type Service } from '../protocol/service.ts';
import { create, startTus } from '../protocol/tus-client.ts';

// Marks in the wrong order: normalization takes time by the square of their number.
const marks = (units: number): string => `a${'\u0345'.repeat(units / 2)}${'\u0334'.repeat(units / 2)}`;

/** Longest text that a request may have normalized. */
const MOST = 1024;

let longest = 0;
beforeEach(() => {
  longest = 0;
  const native: { normalize: (this: string, form?: string) => string } = String.prototype;
  const { normalize } = native;
  vi.spyOn(String.prototype, 'normalize').mockImplementation(function (this: string, form?: string) {
    longest = Math.max(longest, this.length);
    return normalize.call(this, form);
  });
});
afterEach(() => vi.restoreAllMocks());

const multipart = (service: Service, action: string, fields: Fields): Promise<Response> =>
  fetch(`${service.url}/${action}`, { method: 'POST', body: formOf([], fields) });

const asJson = (service: Service, action: string, value: unknown): Promise<Response> =>
  fetch(`${service.url}/${action}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(value),
  });

describe('a text of a request', () => {
  const long = marks(30_000);
  const doors: readonly (readonly [action: string, fields: Fields])[] = [
    ['fileDownload', { name: long }],
    ['files', { path: long }],
    ['files', { path: `a/${long}` }],
    ['files', { 'mods[filterWord]': long }],
    ['files', { source: long }],
    ['filesSearch', { query: long }],
    ['filesSearch', { query: 'a', cursor: long }],
    ['folderCreate', { name: long }],
    ['fileRename', { name: 'a.txt', newname: long }],
    ['fileRemove', { 'names[]': long }],
    ['fileMove', { 'froms[]': long }],
    ['fileMove', { from: long }],
    ['imageResize', { name: 'a.png', newname: long, 'box[w]': '1', 'box[h]': '1' }],
    ['imageSave', { name: long }],
    ['imageVariant', { name: 'a.png', preset: long }],
    ['getLocalFileByUrl', { url: `https://files.example/files/${long}` }],
    ['fileUploadRemote', { url: `https://files.example/${long}` }],
    ['generateDocx', { html: 'a', name: long }],
    ['generateDocx', { html: 'a', 'options[header]': long }],
    ['trashRemove', { id: long }],
  ];

  it.each(doors)('is bounded before %s works on it', async (action, fields) => {
    const service = await startService({ sources: { files: { trash: {} } } });
    const asked = [
      await multipart(service, action, fields),
      await asJson(service, action, fields),
      await fetch(`${service.url}/${action}?${new URLSearchParams(fields).toString().slice(0, 12_000)}`),
    ];
    for (const answer of asked.slice(0, 2)) {
      expect(answer.status).toBe(400);
      expect(await answer.json()).toMatchObject({ data: { error: 'INVALID_PARAMETERS' } });
    }
    expect(longest).toBeLessThanOrEqual(MOST);
  });

  it('is said to be too long in words', async () => {
    const service = await startService();
    const { messages } = await service.call('folderCreate', { name: 'x'.repeat(1025) });
    expect(messages).toEqual(['The name must not be longer than 1024 characters.']);
  });

  it('is bounded where it is a name: of a parameter, of a file, in a path, in the metadata of tus', async () => {
    const service = await startTus({ sources: { files: { serve: 'public' } } });
    expect((await asJson(service, 'files', { [long]: 1 })).status).toBe(400);
    expect((await asJson(service, 'files', { mods: { [long]: 1 } })).status).toBe(400);
    expect((await multipart(service, 'files', { [marks(3000)]: 'x' })).status).toBe(400);
    expect((await multipart(service, 'files', { language: long })).status).toBe(400);
    expect((await service.upload([['files[0]', `${marks(4000)}.txt`, 'x']])).status).toBe(200);
    await create(service.tus, 1, { filename: `${marks(1400)}.txt` });
    await fetch(`${service.url}/file/files/${encodeURIComponent(marks(2000))}`);
    expect(longest).toBeLessThanOrEqual(MOST);
  });

  it('may be as long as the body where it is a document', async () => {
    const service = await startService();
    const answer = await multipart(service, 'generateDocx', { html: `<p>${'x'.repeat(300_000)}</p>` });
    expect(answer.status).toBe(200);
  });

  it('is left out where no action takes it', async () => {
    const service = await startService();
    expect((await multipart(service, 'files', { csrfToken: 'x'.repeat(100_000) })).status).toBe(200);
  });
});

describe('flat and nested names together', () => {
  it('cost no more than each of them alone', async () => {
    const edge = await startEdge();
    const members = Object.fromEntries(Array.from({ length: 8500 }, (_, n) => [`k${n.toString(36)}`, 1]));
    const flat = Object.fromEntries(Array.from({ length: 990 }, (_, n) => [`m[f${String(n)}]`, 1]));
    const timed = async (body: object): Promise<number> => {
      const begun = performance.now();
      expect(await askEdge(edge, '/echo', json(body))).toMatchObject({ status: 200 });
      return performance.now() - begun;
    };
    await timed({ m: members, ...flat });
    const both = await timed({ m: members, ...flat });
    const apart = (await timed({ m: members })) + (await timed(flat));
    expect(both).toBeLessThan(10 * apart);
  });
});
