import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import { catalogues, detailedMessages, english, errorTable } from '../../dist/internals.js';
import { formOf, startService, type FormFile } from '../protocol/service.ts';

const placeholders = (text: string): readonly string[] =>
  [...text.matchAll(/\{\w+\}/gu)].map(([placeholder]) => placeholder).sort();

describe.each(Object.entries(catalogues))('the catalogue %s', (language, catalogue) => {
  it('has a message for every code, and one with values where English has one', () => {
    expect(Object.keys(catalogue.messages).sort()).toEqual(Object.keys(errorTable).sort());
    expect(Object.keys(catalogue.detailed).sort()).toEqual(Object.keys(detailedMessages).sort());
    for (const part of ['messages', 'detailed'] as const) {
      for (const [code, text] of Object.entries<string>(catalogue[part])) {
        const original = (english[part] as Readonly<Record<string, string>>)[code] ?? '';
        expect([code, placeholders(text)]).toEqual([code, placeholders(original)]);
        expect(text.trim()).not.toBe('');
        if (language !== 'en') expect([code, text]).not.toEqual([code, original]);
      }
    }
    expect(placeholders(catalogue.nothingUploaded)).toEqual([]);
    expect(placeholders(catalogue.nothingUploadedBecause)).toEqual(['{name}']);
  });
});

const ask = async (
  query: string,
  header?: string,
  files: readonly FormFile[] = [['files[0]', 'a.txt', 'x'.repeat(2000)]],
): Promise<{
  readonly response: Response;
  readonly messages: readonly string[];
  readonly details: unknown;
}> => {
  const service = await startService({ maxUploadFileSize: '1kb' });
  const response = await fetch(`${service.url}/fileUpload${query}`, {
    method: 'POST',
    body: formOf(files),
    headers: header === undefined ? {} : { 'accept-language': header },
  });
  const { data } = (await response.json()) as { data: { messages: string[]; details?: unknown } };
  expect(await service.source('files').paths()).toEqual([]);
  return { response, messages: data.messages, details: data.details };
};

describe('the language of errors', () => {
  it.each([
    ['?language=de', undefined, 'de', 'Die Datei „a.txt“ ist zu groß: Erlaubt sind höchstens 1KB.'],
    ['?language=fr', 'de', 'fr', 'Le fichier « a.txt » est trop volumineux : 1KB au maximum.'],
    ['?language=xx', 'es-MX', 'es', 'El archivo «a.txt» es demasiado grande: se permiten 1KB como máximo.'],
    ['', 'fi, en;q=0.1, ru;q=0.5', 'ru', 'Файл «a.txt» слишком большой: разрешено не более 1KB.'],
    ['?language=zh_cn', undefined, 'zh', '文件“a.txt”过大：最多允许 1KB。'],
    ['', 'zh-Hant-TW', 'zh', '文件“a.txt”过大：最多允许 1KB。'],
    ['', 'fi', null, 'The file "a.txt" is too large: at most 1KB are allowed.'],
    ['', 'de;q=0, *', null, 'The file "a.txt" is too large: at most 1KB are allowed.'],
  ])('is the one of %s and %s', async (query, header, language, message) => {
    const { response, messages, details } = await ask(query, header);
    expect(messages[0]).toBe(message);
    expect(details).toEqual({ name: 'a.txt', limit: '1KB' });
    expect(response.headers.get('content-language')).toBe(language);
    const byHeader = language !== null && !query.includes(`=${language}`);
    expect(response.headers.get('vary')?.includes('Accept-Language') ?? false).toBe(byHeader);
    expect(response.statusText).toBe(
      /^[\x20-\x7e]+$/u.test(message) ? message : 'The file "a.txt" is too large: at most 1KB are allowed.',
    );
  });

  it('has details of what is refused', async () => {
    const { messages, details } = await ask('?language=de', undefined, [['files[0]', 'a.exe', 'x']]);
    expect(messages[0]).toBe('„a.exe“: Dieser Dateityp ist nicht erlaubt.');
    expect(details).toEqual({ name: 'a.exe', extension: 'exe' });
  });

  it('says once that something is missing, whichever of file and folder it is', async () => {
    const service = await startService();
    for (const action of ['files', 'fileRemove', 'folderRemove', 'fileMove', 'imageVariant']) {
      const fields = { path: 'gone', name: 'gone', from: 'gone', preset: 'gone', language: 'de' };
      const { status, messages } = await service.call(action, fields);
      expect([action, status, messages]).toEqual([action, 404, ['Datei oder Ordner nicht gefunden.']]);
    }
  });

  it('has one message for one problem, which names the parameters that are not valid', async () => {
    const { messages } = await ask('?language=de', undefined, []);
    expect(messages).toEqual(['Die Anfrage ist nicht gültig. (files)']);
    const service = await startService();
    const { data } = await service.call('fileRename', { path: 'a', language: 'de_DE' });
    expect(data).toMatchObject({
      messages: ['Die Anfrage ist nicht gültig. (name, newname)'],
      details: { parameters: 'name, newname' },
    });
  });
});

describe('a refused form of several files', () => {
  it('names a file as it was sent, when it would have been stored under another name', async () => {
    const sources = { files: { extensions: ['png'], uploadImages: { format: 'webp' } } } as const;
    const service = await startService({ sources });
    const red = { create: { width: 2, height: 2, channels: 3, background: 'red' } } as const;
    const picture = new Uint8Array(await sharp(red).png().toBuffer());
    const files: FormFile[] = [
      ['files[0]', 'a.png', picture],
      ['files[1]', 'b.png', picture],
    ];
    const { messages } = await service.upload(files);
    expect(messages).toEqual([
      '"a.webp": this file type is not allowed.',
      'Nothing was uploaded because of "a.png".',
    ]);
  });

  it.each([
    [['a.txt', 'b.exe', 'c.txt'], 'b.exe'],
    [['a.exe', 'b.txt'], 'a.exe'],
    [['a.txt', 'b.svg'], 'b.svg'],
  ])('says that nothing was uploaded, and why: %s', async (names, name) => {
    const files = names.map((one, index): FormFile => [`files[${String(index)}]`, one, 'words']);
    expect((await ask('', undefined, files)).messages.at(-1)).toBe(
      `Nothing was uploaded because of "${name}".`,
    );
    const german = await ask('?language=de', undefined, files);
    expect(german.messages.at(-1)).toBe(`Wegen „${name}“ wurde nichts hochgeladen.`);
    expect(german.details).toMatchObject({ name });
  });
});
