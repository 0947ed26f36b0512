import { symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { S3Proxy } from '../../tools/test-servers/s3-proxy.ts';
import { S3Stub } from '../../tools/test-servers/s3-stub.ts';
import { startService } from './service.ts';

const baseurl = 'https://files.example/files/';

describe('fileUpload', () => {
  it('stores the files of a form and tells their paths from the root', async () => {
    const service = await startService();
    await service.source('files').put({ 'sub/deep/': '' });
    const answer = await service.upload(
      [
        ['files[0]', 'photo.png', 'pixels'],
        ['files[1]', 'notes.TXT', 'words'],
      ],
      { path: '/sub/deep/', source: 'files' },
    );
    expect(answer.status).toBe(200);
    expect(answer.success).toBe(true);
    expect(answer.data).toEqual({
      code: 220,
      baseurl,
      messages: [expect.stringContaining('photo.png'), expect.stringContaining('notes.TXT')],
      files: ['sub/deep/photo.png', 'sub/deep/notes.TXT'],
      isImages: [true, false],
      items: [expect.anything(), expect.anything()],
    });
    expect(await service.source('files').text('sub/deep/photo.png')).toBe('pixels');
    expect(await service.source('files').text('sub/deep/notes.TXT')).toBe('words');
  });

  it('takes files from every upload field and ignores all others', async () => {
    const service = await startService({ defaultFilesKey: 'picture' });
    const { data } = await service.upload([
      ['files[0]', 'a.txt', 'a'],
      ['files[]', 'b.txt', 'b'],
      ['files', 'c.txt', 'c'],
      ['picture', 'd.txt', 'd'],
      ['other', 'e.txt', 'e'],
      ['filesystem[0]', 'f.txt', 'f'],
    ]);
    expect(data['files']).toEqual(['a.txt', 'b.txt', 'c.txt', 'd.txt']);
    expect(await service.source('files').paths()).toEqual(['a.txt', 'b.txt', 'c.txt', 'd.txt']);
  });

  it('takes the form field that the source itself names', async () => {
    const sources = { one: {}, two: { defaultFilesKey: 'image' } };
    const service = await startService({ maxUploadFileSize: '1kb', sources });
    const { data } = await service.upload([['image', 'a.txt', 'a']], { source: 'two' });
    expect(data['baseurl']).toBe('https://files.example/two/');
    expect(await service.source('two').paths()).toEqual(['a.txt']);
    expect((await service.upload([['image', 'a.txt', 'a']], { source: 'one' })).status).toBe(400);
    expect(await service.source('one').paths()).toEqual([]);
    // To other sources it is one of the fields to ignore, whatever its file.
    const form = [
      ['image', 'big.exe', 'x'.repeat(2000)],
      ['files', 'b.txt', 'b'],
    ] as const;
    expect((await service.upload(form, { source: 'one' })).data).toMatchObject({ files: ['b.txt'] });
    const named = ['image', 'c.exe', 'x'] as const;
    expect((await service.upload([named, ['files', 'c.txt', 'c']])).data).toMatchObject({ files: ['c.txt'] });
    expect((await service.upload([named], { source: 'two' })).status).toBe(403);
  });

  it('goes to the first source when none is named, or «default» is', async () => {
    const service = await startService({ sources: { one: {}, two: {} } });
    for (const fields of [{}, { source: '' }, { source: 'default', path: '' }]) {
      expect((await service.upload([['files[0]', 'a.txt', 'a']], fields)).status).toBe(200);
    }
    expect(await service.source('one').paths()).toEqual(['a-1.txt', 'a-2.txt', 'a.txt']);
    expect(await service.source('two').paths()).toEqual([]);
  });

  it('stores names with unsafe characters replaced and everything else kept', async () => {
    const service = await startService();
    const { data } = await service.upload([
      ['files[0]', 'Grüße & 写真 (1) #2.png', 'a'],
      ['files[1]', '<img src=x onerror=alert(1)>.png', 'b'],
      ['files[2]', '100%;x.png', 'c'],
    ]);
    expect(data['files']).toEqual([
      'Grüße & 写真 (1) _2.png',
      '_img src=x onerror=alert(1)_.png',
      '100__x.png',
    ]);
    expect(data['messages']).toHaveLength(3);
    expect(JSON.stringify({ ...data, items: [] })).not.toMatch(/<|%|#/u);
  });

  it('answers 400 without files', async () => {
    const service = await startService();
    expect((await service.upload([])).status).toBe(400);
    expect((await service.upload([['other', 'a.txt', 'a']])).status).toBe(400);
    expect((await service.call('fileUpload')).status).toBe(400);
    expect((await service.get('fileUpload')).status).toBe(400);
  });

  it('names the setting of the client that sends a remote upload here', async () => {
    const service = await startService();
    const form = new FormData();
    form.append('action', 'fileUploadRemote');
    form.append('url', 'https://example.com/a.png');
    const response = await fetch(`${service.url}/?action=fileUpload`, { method: 'POST', body: form });
    const { data } = (await response.json()) as { data: { code: number; messages: string[] } };
    expect(response.status).toBe(400);
    expect(data.messages.join(' ')).toContain('uploader.url');
    expect(data.messages.join(' ')).toContain('uploader.data');
  });

  it('finds a free number in a bucket by one listing of that name, however much else is there', async () => {
    const stub = await S3Stub.start();
    const proxy = await S3Proxy.start(stub.endpoint);
    onTestFinished(async () => {
      await proxy.close();
      await stub.close();
    });
    const credentials = { accessKeyId: 'a', secretAccessKey: 'b' };
    const s3 = { endpoint: proxy.endpoint, bucket: 'bucket', region: 'x', credentials };
    const service = await startService({ sources: { files: { storageAdapter: 's3', s3 } } });
    const root = `${service.source('files').root.slice(1)}/`;
    const put = (name: string) => stub.put(root + name, 'x');
    for (let number = 0; number < 3000; number += 1) put(`other-${number}.txt`);
    for (let number = 1; number < 12; number += 1) put(`é-${number}.txt`.normalize('NFC'));
    put('é.txt'.normalize('NFC'));
    put('é-12.txt'.normalize('NFD'));
    const { data } = await service.upload([['files[0]', 'é.txt', 'new']]);
    expect(data).toMatchObject({ files: ['é-13.txt'.normalize('NFC')] });
    const listed = proxy.seen
      .filter(({ operation }) => operation === 'ListObjectsV2')
      .map(({ url }) => new URL(url, proxy.endpoint).searchParams)
      // A change looks at the first 200 entries of its folder.
      .filter((query) => query.has('delimiter') && query.get('max-keys') !== '200')
      .map((query) => query.get('prefix'));
    expect(listed).toEqual([`${root}é-`.normalize('NFC'), `${root}é-`.normalize('NFD')]);
  });

  it('answers 404 for an unknown source or folder and stores nothing', async () => {
    const service = await startService();
    expect((await service.upload([['files[0]', 'a.txt', 'a']], { source: 'nowhere' })).status).toBe(404);
    expect((await service.upload([['files[0]', 'a.txt', 'a']], { path: 'missing' })).status).toBe(404);
    expect((await service.upload([['files[0]', 'a.txt', 'a']], { path: '_thumbs' })).status).toBe(404);
    expect(await service.source('files').paths()).toEqual([]);
  });

  it('answers 404 when path is a file', async () => {
    const service = await startService();
    await service.source('files').put({ 'a.txt': 'old' });
    expect((await service.upload([['files[0]', 'b.txt', 'b']], { path: 'a.txt' })).status).toBe(404);
    expect(await service.source('files').paths()).toEqual(['a.txt']);
  });

  it('stores nothing when one of the files is refused', async () => {
    const service = await startService({ maxUploadFileSize: '1kb' });
    const good = ['files[0]', 'good.txt', 'fine'] as const;
    const refused = [
      { file: ['files[1]', 'bad.exe', 'x'] as const, status: 403 },
      { file: ['files[1]', 'big.txt', 'x'.repeat(1025)] as const, status: 403 },
      { file: ['files[1]', 'noextension', 'x'] as const, status: 403 },
      { file: ['files[1]', '.php', 'x'] as const, status: 403 },
      { file: ['files[1]', '.htaccess', 'x'] as const, status: 403 },
      { file: ['files[1]', '.user.ini', 'x'] as const, status: 403 },
      { file: ['files[1]', 'x.php.', 'x'] as const, status: 403 },
      { file: ['files[1]', 'x.php ', 'x'] as const, status: 403 },
      { file: ['files[1]', 'aux.png', 'x'] as const, status: 403 },
      { file: ['files[1]', '.hidden.png', 'x'] as const, status: 400 },
    ];
    for (const { file, status } of refused) {
      const answer = await service.upload([good, file]);
      expect(answer.status, file[1]).toBe(status);
      expect(answer.success).toBe(false);
      expect(answer.messages).toHaveLength(2);
      expect(answer.messages[1]).toMatch(/^Nothing was uploaded because of "/u);
    }
    expect(await service.source('files').paths()).toEqual([]);
  });

  it('stores many files of a form in its order, or none of them', async () => {
    const service = await startService({ maxUploadFileSize: '1mb' });
    const files = Array.from({ length: 40 }, (_, index) => {
      const content = String(index % 10).repeat(index % 5 === 0 ? 300_000 : index * 50);
      return [`files[${index}]`, index % 7 === 0 ? 'same.txt' : `small-${index}.txt`, content] as const;
    });
    const late = ['files[40]', 'late.txt', 'x'.repeat(1024 * 1024 + 1)] as const;
    const refused = await service.upload([...files, late, ...files.slice(0, 2)]);
    expect(refused.messages[1]).toContain('"late.txt"');
    expect(await service.source('files').paths()).toEqual([]);
    const { data } = await service.upload(files);
    const names = (data as { readonly files: readonly string[] }).files;
    expect(names.filter((name) => name.startsWith('small-'))).toEqual(
      files.map(([, name]) => name).filter((name) => name !== 'same.txt'),
    );
    for (const [index, name] of names.entries())
      expect(await service.source('files').text(name)).toBe(files[index]?.[2]);
  });

  it('reads quotes in a name as browsers write them', async () => {
    const service = await startService();
    // FormData escapes the quotes as every browser does: %22.
    await service.upload([['files[0]', 'the "best".txt', 'x']]);
    expect(await service.source('files').paths()).toEqual(['the _best_.txt']);
  });

  it('applies the limits and types of the source that is meant', async () => {
    const service = await startService({
      maxUploadFileSize: '1kb',
      sources: { small: {}, large: { maxUploadFileSize: '4kb', extensions: ['bin'] } },
    });
    const content = 'x'.repeat(4096);
    expect((await service.upload([['files[0]', 'a.bin', content]], { source: 'large' })).status).toBe(200);
    expect((await service.upload([['files[0]', 'a.txt', content]], { source: 'large' })).status).toBe(403);
    expect((await service.upload([['files[0]', 'a.bin', `${content}x`]], { source: 'large' })).status).toBe(
      403,
    );
    expect((await service.upload([['files[0]', 'a.txt', content]], { source: 'small' })).status).toBe(403);
    expect((await service.upload([['files[0]', 'a.bin', 'x']], { source: 'small' })).status).toBe(403);
    expect(await service.source('large').paths()).toEqual(['a.bin']);
    expect(await service.source('small').paths()).toEqual([]);
  });

  it('checks the limit of the source also when it is named after the file', async () => {
    const service = await startService({
      sources: { large: { maxUploadFileSize: '9kb' }, small: { maxUploadFileSize: '1kb' } },
    });
    const form = new FormData();
    form.append('files[0]', new Blob(['x'.repeat(2000)]), 'a.txt');
    form.append('source', 'small');
    const response = await fetch(`${service.url}/fileUpload`, { method: 'POST', body: form });
    expect(response.status).toBe(403);
    const fitting = new FormData();
    fitting.append('files[0]', new Blob(['x'.repeat(900)]), 'a.txt');
    fitting.append('source', 'small');
    expect((await fetch(`${service.url}/fileUpload`, { method: 'POST', body: fitting })).status).toBe(200);
    expect(await service.source('large').paths()).toEqual([]);
    expect(await service.source('small').text('a.txt')).toBe('x'.repeat(900));
  });

  it('finds the folder of a source that is named after the file', async () => {
    const service = await startService({ sources: { one: {}, two: {} } });
    await service.source('two').put({ 'sub/old.txt': '' });
    const form = new FormData();
    form.append('path', 'sub');
    form.append('files[0]', new Blob(['x'.repeat(3_000_000)]), 'a.txt');
    form.append('source', 'two');
    for (const query of ['', '?source=']) {
      const { status } = await fetch(`${service.url}/fileUpload${query}`, { method: 'POST', body: form });
      expect([query, status]).toEqual([query, 200]);
    }
    expect(await service.source('two').paths()).toEqual(['sub/', 'sub/a-1.txt', 'sub/a.txt', 'sub/old.txt']);
  });

  describe('when the name is taken', () => {
    it('takes the first free number by default, also among the files of one request', async () => {
      const service = await startService();
      await service
        .source('files')
        .put({ 'a.txt': 'old', 'a-1.txt': 'old', 'a-3.txt': 'old', 'a-4.txt/': '' });
      const { data } = await service.upload([
        ['files[0]', 'a.txt', 'first'],
        ['files[1]', 'a.txt', 'second'],
        ['files[2]', 'b.txt', 'third'],
        ['files[3]', 'b.txt', 'fourth'],
      ]);
      expect(data['files']).toEqual(['a-2.txt', 'a-5.txt', 'b.txt', 'b-1.txt']);
      expect(await service.source('files').text('a.txt')).toBe('old');
      expect(await service.source('files').text('a-2.txt')).toBe('first');
      expect(await service.source('files').text('a-5.txt')).toBe('second');
    });

    it('finds the first free number among many', async () => {
      const service = await startService();
      const taken = Array.from({ length: 500 }, (_, index) => [`a-${String(index + 1)}.txt`, 'old'] as const);
      await service
        .source('files')
        .put({ 'a.txt': 'old', ...Object.fromEntries(taken.filter(([name]) => name !== 'a-321.txt')) });
      expect((await service.upload([['files[0]', 'a.txt', 'new']])).data['files']).toEqual(['a-321.txt']);
      expect((await service.upload([['files[0]', 'a.txt', 'new']])).data['files']).toEqual(['a-501.txt']);
    });

    it('numbers names of 255 bytes without making them longer', async () => {
      const service = await startService();
      const name = `${'é'.repeat(125)}.jpeg`;
      const first = await service.upload([['files[0]', name, 'a']]);
      const second = await service.upload([['files[0]', name, 'b']]);
      expect(first.data['files']).toEqual([name]);
      expect(second.data['files']).toEqual([`${'é'.repeat(124)}-1.jpeg`]);
    });

    it('replaces with strategy replace', async () => {
      const service = await startService({ saveSameFileNameStrategy: 'replace' });
      await service.source('files').put({ 'a.txt': 'old' });
      const { data } = await service.upload([['files[0]', 'a.txt', 'new']]);
      expect(data['files']).toEqual(['a.txt']);
      expect(await service.source('files').text('a.txt')).toBe('new');
      expect(await service.source('files').paths()).toEqual(['a.txt']);
    });

    it('never replaces a folder, nor one file of the request by another', async () => {
      const service = await startService({ saveSameFileNameStrategy: 'replace' });
      await service.source('files').put({ 'dir.txt/inside.txt': 'kept' });
      expect((await service.upload([['files[0]', 'dir.txt', 'new']])).status).toBe(400);
      expect(await service.source('files').text('dir.txt/inside.txt')).toBe('kept');
      const { data } = await service.upload([
        ['files[0]', 'image.png', 'one'],
        ['files[1]', 'image.png', 'two'],
      ]);
      expect(data['files']).toEqual(['image.png', 'image-1.png']);
    });

    it.each([{}, { trash: { keepReplaced: true } }])('never replaces a link, with %j', async (more) => {
      const service = await startService({ saveSameFileNameStrategy: 'replace', ...more });
      await service.outside.put({ 'real.txt': 'kept' });
      await symlink('../real.txt', join(service.source('files').root, 'link.txt'));
      const answer = await service.upload([['files[0]', 'link.txt', 'new']]);
      expect([answer.status, answer.messages[0]]).toEqual([400, 'The file "link.txt" already exists.']);
      expect(await service.outside.text('real.txt')).toBe('kept');
    });

    it('keeps the old file when the upload that would replace it is refused', async () => {
      const service = await startService({ saveSameFileNameStrategy: 'replace', maxUploadFileSize: '1kb' });
      await service.source('files').put({ 'a.txt': 'old' });
      expect((await service.upload([['files[0]', 'a.txt', 'x'.repeat(2000)]])).status).toBe(403);
      const pair = await service.upload([
        ['files[0]', 'a.txt', 'new'],
        ['files[1]', 'b.exe', 'x'],
      ]);
      expect(pair.status).toBe(403);
      expect(await service.source('files').text('a.txt')).toBe('old');
    });

    it('refuses with strategy error and says why', async () => {
      const service = await startService({ saveSameFileNameStrategy: 'error' });
      await service.source('files').put({ 'a.txt': 'old' });
      const answer = await service.upload([
        ['files[0]', 'new.txt', 'new'],
        ['files[1]', 'a.txt', 'new'],
      ]);
      expect(answer.status).toBe(400);
      expect(answer.messages).toEqual([
        expect.stringMatching(/"a\.txt".*already exists/u),
        'Nothing was uploaded because of "a.txt".',
      ]);
      const twice = await service.upload([
        ['files[0]', 'b.txt', 'one'],
        ['files[1]', 'b.txt', 'two'],
      ]);
      expect(twice.status).toBe(400);
      expect(await service.source('files').paths()).toEqual(['a.txt']);
      expect(await service.source('files').text('a.txt')).toBe('old');
    });

    it('names each taken one with strategy error', async () => {
      const service = await startService({ saveSameFileNameStrategy: 'error' });
      await service.source('files').put({ 'a.txt': 'old', 'c.txt': 'old' });
      const answer = await service.upload([
        ['files[0]', 'a.txt', 'new'],
        ['files[1]', 'b.txt', 'new'],
        ['files[2]', 'c.txt', 'new'],
      ]);
      expect(answer.status).toBe(400);
      expect(answer.messages).toEqual([
        'The file "a.txt" already exists.',
        'The file "c.txt" already exists.',
        'Nothing was uploaded because of "a.txt".',
      ]);
      expect(await service.source('files').paths()).toEqual(['a.txt', 'c.txt']);
    });
  });

  it('asks the access rules for every file, by path and extension', async () => {
    const service = await startService({
      accessControl: [
        { path: '/closed', FILE_UPLOAD: false },
        { extensions: 'pdf', FILE_UPLOAD: false },
      ],
    });
    await service.source('files').put({ 'closed/': '', 'open/': '' });
    expect((await service.upload([['files[0]', 'a.txt', 'a']], { path: 'open/../closed/' })).status).toBe(
      403,
    );
    const mixed = await service.upload(
      [
        ['files[0]', 'a.txt', 'a'],
        ['files[1]', 'b.PDF', 'b'],
      ],
      { path: 'open' },
    );
    expect(mixed.status).toBe(403);
    expect(await service.source('files').paths()).toEqual(['closed/', 'open/']);
    expect((await service.upload([['files[0]', 'a.txt', 'a']], { path: 'open' })).status).toBe(200);
  });

  it('checks the numbered name that a file really gets', async () => {
    const service = await startService({ accessControl: [{ path: 'docs/a-1.pdf', FILE_UPLOAD: false }] });
    await service.source('files').put({ 'docs/a.pdf': 'old' });
    const { status } = await service.upload([['files[0]', 'a.pdf', 'new']], { path: 'docs' });
    expect(status).toBe(403);
    expect(await service.source('files').paths()).toEqual(['docs/', 'docs/a.pdf']);
  });

  it('replaces no file of the same request, whatever name that has got', async () => {
    const service = await startService({ saveSameFileNameStrategy: 'replace' });
    const { data } = await service.upload([
      ['files[0]', 'a.png', 'one'],
      ['files[1]', 'a.png', 'two'],
      ['files[2]', 'a-1.png', 'three'],
    ]);
    expect(data['files']).toEqual(['a.png', 'a-1.png', 'a-1-1.png']);
    const folder = service.source('files');
    expect([
      await folder.text('a.png'),
      await folder.text('a-1.png'),
      await folder.text('a-1-1.png'),
    ]).toEqual(['one', 'two', 'three']);
  });

  it('names a field that held a file and is none for uploads', async () => {
    const service = await startService();
    const { status, messages } = await service.upload([['document', 'a.txt', 'x']]);
    expect(status).toBe(400);
    expect(messages).toEqual([
      'No files were sent: the field "document" is not one for uploads. Use "files[]".',
    ]);
  });
});
