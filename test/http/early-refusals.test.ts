import { describe, expect, it } from 'vitest';
import { startService, type Service } from '../protocol/service.ts';
import { fieldPart, filePart, formEnd, formType, RawConnection } from './raw-http.ts';

/** Sends the head and the first bytes of a large form; the rest never comes. */
const beginUpload = async (service: Service, query: string, filename: string, more = '') => {
  const connection = await RawConnection.open(Number(new URL(service.url).port));
  const head = `Host: a\r\nContent-Type: ${formType}\r\nContent-Length: 50000000\r\n${more}`;
  await connection.write(`POST /fileUpload${query} HTTP/1.1\r\n${head}\r\n`);
  if (more === '') await connection.write(filePart('files[0]', filename, 'first bytes').subarray(0, -2));
  return connection;
};

describe('an upload that is refused in the end', () => {
  it.each([
    ['for its type', '', 'x.exe', 403, 'TYPE_NOT_ALLOWED'],
    ['for its folder', '?path=private', 'a.png', 403, 'ACCESS_DENIED'],
    ['because its folder is missing', '?path=missing', 'a.png', 404, 'NOT_FOUND'],
    ['because its folder is outside of the source', '?path=..', 'a.png', 400, 'INVALID_PARAMETERS'],
  ])('is refused before it is sent: %s', async (_why, query, filename, status, error) => {
    const service = await startService({ accessControl: [{ path: '/private', FILE_UPLOAD: false }] });
    await service.source('files').put({ 'private/': '' });
    const connection = await beginUpload(service, query, filename);
    const answer = await connection.answer();
    expect([answer.status, JSON.parse(answer.text)]).toMatchObject([
      status,
      { data: { code: status, error } },
    ]);
    connection.destroy();
    expect(await service.source('files').paths()).toEqual(['private/']);
  });

  it('is refused before its first file is sent where the form names the action', async () => {
    const service = await startService({ accessControl: [{ FILE_UPLOAD: false }] });
    const connection = await RawConnection.open(Number(new URL(service.url).port));
    const head = `Host: a\r\nContent-Type: ${formType}\r\nContent-Length: 50000000`;
    await connection.write(`POST / HTTP/1.1\r\n${head}\r\n\r\n`);
    await connection.write(fieldPart('action', 'fileUpload'));
    await connection.write(filePart('files[0]', 'a.png', 'first bytes').subarray(0, -2));
    expect((await connection.answer()).status).toBe(403);
    connection.destroy();
  });

  it('is not told to go on when it asks', async () => {
    const service = await startService({ accessControl: [{ FILE_UPLOAD: false }] });
    const connection = await beginUpload(service, '', 'a.png', 'Expect: 100-continue\r\n');
    expect((await connection.answer()).status).toBe(403);
    expect(connection.received).not.toContain('100 Continue');
    connection.destroy();
  });
});

describe('an upload that is allowed', () => {
  it('is told to go on when it asks', async () => {
    const service = await startService();
    const connection = await RawConnection.open(Number(new URL(service.url).port));
    const form = Buffer.concat([filePart('files[0]', 'a.txt', 'text'), formEnd]);
    const head = `Host: a\r\nContent-Type: ${formType}\r\nContent-Length: ${String(form.length)}`;
    await connection.write(`POST /fileUpload HTTP/1.1\r\n${head}\r\nExpect: 100-continue\r\n\r\n`);
    await expect.poll(() => connection.received).toBe('HTTP/1.1 100 Continue\r\n\r\n');
    await connection.write(form);
    await expect.poll(() => connection.received).toContain('HTTP/1.1 200 ');
    connection.destroy();
    expect(await service.source('files').paths()).toContain('a.txt');
  });
});

describe('a form that names its source after its files', () => {
  const send = (service: Service, source: string): Promise<Response> => {
    const form = new FormData();
    form.append('path', 'there');
    // Long enough that the source is not known yet when the file begins.
    form.append('files[0]', new File(['text'.repeat(500_000)], 'a.txt'));
    form.append('source', source);
    return fetch(`${service.url}/fileUpload`, { method: 'POST', body: form });
  };

  it('is refused by the rules of that source alone', async () => {
    const service = await startService({
      sources: { pictures: { extensions: ['png'] }, texts: { extensions: ['txt'] } },
    });
    await service.source('texts').put({ 'there/': '' });
    expect((await send(service, 'texts')).status).toBe(200);
    expect(await service.source('texts').paths()).toEqual(['there/', 'there/a.txt']);
    expect((await send(service, 'pictures')).status).toBe(403);
    expect(await service.source('pictures').paths()).toEqual([]);
  });
});
