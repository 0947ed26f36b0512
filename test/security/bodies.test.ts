import { randomBytes } from 'node:crypto';
import { afterEach, describe, expect, it } from 'vitest';
import { ask, keepTemporaryFilesApart, leftovers, post, startEdge } from '../http/edge.ts';
import { fieldPart, filePart, formEnd, formOf, formType, part, RawConnection } from '../http/raw-http.ts';

keepTemporaryFilesApart();
const edge = await startEdge({ settings: { maxUploadFileSize: '2mb' } });

afterEach(async () => {
  // Whatever came in: nothing stays behind, nothing is held, and the service serves on.
  await expect.poll(leftovers).toEqual([]);
  await expect.poll(edge.leases).toBe(0);
  expect(await ask(edge, '/other')).toMatchObject({ status: 200 });
});

const refusals = async (init: RequestInit, path = '/keep') => {
  const { status, success, code, messages } = await ask(edge, path, init);
  expect([success, code]).toEqual([false, status]);
  expect(messages.join(' ')).not.toMatch(/\/|\bat\b.*:\d+|Error|undefined/u);
  return status;
};

const whole = filePart('files[0]', 'whole.png', randomBytes(200_000));
const crlf = '\r\n';

/**
 * @see CVE-2025-47935, CVE-2025-47944, CVE-2025-48997, CVE-2025-7338 (multer: dropped connections, malformed
 *   and empty names)
 * @see CVE-2022-24434 (dicer: a header that breaks the parser)
 */
describe('malformed forms', () => {
  const named = 'Content-Disposition: form-data; name="files[0]"; filename="a.png"';
  const malformed: Record<string, Buffer> = {
    'nothing at all': Buffer.from('nonsense'),
    'only the end': formEnd,
    'no end': Buffer.concat([whole]),
    'an end inside a file': whole.subarray(0, 100_000),
    'an end inside the headers': Buffer.concat([whole, Buffer.from('--line\r\nContent-Dispos')]),
    'an end after the first boundary': Buffer.from('--line\r\n'),
    'a header without a colon': Buffer.concat([whole, part('Content-Disposition', 'x'), formEnd]),
    'a header name of blanks': Buffer.concat([part(` : x${crlf}${named}`, 'x'), formEnd]),
    'a NUL in a header': Buffer.concat([part(`${named}${crlf}X: a\0b`, 'x'), formEnd]),
    'a NUL in the file name': Buffer.concat([part(named.replace('a.png', 'a\0.png'), 'x'), formEnd]),
    'a header line without CR': Buffer.concat([part(`${named}\nX: y`, 'x'), formEnd]),
    'a header of 1 MB': Buffer.concat([part(`${named}${crlf}X: ${'x'.repeat(1_000_000)}`, 'x'), formEnd]),
    'ten thousand headers': Buffer.concat([part(named + `${crlf}X: y`.repeat(10_000), 'x'), formEnd]),
    'a name that is empty': Buffer.concat([part('Content-Disposition: form-data; name=""', 'x'), formEnd]),
    'a file whose name is empty': Buffer.concat([
      whole,
      part('Content-Disposition: form-data; name=""; filename="a"', 'x'),
      formEnd,
    ]),
    'a file without a field': Buffer.concat([
      part('Content-Disposition: form-data; filename="a.png"', 'x'),
      formEnd,
    ]),
    'a field name of 2,000 characters': Buffer.concat([fieldPart('n'.repeat(2000), 'x'), formEnd]),
    'the sequence that broke dicer': Buffer.from('------line\r\n\r\n\r\n------line--\r\n'),
  };

  it.each(Object.keys(malformed))('%s', async (name) => {
    const body = malformed[name] ?? Buffer.alloc(0);
    const status = await ask(edge, '/keep', post(formType, new Uint8Array(body)));
    if (name === 'only the end') expect(status).toMatchObject({ status: 200, data: { uploads: [] } });
    else expect(status).toMatchObject({ status: 400, code: 400, success: false });
  });

  it.each([
    'multipart/form-data',
    'multipart/form-data; boundary',
    'multipart/form-data; boundary=',
    'multipart/form-data; boundary=""',
    `multipart/form-data; boundary=${'b'.repeat(500)}`,
    'multipart/form-data; boundary="unclosed',
    'multipart/form-data; charset=x; border=line',
  ])('%j as its type', async (type) => {
    expect(await refusals(post(type, new Uint8Array(Buffer.concat([whole, formEnd]))))).toBe(400);
  });

  it('skips parts that nothing can be made of', async () => {
    const answer = await ask(
      edge,
      '/keep',
      formOf(
        part('Content-Type: text/plain', 'no disposition'),
        part('Content-Disposition: attachment; name="path"', 'another disposition'),
        part(
          'Content-Disposition: form-data; name="files[0]"\r\nContent-Type: application/octet-stream',
          'no name',
        ),
        filePart('files[0]', '', ''),
        fieldPart('name', 'x'),
      ),
    );
    expect(answer).toMatchObject({ status: 200, data: { parameters: { name: 'x' }, uploads: [] } });
  });

  it('refuses names that contradict one another, and lists that begin far away', async () => {
    expect(await refusals(formOf(fieldPart('a[4294967294]', 'x')), '/echo')).toBe(400);
    expect(await refusals(formOf(fieldPart('a[99999]', 'x')), '/echo')).toBe(400);
    for (const fields of [
      ['a=1', 'a[b]=2', 'a[]=3'],
      ['a[]=1', 'a[b]=2'],
      ['a[0]=1', 'a[0][b]=2'],
      ['a[b]=1', 'a=2', 'a[b][c]=3'],
    ]) {
      const parts = fields.map((field) => fieldPart(...(field.split('=') as [string, string])));
      expect((await ask(edge, '/echo', formOf(...parts))).status).toBeLessThan(500);
    }
  });
});

describe('lists within lists', () => {
  it('are refused before anything is made of them', async () => {
    const name = (index: number) => `a${String(index)}${'[999]'.repeat(31)}`;
    const indexes = Array.from({ length: 600 }, (_, index) => index);
    const bodies = [
      formOf(...indexes.map((index) => fieldPart(name(index), 'x'))),
      post('application/x-www-form-urlencoded', indexes.map((index) => `${name(index)}=1`).join('&')),
      post('application/json', JSON.stringify(Object.fromEntries(indexes.map((index) => [name(index), 1])))),
      post('application/json', `{${indexes.map((index) => `"x${String(index)}[999]":1`).join(',')}}`),
    ];
    for (const body of bodies) {
      const { heapUsed } = process.memoryUsage();
      expect(await refusals(body, '/echo')).toBe(400);
      // As lists with holes they took hundreds of megabytes.
      expect(process.memoryUsage().heapUsed - heapUsed).toBeLessThan(50_000_000);
    }
  });
});

describe('forms that are too much', () => {
  it('takes 1,000 parts and refuses one more', async () => {
    const parts = (count: number) =>
      formOf(...Array.from({ length: count }, (_, index) => fieldPart(`p${String(index)}`, 'x')));
    expect(await ask(edge, '/other', parts(1000))).toMatchObject({ status: 200 });
    expect(await refusals(parts(1001), '/other')).toBe(413);
    const files = (count: number) =>
      formOf(...Array.from({ length: count }, () => filePart('files[]', 'a.png', 'x')));
    expect(await refusals(files(1001))).toBe(400);
  });

  it('takes 1 MB of text fields and refuses one byte more', async () => {
    const half = 'x'.repeat(512 * 1024);
    expect(await ask(edge, '/other', formOf(fieldPart('a', half), fieldPart('b', half)))).toMatchObject({
      status: 200,
    });
    expect(await refusals(formOf(fieldPart('a', half), fieldPart('b', `${half}x`)))).toBe(413);
    expect(await refusals(formOf(whole, fieldPart('a', 'x'.repeat(5_000_000))))).toBe(413);
  });

  it('does not read a form without an end for ever', async () => {
    const small = await startEdge({ settings: { maxUploadFileSize: 1000 } });
    const connection = await RawConnection.open(small.port);
    await connection.write(
      `POST /keep HTTP/1.1\r\nHost: a\r\nContent-Type: ${formType}\r\nTransfer-Encoding: chunked\r\n\r\n`,
    );
    const bytes = Buffer.alloc(1_000_000, 0x78);
    const chunk = Buffer.concat([
      Buffer.from(`${bytes.length.toString(16)}\r\n`),
      bytes,
      Buffer.from('\r\n'),
    ]);
    let sent = 0;
    while (sent < 200 && !connection.received.includes('\r\n\r\n') && (await connection.write(chunk)))
      sent += 1;
    expect((await connection.answer()).status).toBe(413);
    // A thousand files of 1,000 bytes, and room for what stands around them.
    expect(sent).toBeLessThan(60);
    connection.destroy();
  });
});

describe('a body that is cut off', () => {
  it.each([
    ['urlencoded', 'application/x-www-form-urlencoded', 'action=other&na'],
    ['JSON', 'application/json', '{"action":"ot'],
    ['multipart', formType, whole.subarray(0, 150_000)],
  ])('leaves no trace (%s)', async (_kind, type, start) => {
    const before = edge.log.length;
    for (let round = 0; round < 3; round += 1) {
      const connection = await RawConnection.open(edge.port);
      await connection.write(
        `POST /keep HTTP/1.1\r\nHost: a\r\nContent-Type: ${type}\r\nTransfer-Encoding: chunked\r\n\r\n`,
      );
      await connection.write(`${start.length.toString(16)}\r\n`);
      await connection.write(start);
      await expect.poll(edge.leases).toBe(1);
      connection.destroy();
      await expect.poll(edge.leases).toBe(0);
    }
    expect(edge.log.slice(before)).toEqual([]);
  });
});

/** @see CVE-2022-32213, CVE-2022-35256: requests that proxies and servers read differently */
describe('requests that are no HTTP', () => {
  it.each([
    ['nonsense', 'nonsense\r\n\r\n', 400],
    [
      'two lengths',
      'GET /other HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n',
      400,
    ],
    ['a negative length', 'POST /other HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n', 400],
    ['an endless URL', `GET /other?${'a'.repeat(50_000)} HTTP/1.1\r\nHost: a\r\n\r\n`, 431],
    ['an endless header', `GET /other HTTP/1.1\r\nHost: a\r\nX: ${'a'.repeat(50_000)}\r\n\r\n`, 431],
  ])('%s is refused in the envelope', async (_what, request, expected) => {
    const connection = await RawConnection.open(edge.port);
    await connection.write(request);
    const { status, text } = await connection.answer();
    expect(status).toBe(expected);
    expect(JSON.parse(text)).toMatchObject({ success: false, data: { code: expected } });
    await expect.poll(() => connection.isClosed).toBe(true);
  });
});
