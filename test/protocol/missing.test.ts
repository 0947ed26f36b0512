import { describe, expect, it } from 'vitest';
import { formOf, startService, type Fields } from './service.ts';

const FOLDER = 'The folder was not found.';
const FILE = 'The file was not found.';
const NO_FOLDER = ['nowhere', 'sub/nowhere', 'a.png', 'a.png/deep', '_thumbs'];

describe('a folder that does not exist, is a file, leads through one, or is reserved', () => {
  it.each<[action: string, fields: Fields]>([
    ['files', {}],
    ['folders', {}],
    ['fileDownload', { name: 'a.png' }],
    ['fileRemove', { name: 'a.png' }],
    ['imageLoad', { name: 'a.png' }],
    ['folderCreate', { name: 'new' }],
    ['imageResize', { name: 'a.png', 'box[w]': '1', 'box[h]': '1' }],
    ['fileUploadRemote', { url: 'https://files.invalid/a.png' }],
  ])('is 404 for %s', async (action, fields) => {
    const service = await startService();
    await service.source('files').put({ 'a.png': 'a', 'sub/': '', '_thumbs/a.png': 't' });
    for (const path of NO_FOLDER) {
      const { status, messages } = await service.call(action, { ...fields, path });
      expect([path, status, messages]).toEqual([path, 404, [FOLDER]]);
    }
  });

  it.each(['fileUpload', 'imageSave'])('is 404 for %s', async (action) => {
    const service = await startService();
    await service.source('files').put({ 'a.png': 'a', '_thumbs/a.png': 't' });
    for (const path of NO_FOLDER) {
      const body = formOf([['files[0]', 'b.png', 'b']], { path });
      const response = await fetch(`${service.url}/${action}`, { method: 'POST', body });
      expect([path, response.status, await response.json()]).toMatchObject([
        path,
        404,
        { data: { messages: [FOLDER] } },
      ]);
    }
  });

  it('is the parent of a folder that is to be removed', async () => {
    const service = await startService();
    await service.source('files').put({ 'sub/': '' });
    expect(await service.call('folderRemove', { path: 'nowhere', name: 'sub' })).toMatchObject({
      status: 404,
      messages: ['The parent folder was not found.'],
    });
    expect(await service.call('folderRemove', { path: 'sub', name: 'x' })).toMatchObject({
      status: 404,
      messages: [FOLDER],
    });
  });
});

describe('a file that does not exist, or that the source hides', () => {
  it.each(['b.png', 'a.exe', '_thumbs'])('is 404 in a folder that exists: %s', async (name) => {
    const service = await startService();
    await service.source('files').put({ 'sub/a.exe': 'a', 'sub/_thumbs/a.png': 't' });
    for (const action of ['fileDownload', 'fileRemove', 'imageLoad']) {
      const { status, messages } = await service.call(action, { path: 'sub', name });
      expect([action, status, messages]).toEqual([action, 404, [FILE]]);
    }
  });
});

describe('a parameter that is wrong', () => {
  it.each<[fields: Fields, message: string]>([
    [{ path: '', name: 'a.png', newname: ' ' }, 'The new name must not be empty.'],
    [{ path: '', name: '', newname: 'b' }, 'The name must not be empty.'],
    [{ path: '', name: 'a.png' }, 'The new name is required.'],
    [{ path: '..', name: 'a.png', newname: 'b' }, 'The path leaves the source.'],
  ])('is reported in words of the user: %j', async (fields, message) => {
    const service = await startService();
    expect(await service.call('fileRename', fields)).toMatchObject({ status: 400, messages: [message] });
  });
});
