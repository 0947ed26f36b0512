import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv2020 } from 'ajv/dist/2020.js';
import sharp from 'sharp';
import { createClient, ConnectorError, type Client } from 'stowage/client';
import { expect, it, onTestFinished } from 'vitest';
import { createActions } from '#internals';
import { startService, type Service } from '../protocol/service.ts';

type Json = Readonly<Record<string, unknown>>;

type Description = Record<string, unknown> & {
  readonly info: { readonly version: string };
  readonly paths: Readonly<Record<string, Readonly<Record<string, Json>>>>;
};

const readDescription = async (): Promise<Description> =>
  JSON.parse(
    await readFile(new URL('../../packages/stowage/openapi.json', import.meta.url), 'utf8'),
  ) as Description;

/** The schema without room for anything that it does not name. */
const closed = (schema: unknown): unknown => {
  if (Array.isArray(schema)) return schema.map(closed);
  if (typeof schema !== 'object' || schema === null) return schema;
  const inner = Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, closed(value)]));
  return 'properties' in schema ? { ...inner, additionalProperties: false } : inner;
};

const escaped = (part: string): string => part.replaceAll('~', '~0').replaceAll('/', '~1');

const isJson = (response: Response): boolean =>
  response.headers.get('content-type')?.startsWith('application/json') === true;

/** Compares answers with the description, to the letter. */
const startComparison = (description: Description) => {
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  ajv.addSchema({ ...(closed(description) as Json), $id: 'https://openapi.example/' });
  const faults: unknown[] = [];
  const compared = new Set<string>();

  const compare = async (action: string, response: Response): Promise<void> => {
    const answer = `/paths/${escaped(`/${action}`)}/post/responses/200`;
    const [type = ''] = (response.headers.get('content-type') ?? '').split(';');
    compared.add(`${action} ${response.ok ? 'done' : 'refused'}`);
    if (response.ok && !isJson(response)) {
      const content = description.paths[`/${action}`]?.['post']?.['responses'] as {
        200: { content: Json };
      };
      const anyOfKind = type.replace(/\/.*/u, '/*');
      if (!(type in content[200].content || anyOfKind in content[200].content)) faults.push([action, type]);
      return;
    }
    const schema = response.ok
      ? `${answer}/content/${escaped('application/json')}/schema`
      : '/components/schemas/Error';
    const validate = ajv.compile({ $ref: `https://openapi.example/#${schema}` });
    if (!validate(await response.json())) faults.push([action, validate.errors]);
  };

  const fetchCompared: typeof fetch = async (input, init) => {
    const response = await fetch(input, init);
    await compare(new URL(input as string).pathname.slice(1), response.clone());
    return response;
  };
  return { fetch: fetchCompared, compare, faults, compared };
};

/** A host that serves one picture, for as long as the test runs. */
const startPictureHost = async (picture: Buffer): Promise<string> => {
  const host = createServer((_, response) => response.end(picture));
  await new Promise<void>((resolve) => host.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void host.close());
  return `http://127.0.0.1:${String((host.address() as AddressInfo).port)}/remote.png`;
};

const useEveryAction = async (client: Client, service: Service, picture: Buffer): Promise<void> => {
  const png = (name: string): File => new File([new Uint8Array(picture)], name);
  await client.permissions();
  await client.folderCreate({ name: 'f' });
  await client.fileUpload({ path: 'f', files: [png('a.png'), png('b.png'), new File(['text'], 'c.txt')] });
  await client.fileUploadRemote({ url: await startPictureHost(picture) });
  await client.files({ path: 'f', mods: { withFolders: true, limit: 10, sortBy: 'name-asc' } });
  await client.files({ mods: { withFolders: true } });
  await client.folders({ dots: false });
  await client.filesSearch({ query: 'a', mods: { details: true }, limit: 1 });
  await client.fileCopy({ from: 'f/a.png' });
  await client.fileMove({ from: 'f/b.png', path: '' });
  await client.fileRename({ name: 'b.png', newname: 'd' });
  await client.fileDownload({ name: 'd.png' });
  await client.fileDownload({ names: ['d.png', 'f'] });
  await client.getLocalFileByUrl({ url: 'https://files.example/files/d.png' });
  await client.imageResize({ name: 'd.png', box: { w: 10, h: 5 } });
  await client.imageCrop({ name: 'd.png', box: { x: 0, y: 0, w: 4, h: 4 }, newname: 'e' });
  await client.imageRotate({ name: 'd.png', angle: 90, flip: 'vertical' });
  await client.imageVariant({ name: 'd.png', preset: 'card' });
  await client.files({ mods: { variants: true } });
  await client.imageSave({ name: 'd.png', files: [png('d.png')] });
  await client.fileReplace({ name: 'd.png', files: [png('other.png')] });
  await client.fileDescribe({ name: 'd.png', alt: 'D', tags: ['d'], focalPoint: { x: 0.5, y: 0.25 } });
  await client.imageLoad({ name: 'd.png' });
  await client.fileUses({ name: 'd.png' });
  await client.fileRemove({ name: 'd.png' });
  await client.folderCopy({ from: 'f' });
  await client.folderCopy({ froms: ['f/a.png', 'nowhere'] });
  await client.folderRename({ name: 'f (1)', newname: 'g' });
  await client.folderMove({ from: 'g', path: 'f' });
  await client.folderRemove({ name: 'f' });
  await client.generateDocx({ html: '<p>text</p>' });
  await client.generateDocx({ html: '<p>text</p>', name: 'saved' });
  const { items } = await client.trashList();
  await client.trashRestore({ id: items[0]?.id ?? '', path: 'again' });
  await client.trashRemove({ id: items[1]?.id ?? '' });
  await client.trashEmpty();
  expect(await service.source('files').paths()).toContain('e.png');
};

it('is a description that tools accept, of the published version', async () => {
  const description = await readDescription();
  const { valid, errors } = await new Validator().validate(structuredClone(description));
  expect([valid, errors]).toEqual([true, undefined]);
  expect(description.info.version).toBe('0.1.1');
});

it('describes every action by the methods that it takes', async () => {
  const { paths } = await readDescription();
  const actions = createActions();
  const named = [...actions.keys()].map((name) => `/${name}`);
  expect(Object.keys(paths)).toEqual(['/ping', '/', ...named, '/tus', '/tus/{id}']);
  for (const [name, { methods, takesFiles }] of actions) {
    const described = Object.keys(paths[`/${name}`] ?? {}).map((method) => method.toUpperCase());
    expect([name, described]).toEqual([name, takesFiles ? ['POST'] : methods]);
  }
});

it('says what the service answers', async () => {
  const service = await startService(
    { allowPrivateNetworkUploads: true, trash: {}, imagePresets: { card: { width: 10 } } },
    { findUses: () => [{ title: 'A page', url: '/page' }] },
  );
  const { fetch, faults, compared } = startComparison(await readDescription());
  const client = createClient({ url: service.url, fetch });
  const picture = await sharp({ create: { width: 40, height: 30, channels: 3, background: 'teal' } })
    .png()
    .toBuffer();
  await useEveryAction(client, service, picture);
  // Without a browser this answers 501, which is described too.
  await client.generatePdf({ html: '<p>text</p>' }).catch(() => undefined);
  await expect(client.fileRemove({ name: 'nowhere.png' })).rejects.toThrow(ConnectorError);
  expect(faults).toEqual([]);
  const names = [...createActions().keys()].filter((name) => name !== 'generatePdf');
  for (const name of names) expect(compared).toContain(`${name} done`);
  expect(compared).toContain('fileRemove refused');
});

it('describes parts, unchanged copies, and failures that CKEditor shows', async () => {
  const service = await startService({ imagePresets: { card: { width: 10 } } });
  const picture = await sharp({ create: { width: 40, height: 30, channels: 3, background: 'teal' } })
    .png()
    .toBuffer();
  await service.source('files').put({ 'a.png': picture });
  const description = await readDescription();
  const ask = (path: string, headers = {}): Promise<Response> => fetch(`${service.url}/${path}`, { headers });
  for (const path of ['fileDownload?name=a.png', 'imageVariant?name=a.png&preset=card', 'permissions']) {
    const first = await ask(path);
    const again = await ask(path, { 'if-none-match': first.headers.get('etag') ?? '' });
    const part = path === 'permissions' ? [] : [await ask(path, { range: 'bytes=0-3' })];
    const [action = ''] = path.split('?');
    const described = Object.keys(description.paths[`/${action}`]?.['get']?.['responses'] as Json);
    for (const { status } of [again, ...part])
      expect([path, described]).toEqual([path, expect.arrayContaining([String(status)])]);
  }
  const { compare, faults } = startComparison(description);
  const form = new FormData();
  form.append('upload', new File(['x'], 'a.exe'));
  const refused = await fetch(`${service.url}/fileUpload?responseType=ckeditor`, {
    method: 'POST',
    body: form,
  });
  expect(refused.status).toBe(200);
  await compare('fileUpload', refused);
  expect(faults).toEqual([]);
});
