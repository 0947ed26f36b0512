import { readdirSync, readFileSync } from 'node:fs';
import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import { catalogues, detailedMessages, english, errorTable, translated } from '#internals';
import { formOf, startService, type FormFile } from '../protocol/service.ts';

const placeholders = (text: string): readonly string[] =>
  [...text.matchAll(/\{\w+\}/gu)].map(([placeholder]) => placeholder).sort();

it('has a catalogue for each file of messages', () => {
  const files = readdirSync('packages/stowage/src/errors/languages').filter((file) => file.endsWith('.json'));
  const others = Object.keys(catalogues).filter((language) => language !== 'en');
  expect(others.map((language) => `${language}.json`).sort()).toEqual(files.sort());
});

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

/** English texts of pages, clients and programs that are wrong, for the developer alone. */
const forDevelopers = [
  /cursor|given up|at most|ISO 8601|margin|NUL|one to four|leave room|only once|what an answer|same search/u,
  /must (?:be 1 or more|hold|end in|be 90|be horizontal)/u,
  /parameters?\b|items of a list|drawing takes/iu,
];

describe('the phrases of a language', () => {
  const phrases = Object.entries(catalogues).flatMap(([language, catalogue]) =>
    'phrases' in catalogue ? [[language, catalogue.phrases] as const] : [],
  );

  it('has the values of the English text in each', () => {
    expect(phrases.map(([language]) => language)).toEqual(
      Object.keys(catalogues).filter((language) => language !== 'en'),
    );
    for (const [language, texts] of phrases) {
      expect([language, Object.keys(texts).sort()]).toEqual([
        language,
        Object.keys(phrases[0]?.[1] ?? {}).sort(),
      ]);
      for (const [english, text] of Object.entries<string>(texts)) {
        expect([language, english, placeholders(text)]).toEqual([language, english, placeholders(english)]);
        expect([english, text.trim()]).not.toEqual([english, '']);
        const filled = (template: string) => template.replaceAll(/\{(\w+)\}/gu, '<$1>');
        expect([language, translated(texts, filled(english))]).toEqual([language, filled(text)]);
      }
    }
  });

  it('has one for each text of a parameter, a picture and a document', () => {
    const [[, german] = []] = phrases;
    const source = ['actions', 'parameters', 'pictures', 'documents']
      .flatMap((folder) =>
        readdirSync(`packages/stowage/src/${folder}`, { recursive: true, encoding: 'utf8' }).map(
          (name) => `packages/stowage/src/${folder}/${name}`,
        ),
      )
      .filter((path) => path.endsWith('.ts'))
      .map((path) => readFileSync(path, 'utf8'))
      .join('\n');
    const texts = [
      ...source.matchAll(/'(must [^'\n]+|is required)'/gu),
      ...source.matchAll(/new (?:BrokenImage|InvalidParameters|DocumentLimit)Error\(\s*'([^'\n]+)'/gu),
    ].map(([, text = '']) => text);
    expect(texts.length).toBeGreaterThan(30);
    const missing = texts.filter(
      (text) =>
        german !== undefined &&
        translated(german, text.endsWith('.') ? text : `x: ${text}`) === undefined &&
        !forDevelopers.some((pattern) => pattern.test(text)),
    );
    expect(missing).toEqual([]);
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

describe('the language of what has been done', () => {
  it.each([
    ['de', 'Die Datei „a.svg“ wurde hochgeladen. Skripte', 'Der Ordner „f“ wurde angelegt.'],
    ['fi', 'The file "a.svg" was uploaded. Scripts', 'The folder "f" was created.'],
  ])('is %s', async (language, uploaded, created) => {
    const service = await startService();
    const headers = { 'accept-language': language };
    const said = async (action: string, body: BodyInit): Promise<string | undefined> => {
      const answer = await fetch(`${service.url}/${action}`, { method: 'POST', headers, body });
      expect(answer.status).toBe(200);
      return ((await answer.json()) as { data: { messages: string[] } }).data.messages[0];
    };
    const drawing = '<svg xmlns="http://www.w3.org/2000/svg"><script>a()</script></svg>';
    expect(await said('fileUpload', formOf([['files[0]', 'a.svg', drawing]]))).toContain(uploaded);
    expect(await said('folderCreate', new URLSearchParams({ name: 'f' }))).toBe(created);
  });
});

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
    expect(messages).toEqual(['Es wurden keine Dateien gesendet.']);
    const service = await startService();
    const { data } = await service.call('fileRename', { path: 'a', language: 'de_DE' });
    expect(data).toMatchObject({
      messages: ['Name: muss angegeben werden', 'Neuer Name: muss angegeben werden'],
      details: { parameters: 'name, newname' },
    });
    const crop = await service.call('imageCrop', { language: 'de' });
    expect(crop.messages).toEqual([
      'Name: muss angegeben werden',
      'Die Anfrage ist nicht gültig. (name, box)',
    ]);
  });
});

describe('the exact problem', () => {
  it.each([
    [
      'imageResize',
      { name: 'a.png', 'box[w]': 'x', 'box[h]': '0' },
      ['Breite: muss eine Zahl sein', 'Höhe: muss größer als null sein'],
    ],
    ['files', { 'mods[sortBy]': 'x' }, undefined],
    ['folderCreate', { name: ' ' }, ['Der Name darf nicht leer sein.']],
    [
      'fileDownload',
      { name: 'a.txt', 'names[]': 'b.txt' },
      ['Name: darf nicht zusammen mit names angegeben werden'],
    ],
    ['fileRemove', { name: 'a/b' }, ['Name: muss ein einzelner Name sein']],
    ['fileRemove', { name: 'folder' }, ['Das ist ein Ordner, keine Datei.']],
    ['files', { path: '../..' }, undefined],
  ])('is told in German by %s %j', async (action, fields, messages) => {
    const service = await startService();
    await service.source('files').put({ 'a.txt': 'a', 'folder/': '' });
    const english = await service.call(action, fields);
    const german = await service.call(action, { ...fields, language: 'de' });
    expect(german.status).toBe(english.status);
    if (messages !== undefined) expect(german.messages).toEqual(messages);
    expect(german.messages).toHaveLength(english.messages.length);
    if (!english.success) expect(german.messages).not.toEqual(english.messages);
  });

  it('names a file that is not an image, and says how much room is left', async () => {
    const broken = await startService({ uploadImages: { maxWidth: 20 } });
    const half = new Uint8Array([137, 80, 78, 71, 13, 10, 26, 10, 0, 0]);
    const picture = await broken.upload([['files[0]', 'a.png', half]]);
    expect([picture.status, picture.messages[0]]).toEqual([
      400,
      '"a.png": this file is not an image that can be processed.',
    ]);
    const service = await startService({ sources: { files: { quota: { bytes: 1000 } } } });
    await service.upload([['files[0]', 'a.txt', 'x'.repeat(100)]]);
    for (const size of [1000, 3_000_000]) {
      const large = await service.upload([['files[0]', 'b.txt', 'x'.repeat(size)]]);
      expect(large.messages[0]).toBe('There is not enough room left here: 900B of 1000B are free.');
      expect(large.data).toMatchObject({
        error: 'QUOTA_EXCEEDED',
        details: { left: '900B', limit: '1000B' },
      });
    }
  });

  it('blames a closed folder, and no file for it', async () => {
    const accessControl = [{ role: '*', path: '/closed', FILE_UPLOAD: false }];
    const service = await startService({ accessControl });
    await service.source('files').put({ 'closed/': '' });
    const form = new FormData();
    form.append('path', 'closed');
    for (const name of ['a.txt', 'b.txt']) form.append('files[]', new Blob(['x']), name);
    const response = await fetch(`${service.url}/fileUpload`, { method: 'POST', body: form });
    expect(await response.json()).toMatchObject({ data: { code: 403, messages: ['Access denied.'] } });
  });
});

describe('a refused form of several files', () => {
  it('names a file as it was sent, when it would have been stored under another name', async () => {
    const service = await startService({
      saveSameFileNameStrategy: 'error',
      uploadImages: { format: 'webp' },
    });
    await service.source('files').put({ 'a.webp': 'older' });
    const red = { create: { width: 2, height: 2, channels: 3, background: 'red' } } as const;
    const picture = new Uint8Array(await sharp(red).png().toBuffer());
    const files: FormFile[] = [
      ['files[0]', 'a.png', picture],
      ['files[1]', 'b.png', picture],
    ];
    const { messages } = await service.upload(files);
    expect(messages).toEqual([
      'The file "a.webp" already exists.',
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
