import { describe, expect, it } from 'vitest';
import { quarters } from '../pictures/pictures.ts';
import { startService, type Service } from '../protocol/service.ts';

const box = { 'box[w]': '2', 'box[h]': '2' };

/** Stores a picture as the work of an image editor. */
const save = (service: Service, picture: Buffer, field: 'name' | 'newname', name: string) => {
  const form = new FormData();
  form.append('files[0]', new Blob([new Uint8Array(picture)]), 'x.png');
  form.append(field, name);
  return fetch(`${service.url}/imageSave`, { method: 'POST', body: form });
};

/**
 * @see https://nvd.nist.gov/vuln/detail/CVE-2006-0658
 * @see https://httpd.apache.org/docs/2.4/mod/mod_mime.html#multipleext
 */
describe('names that a server could run by an inner extension', () => {
  it('keep one extension with forceSingleExtension, whatever gives them', async () => {
    const service = await startService({ forceSingleExtension: true });
    const files = service.source('files');
    const png = await quarters().png().toBuffer();
    expect((await service.upload([['files[0]', 'up.php.png', png]])).data['files']).toEqual(['up_php.png']);
    await files.put({ 'old.php.png': png, 'text.txt': 't' });
    await service.call('fileRename', { name: 'text.txt', newname: 'shell.phtml' });
    await service.call('imageResize', { name: 'up_php.png', newname: 'small.php', ...box });
    await save(service, png, 'newname', 'saved.php.png');
    expect(await files.paths()).toEqual([
      'old.php.png',
      'saved_php.png',
      'shell_phtml.txt',
      'small_php.png',
      'up_php.png',
    ]);
  });

  it('leave what is there within reach', async () => {
    const service = await startService({ forceSingleExtension: true });
    const files = service.source('files');
    await files.put({ 'old.v2.png': await quarters(9, 9).png().toBuffer() });
    expect(
      (await service.call('imageResize', { name: 'old.v2.png', newname: 'old.v2.png', ...box })).status,
    ).toBe(200);
    const saved = await quarters(4, 4).png().toBuffer();
    await save(service, saved, 'name', 'old.v2.png');
    expect(await files.paths()).toEqual(['old.v2.png']);
    expect(await files.bytes('old.v2.png')).toEqual(saved);
    expect((await service.call('fileRemove', { name: 'old.v2.png' })).status).toBe(200);
  });

  it('stay as they are without it', async () => {
    const service = await startService();
    await service.upload([['files[0]', 'photo.v2.png', 'x']]);
    expect(await service.source('files').paths()).toEqual(['photo.v2.png']);
  });
});
