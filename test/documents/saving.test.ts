import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { createRouter, HttpError, type ServiceEvent } from 'stowage';
import { createClient } from 'stowage/client';
import { describe, expect, it, onTestFinished } from 'vitest';
import { readDocx, textIn } from './docx-reader.ts';
import { noBrowser } from './pdf-tools.ts';
import { Folder, startService, type Fields, type Service, type ServiceOptions } from '../protocol/service.ts';

const TYPE = 'application/vnd.openxmlformats-officedocument.wordprocessingml.document';
const html = '<h1>Minutes</h1>';

const save = (service: Service, fields: Fields = {}) =>
  service.call('generateDocx', { html, name: 'a', ...fields });

const wordsOf = async (service: Service, path: string, source = 'files'): Promise<string> =>
  textIn(readDocx(await service.source(source).bytes(path)).body);

describe('a document with a name', () => {
  it('is saved in its folder and answered as an upload is', async () => {
    const service = await startService();
    await service.source('files').put({ 'notes/': '' });
    const client = createClient({ url: service.url });
    const data = await client.generateDocx({ html, source: 'files', path: 'notes', name: 'report' });
    const bytes = await service.source('files').bytes('notes/report.docx');
    expect(data).toEqual({
      code: 220,
      baseurl: 'https://files.example/files/',
      messages: ['The document "report.docx" was saved.'],
      files: ['notes/report.docx'],
      isImages: [false],
      items: [
        {
          source: 'files',
          path: 'notes',
          name: 'report.docx',
          url: 'https://files.example/files/notes/report.docx',
          bytes: bytes.length,
          mime: TYPE,
        },
      ],
    });
    expect(await wordsOf(service, 'notes/report.docx')).toBe('Minutes');
    const answered = await client.generateDocx({ html, source: 'files', path: 'notes' });
    expect(answered.headers.get('content-type')).toBe(TYPE);
    expect(await service.source('files').paths()).toEqual(['notes/', 'notes/report.docx']);
  });

  it('gets the extension of its kind, and a name that files may have', async () => {
    const service = await startService();
    for (const name of ['b.docx', 'c.DOCX', 'Draft 2.1', 'x/../y?', 'ä'.repeat(200)]) {
      expect((await save(service, { name })).messages).toEqual([expect.stringContaining('was saved')]);
    }
    expect(await service.source('files').paths()).toEqual([
      'Draft 2.1.docx',
      'b.docx',
      'c.DOCX',
      'x_.._y_.docx',
      `${'ä'.repeat(125)}.docx`,
    ]);
    for (const name of ['b.pdf', 'b.html', 'b.docx.zip']) {
      expect(await save(service, { name })).toMatchObject({
        status: 400,
        messages: ['The name must end in ".docx".'],
      });
    }
    expect((await save(service, { name: '.docx' })).status).toBe(400);
    expect((await service.call('generatePdf', { html, name: 'b.docx' })).status).toBe(400);
  });

  it('meets a taken name as the source says', async () => {
    const sources = Object.fromEntries(
      ['addNumber', 'replace', 'error'].map((strategy) => [strategy, { saveSameFileNameStrategy: strategy }]),
    );
    const service = await startService({ sources });
    const outcomes = [];
    for (const source of Object.keys(sources)) {
      await service.source(source).put({ 'a.docx': 'old' });
      const { status } = await save(service, { source });
      outcomes.push([status, await service.source(source).paths()]);
    }
    expect(outcomes).toEqual([
      [200, ['a-1.docx', 'a.docx']],
      [200, ['a.docx']],
      [400, ['a.docx']],
    ]);
    expect(await service.source('addNumber').text('a.docx')).toBe('old');
    expect(await wordsOf(service, 'a.docx', 'replace')).toBe('Minutes');
    expect(await service.source('error').text('a.docx')).toBe('old');
  });

  it.skipIf(noBrowser !== '')(`is inspected as the PDF file that it would become ${noBrowser}`, async () => {
    const seen: string[] = [];
    const service = await startService(
      {},
      {
        inspectUpload: async ({ name, mime, open }) => {
          seen.push(`${name} ${mime} ${(await buffer(open())).toString('latin1', 0, 5)}`);
          return 'Not stored.';
        },
      },
    );
    const answer = await service.call('generatePdf', { html, name: 'a' });
    expect(answer).toMatchObject({ status: 422, data: { error: 'REFUSED_BY_INSPECTION' } });
    expect(seen).toEqual(['a.pdf application/pdf %PDF-']);
    expect(await service.source('files').paths()).toEqual([]);
  });

  it('is told as a document and as a file', async () => {
    const events: ServiceEvent[] = [];
    const service = await startService({}, { onEvent: (event) => void events.push(event) });
    await save(service);
    const { length } = await service.source('files').bytes('a.docx');
    expect(events.map(({ type, source, path, bytes }) => [type, source, path, bytes])).toEqual([
      ['document.made', undefined, 'a.docx', length],
      ['file.created', 'files', 'a.docx', length],
    ]);
  });
});

describe('a document that may not be saved', () => {
  const refusals: readonly (readonly [string, ServiceOptions, Fields, number])[] = [
    ['by the rules', { accessControl: [{ FILE_UPLOAD: false }] }, {}, 403],
    ['there', { accessControl: [{ path: '/f', FILE_UPLOAD: false }] }, { path: 'f' }, 403],
    ['of this kind', { accessControl: [{ extensions: 'docx', FILE_UPLOAD: false }] }, {}, 403],
    ['in this source', { extensions: ['pdf'] }, {}, 403],
    ['in a folder that is missing', {}, { path: 'nowhere' }, 404],
    ['in a hidden folder', {}, { path: '_thumbs' }, 404],
    ['over a file', { saveSameFileNameStrategy: 'error' }, { name: 'taken' }, 400],
  ];

  it.each(refusals)('%s is not even made', async (_, options, fields, status) => {
    const asked: string[] = [];
    const service = await startService(options, { beforeEvent: ({ type }) => void asked.push(type) });
    const files = { 'f/': '', 'taken.docx': 'old' };
    await service.source('files').put(files);
    expect((await save(service, fields)).status).toBe(status);
    expect(asked).toEqual([]);
    expect(await service.source('files').paths()).toEqual(Object.keys(files));
    expect(await service.source('files').text('taken.docx')).toBe('old');
  });

  it('for its size, for want of room, or by the host leaves nothing behind', async () => {
    const service = await startService(
      {
        sources: {
          small: { maxUploadFileSize: 1000 },
          full: { quota: { bytes: 1000 } },
          files: {},
        },
      },
      {
        beforeEvent: ({ type, path }) => {
          if (path === `${type}.docx`) throw new HttpError(409, 'Not today.');
        },
      },
    );
    const outcomes = [];
    for (const [source, name] of [
      ['small', 'a'],
      ['full', 'a'],
      ['files', 'document.made'],
      ['files', 'file.created'],
    ] as const) {
      const { status, data } = await save(service, { source, name });
      outcomes.push([status, data['error'], await service.source(source).paths()]);
    }
    expect(outcomes).toEqual([
      [403, 'FILE_TOO_LARGE', []],
      [413, 'QUOTA_EXCEEDED', []],
      [409, 'REFUSED_BY_HOST', []],
      [409, 'REFUSED_BY_HOST', []],
    ]);
  });

  it('under another name of the host needs the rights of the action there', async () => {
    const beforeEvent = ({ type }: ServiceEvent) => (type === 'file.created' ? 'b.docx' : undefined);
    const accessControl = [{ path: '/b.docx', GENERATE_DOCX: false }];
    const service = await startService({ accessControl }, { beforeEvent });
    expect((await save(service)).status).toBe(403);
    expect(await service.source('files').paths()).toEqual([]);
  });

  it('is a change: not for HEAD, nor for pages of other sites', async () => {
    const service = await startService({ refuseCrossSite: true });
    const ask = async (method: string, query: string): Promise<number> =>
      (await fetch(`${service.url}/generateDocx?html=x${query}`, { method })).status;
    expect(await ask('HEAD', '&name=a')).toBe(405);
    expect(await ask('HEAD', '&name=%20')).toBe(200);
    expect(await ask('GET', '&name=a')).toBe(403);
    expect(await ask('GET', '')).toBe(200);
    expect(await service.source('files').paths()).toEqual([]);
  });

  it.each(['document.made', 'file.created'])('since nobody waits any more at %s', async (event) => {
    const folder = new Folder(await mkdtemp(join(tmpdir(), 'stowage-save-')));
    const client = new AbortController();
    const asked: string[] = [];
    const router = createRouter(
      { sources: { files: { title: 'Files', root: folder.root, baseurl: '/files/' } } },
      {
        beforeEvent: ({ type }) => {
          asked.push(type);
          if (type === event) client.abort();
        },
      },
    );
    onTestFinished(async () => {
      await router.close();
      await rm(folder.root, { recursive: true });
    });
    const request = new Request('http://a/generateDocx?html=x&name=a', { signal: client.signal });
    expect((await router.fetch(request)).ok).toBe(false);
    expect(asked.at(-1)).toBe(event);
    expect(await folder.paths()).toEqual([]);
  });
});

describe.skipIf(noBrowser)(`a PDF with a name ${noBrowser}`, () => {
  it('is saved too', async () => {
    const service = await startService();
    const { data } = await service.call('generatePdf', { html, name: 'report' });
    expect(data['files']).toEqual(['report.pdf']);
    expect((await service.source('files').text('report.pdf')).slice(0, 5)).toBe('%PDF-');
  });
});
