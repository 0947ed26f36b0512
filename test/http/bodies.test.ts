import { createHash, randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { deflateSync, gzipSync, brotliCompressSync } from 'node:zlib';
import { afterEach, describe, expect, it } from 'vitest';
import { stageContent } from 'stowage/storage';
import { MemoryAdapter } from '#internals';
import { memoryInUse } from '../memory-in-use.ts';
import { replacing } from '../protocol/changing-store.ts';
import {
  ask,
  form,
  json,
  keepTemporaryFilesApart,
  leftovers,
  post,
  removeLeftovers,
  startEdge,
} from './edge.ts';
import { fieldPart, filePart, formOf, part, RawConnection, formType, formEnd } from './raw-http.ts';

keepTemporaryFilesApart();

const LIMIT = 102_400;

const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

afterEach(async () => {
  try {
    await expect.poll(leftovers).toEqual([]);
  } finally {
    // What one test leaves must not be waited for by all that follow.
    await removeLeftovers();
  }
});

/** A JSON body of exactly this many bytes. */
const jsonOfSize = (bytes: number): string => `{"html":"${'x'.repeat(bytes - 11)}"}`;

describe('JSON bodies', () => {
  it.each([
    ['an empty body', '', {}],
    ['blanks', ' \n', {}],
    ['a list', '[1,2]', {}],
    ['an empty object', '{}', {}],
    ['a byte order mark', '\ufeff{"name":"a"}', { name: 'a' }],
  ])('takes %s', async (_what, text, expected) => {
    const answer = await ask(await startEdge(), '/echo', post('application/json', text));
    expect(answer).toMatchObject({ status: 200, data: { parameters: expected } });
  });

  it.each(['{', '{"a":1', 'nonsense', '"text"', '7', 'null', 'true', '{"a":1}x', "{'a':1}"])(
    'refuses %j',
    async (text) => {
      const answer = await ask(await startEdge(), '/echo', post('application/json', text));
      expect(answer).toMatchObject({ status: 400, code: 400, success: false });
    },
  );

  it('rejects bytes that are not UTF-8, and other charsets', async () => {
    const edge = await startEdge();
    const broken = Buffer.from([0x7b, 0x22, 0x61, 0x22, 0x3a, 0x22, 0xff, 0x22, 0x7d]);
    expect(await ask(edge, '/echo', post('application/json', broken))).toMatchObject({ status: 400 });
    const utf16 = Buffer.from('{"a":1}', 'utf16le');
    expect(await ask(edge, '/echo', post('application/json; charset=utf-16le', utf16))).toMatchObject({
      status: 400,
    });
    const named = post('Application/JSON ; Charset="UTF-8"', '{"name":"ф"}');
    expect(await ask(edge, '/echo', named)).toMatchObject({ data: { parameters: { name: 'ф' } } });
  });

  it('takes 102,400 bytes and refuses one more', async () => {
    const edge = await startEdge();
    expect(await ask(edge, '/other', post('application/json', jsonOfSize(LIMIT)))).toMatchObject({
      status: 200,
    });
    const over = await ask(edge, '/other', post('application/json', jsonOfSize(LIMIT + 1)));
    expect(over).toMatchObject({ status: 413, code: 413 });
  });

  it('bears ten thousand levels', async () => {
    const text = '[{"a":'.repeat(10_000) + '1' + '}]'.repeat(10_000);
    const answer = await ask(await startEdge(), '/other', post('application/json', `{"a":${text}}`));
    expect(answer).toMatchObject({ status: 400 });
  });
});

describe('urlencoded bodies', () => {
  it('takes 102,400 bytes and refuses one more', async () => {
    const edge = await startEdge();
    expect(await ask(edge, '/other', form(`a=${'x'.repeat(LIMIT - 2)}`))).toMatchObject({ status: 200 });
    expect(await ask(edge, '/other', form(`a=${'x'.repeat(LIMIT - 1)}`))).toMatchObject({ status: 413 });
  });

  it('reads what Jodit sends', async () => {
    const init = post(
      'application/x-www-form-urlencoded; charset=UTF-8',
      'action=echo&source=default&path=&name=%D0%B0+b%2Bc&mods%5BwithFolders%5D=true',
    );
    const { data } = await ask(await startEdge(), '/', init);
    expect(data['parameters']).toEqual({
      action: 'echo',
      source: 'default',
      path: '',
      name: 'а b+c',
      mods: { withFolders: 'true' },
    });
  });
});

describe('bodies in general', () => {
  it('says nothing when its type carries no parameters', async () => {
    const edge = await startEdge();
    for (const type of ['text/plain', 'application/xml', 'text/json', 'multipart/mixed; boundary=x', 'x']) {
      const answer = await ask(edge, '/?action=echo', post(type, 'action=other&name=x'));
      expect(answer).toMatchObject({ status: 200, data: { parameters: { action: 'echo' } } });
      // A form of another site can send text/plain without asking first: it must not name an action.
      expect(await ask(edge, '/', post(type, '{"action":"other"}'))).toMatchObject({ status: 404 });
    }
  });

  it('reads JSON and urlencoded bodies of GET requests', async () => {
    const edge = await startEdge();
    for (const [type, body] of [
      ['application/json', '{"name":"a"}'],
      ['application/x-www-form-urlencoded', 'name=a'],
    ] as const) {
      const connection = await RawConnection.open(edge.port);
      const head = `GET /echo HTTP/1.1\r\nHost: a\r\nContent-Type: ${type}\r\nContent-Length: ${String(body.length)}`;
      await connection.write(`${head}\r\n\r\n${body}`);
      const { status, text } = await connection.answer();
      expect(status).toBe(200);
      expect(JSON.parse(text)).toMatchObject({ data: { parameters: { name: 'a' } } });
      connection.destroy();
    }
    // The client keeps its content type for GET, without a body.
    const headers = { 'content-type': 'application/x-www-form-urlencoded; charset=UTF-8' };
    expect(await ask(edge, '/other?name=x', { headers })).toMatchObject({ status: 200 });
    const multipart = { headers: { 'content-type': 'multipart/form-data' } };
    expect(await ask(edge, '/other', multipart)).toMatchObject({ status: 200 });
  });

  it.each([
    ['gzip', gzipSync],
    ['deflate', deflateSync],
    ['br', brotliCompressSync],
  ])('reads %s within the limit', async (encoding, compress) => {
    const edge = await startEdge();
    const send = (bytes: Uint8Array) =>
      ask(edge, '/echo', {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'content-encoding': encoding },
        body: Buffer.from(bytes),
      });
    expect(await send(compress(Buffer.from('{"name":"a"}')))).toMatchObject({
      status: 200,
      data: { parameters: { name: 'a' } },
    });
    expect(await send(compress(Buffer.from(jsonOfSize(LIMIT))))).toMatchObject({ status: 200 });
    expect(await send(compress(Buffer.from(jsonOfSize(LIMIT + 1))))).toMatchObject({ status: 413 });
    expect(await send(compress(Buffer.alloc(5_000_000, 0x20)))).toMatchObject({ status: 413 });
    const whole = compress(Buffer.from('{"name":"a"}'));
    expect(await send(whole.subarray(0, whole.length - 3))).toMatchObject({ status: 400 });
    expect(await send(Buffer.alloc(1000, 0xff))).toMatchObject({ status: 400 });
  });

  it('refuses encodings that it does not read', async () => {
    const edge = await startEdge();
    for (const encoding of ['zstd', 'gzip, gzip', 'nonsense']) {
      const headers = { 'content-type': 'application/json', 'content-encoding': encoding };
      expect(await ask(edge, '/other', { method: 'POST', headers, body: '{}' })).toMatchObject({
        status: 400,
      });
    }
    const init = formOf(fieldPart('name', 'a'));
    const headers = { ...(init.headers as Record<string, string>), 'content-encoding': 'gzip' };
    expect(await ask(edge, '/other', { ...init, headers })).toMatchObject({ status: 400 });
  });
});

describe('forms', () => {
  it('takes fields before and after the files, and the files in their order', async () => {
    const big = randomBytes(300_000);
    const { data, status } = await ask(
      await startEdge(),
      '/',
      formOf(
        fieldPart('path', 'a/ф'),
        filePart('files[0]', 'фото "1".png'.replaceAll('"', '%22'), big),
        filePart('files[1]', 'b.png', 'bb'),
        fieldPart('mods[x]', '1'),
        filePart('files[]', 'c.png', ''),
        filePart('files', 'd.png', 'dddd'),
        filePart('default', 'e.png', 'e'),
        filePart('avatar', 'not-mine.png', randomBytes(200_000)),
        fieldPart('action', 'keep'),
      ),
    );
    expect(status).toBe(200);
    expect(data['parameters']).toEqual({ path: 'a/ф', mods: { x: '1' }, action: 'keep' });
    const sized = (data['uploads'] as { field: string; filename: string; size: number }[]).map(
      ({ field, filename, size }) => [field, filename, size],
    );
    expect(sized).toEqual([
      ['files[0]', 'фото "1".png', 300_000],
      ['files[1]', 'b.png', 2],
      ['files[]', 'c.png', 0],
      ['files', 'd.png', 4],
      ['default', 'e.png', 1],
    ]);
    expect((data['uploads'] as { sha256: string }[])[0]?.sha256).toBe(sha256(big));
  });

  it('takes the field that a source names for its files', async () => {
    const edge = await startEdge({ sources: { a: {}, b: { defaultFilesKey: 'picture' } } });
    const { data } = await ask(
      edge,
      '/keep',
      formOf(filePart('picture', 'a.png', 'x'), filePart('image', 'b.png', 'x')),
    );
    expect(data['uploads']).toMatchObject([{ field: 'picture' }]);
  });

  it('skips the files of an action that takes none', async () => {
    const edge = await startEdge();
    const parts = [filePart('files[0]', 'a.png', randomBytes(500_000)), fieldPart('name', 'x')];
    for (const path of ['/echo', '/?action=echo']) {
      const { status, data } = await ask(edge, path, formOf(...parts));
      expect([status, data['uploads']]).toEqual([200, []]);
    }
    const late = await ask(edge, '/', formOf(...parts, fieldPart('action', 'other')));
    expect(late).toMatchObject({ status: 200, data: { other: true } });
    expect(await ask(edge, '/unknown', formOf(...parts))).toMatchObject({ status: 404 });
  });

  it.each([
    ['C:\\pictures\\a.png', 'a.png'],
    ['../../etc/a.png', 'a.png'],
    ['/abs/a.png', 'a.png'],
    ['..\\..\\a.png', 'a.png'],
  ])('keeps the last segment of %j', async (sent, kept) => {
    const { data } = await ask(await startEdge(), '/keep', formOf(filePart('files[0]', sent, 'x')));
    expect(data['uploads']).toMatchObject([{ filename: kept }]);
  });

  it('prefers filename* and decodes it once', async () => {
    const edge = await startEdge();
    const named = async (rest: string) => {
      const head = `Content-Disposition: form-data; name="files[0]"; ${rest}`;
      const { data } = await ask(edge, '/keep', formOf(part(head, 'x')));
      return (data['uploads'] as { filename: string }[]).map(({ filename }) => filename);
    };
    expect(await named(`filename="a.png"; filename*=UTF-8''%D1%84.png`)).toEqual(['ф.png']);
    expect(await named(`filename*=UTF-8''..%2f..%2fb.png; filename="a.png"`)).toEqual(['b.png']);
    expect(await named(`filename*=UTF-8''%252e%252e%252fc.png`)).toEqual(['%2e%2e%2fc.png']);
    // Nothing is left of these: no file.
    expect(await named(`filename*=UTF-8''..%2f`)).toEqual([]);
    expect(await named(`filename=".."`)).toEqual([]);
    expect(await named(`filename=""`)).toEqual([]);
  });

  it('stops a file at the limit of its source', async () => {
    const sources = { small: { maxUploadFileSize: 1000 }, large: { maxUploadFileSize: '2mb' } };
    const edge = await startEdge({ sources });
    const upload = (bytes: number, ...fields: readonly Buffer[]) =>
      formOf(...fields, filePart('files[0]', 'a.png', randomBytes(bytes)));
    expect(await ask(edge, '/keep?source=small', upload(1000))).toMatchObject({ status: 200 });
    const over = await ask(edge, '/keep?source=small', upload(1001));
    expect(over).toMatchObject({
      status: 403,
      code: 403,
      messages: [
        'The file "a.png" is too large: at most 1000B are allowed.',
        'Nothing was uploaded because of "a.png".',
      ],
    });
    expect(await ask(edge, '/keep', upload(1001, fieldPart('source', 'small')))).toMatchObject({
      status: 403,
    });
    expect(await ask(edge, '/keep?source=large', upload(1_000_000))).toMatchObject({ status: 200 });
    // A later field may still name the other source: the largest limit holds until then.
    expect(await ask(edge, '/keep', upload(1_000_000))).toMatchObject({ status: 200 });
    expect(await ask(edge, '/keep', upload(3_000_000))).toMatchObject({ status: 403 });
    expect(await ask(edge, '/keep?source=nowhere', upload(10))).toMatchObject({ status: 404 });
  });

  it('discards the files before one that is too large', async () => {
    const edge = await startEdge({ settings: { maxUploadFileSize: 1000 } });
    const good = filePart('files[0]', 'a.png', randomBytes(900));
    const bad = filePart('files[1]', 'b.png', randomBytes(5000));
    expect(await ask(edge, '/keep', formOf(good, bad, good))).toMatchObject({ status: 403 });
    await expect.poll(edge.leases).toBe(0);
  });

  it('refuses a denied upload before its bytes are read', async () => {
    const edge = await startEdge({ rules: [{ KEEP: false }] });
    const connection = await RawConnection.open(edge.port);
    await connection.write(
      `POST /?action=keep HTTP/1.1\r\nHost: a\r\nContent-Type: ${formType}\r\nContent-Length: 50000000\r\n\r\n`,
    );
    const { status, text } = await connection.answer();
    expect(status).toBe(403);
    expect(JSON.parse(text)).toMatchObject({ success: false, data: { code: 403 } });
    connection.destroy();
    const named = formOf(fieldPart('action', 'keep'), filePart('files[0]', 'a.png', 'x'));
    expect(await ask(edge, '/', named)).toMatchObject({ status: 403 });
  });
});

describe('a client that is refused or leaves', () => {
  it('reads the answer although it goes on sending', async () => {
    const edge = await startEdge({ settings: { maxUploadFileSize: 1000 } });
    const size = 8_000_000;
    const connection = await RawConnection.open(edge.port);
    const start = filePart('files[0]', 'a.png', '').subarray(0, -2);
    await connection.write(
      `POST /keep HTTP/1.1\r\nHost: a\r\nContent-Type: ${formType}\r\nContent-Length: ${String(size)}\r\n\r\n`,
    );
    await connection.write(start);
    let sent = start.length;
    const chunk = randomBytes(1_000_000);
    while (sent < size) {
      const next = chunk.subarray(0, Math.min(chunk.length, size - sent));
      // Every byte is taken: the connection is not reset under the client.
      expect(await connection.write(next)).toBe(true);
      sent += next.length;
    }
    const { status, text } = await connection.answer();
    expect(status).toBe(403);
    expect(JSON.parse(text)).toMatchObject({ data: { code: 403 } });
    expect(connection.received).toMatch(/connection: close/iu);
    await expect.poll(() => connection.isClosed).toBe(true);
  });

  it('leaves nothing when it goes in the middle of a file', async () => {
    const edge = await startEdge();
    for (let round = 0; round < 5; round += 1) {
      const connection = await RawConnection.open(edge.port);
      await connection.write(
        `POST /keep HTTP/1.1\r\nHost: a\r\nContent-Type: ${formType}\r\nContent-Length: 9000000\r\n\r\n`,
      );
      await connection.write(filePart('files[0]', 'whole.png', randomBytes(100_000)));
      await connection.write(filePart('files[1]', 'half.png', randomBytes(200_000 * round)).subarray(0, -2));
      await expect.poll(async () => (await leftovers()).length).toBeGreaterThan(0);
      connection.destroy();
      await expect.poll(leftovers).toEqual([]);
    }
    await expect.poll(edge.leases).toBe(0);
    // What a client does to itself is no error of the service.
    expect(edge.log.filter(({ level }) => level !== 'debug')).toEqual([]);
    expect(await ask(edge, '/other')).toMatchObject({ status: 200 });
  });

  it('waits with small files too while the store is busy', async () => {
    let proceed: () => void = () => undefined;
    const waiting = new Promise<void>((resolve) => (proceed = resolve));
    const inner = new MemoryAdapter();
    const storage = replacing(inner, {
      stage: async (...input) => {
        await waiting;
        return stageContent(inner, ...input);
      },
    });
    const edge = await startEdge({ storage });
    const connection = await RawConnection.open(edge.port);
    const file = filePart('files[]', 'a.png', Buffer.alloc(60_000));
    const length = 990 * file.length + formEnd.length;
    await connection.write(
      `POST /keep HTTP/1.1\r\nHost: a\r\nContent-Type: ${formType}\r\nContent-Length: ${String(length)}\r\n\r\n`,
    );
    let taken = 0;
    const sending = (async () => {
      for (let index = 0; index < 990; index += 1) {
        await connection.write(file);
        taken += file.length;
      }
      await connection.write(formEnd);
    })();
    await pause(2000);
    // The form is 60 MB; what the system keeps on the way counts too.
    expect(taken).toBeLessThan(25_000_000);
    proceed();
    await sending;
    const { status, text } = await connection.answer();
    expect(status).toBe(200);
    // So long an answer comes in chunks.
    const json = text.replaceAll(/(?:^|\r\n)[\da-f]+\r\n/gu, '').trim();
    expect((JSON.parse(json) as { data: { uploads: unknown[] } }).data.uploads).toHaveLength(990);
    connection.destroy();
  }, 30_000);

  it('slows the client down when the store is slow', async () => {
    const edge = await startEdge({ settings: { maxUploadFileSize: '1gb' } });
    const before = memoryInUse().arrayBuffers;
    const connections = await Promise.all(
      Array.from({ length: 4 }, async () => {
        const connection = await RawConnection.open(edge.port);
        await connection.write(
          `POST /keep HTTP/1.1\r\nHost: a\r\nContent-Type: ${formType}\r\nTransfer-Encoding: chunked\r\n\r\n`,
        );
        return connection;
      }),
    );
    const size = 1_000_000;
    const MEGABYTES = 15;
    const chunk = Buffer.concat([
      Buffer.from(`${size.toString(16)}\r\n`),
      randomBytes(size),
      Buffer.from('\r\n'),
    ]);
    const chunked = (data: Buffer) =>
      Buffer.concat([Buffer.from(`${data.length.toString(16)}\r\n`), data, Buffer.from('\r\n')]);
    let peak = 0;
    await Promise.all(
      connections.map(async (connection) => {
        await connection.write(chunked(filePart('files[0]', 'a.png', '').subarray(0, -2)));
        for (let index = 0; index < MEGABYTES; index += 1) {
          await connection.write(chunk);
          // Each measurement collects the garbage, which costs more than the chunk.
          if (index % 5 === 4) peak = Math.max(peak, memoryInUse().arrayBuffers - before);
        }
        await connection.write(chunked(Buffer.concat([Buffer.from('\r\n'), formEnd])));
        await connection.write('0\r\n\r\n');
        const { status, text } = await connection.answer();
        expect(status).toBe(200);
        expect(JSON.parse(text)).toMatchObject({ data: { uploads: [{ size: MEGABYTES * size }] } });
        connection.destroy();
      }),
    );
    // 60 MB went through; what was held at any moment is a part of it.
    expect(peak).toBeLessThan(24_000_000);
    await pause(0);
  }, 120_000);
});

describe('a JSON body without an end', () => {
  it('is refused at the limit, chunked and without a length', async () => {
    const edge = await startEdge();
    const connection = await RawConnection.open(edge.port);
    await connection.write(
      'POST /echo HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n',
    );
    const chunk = `1000\r\n${'x'.repeat(4096)}\r\n`;
    let sent = 0;
    while (!connection.received.includes('\r\n\r\n') && sent < 100) {
      await connection.write(chunk);
      await pause(1);
      sent += 1;
    }
    const { status } = await connection.answer();
    expect(status).toBe(413);
    expect(sent).toBeLessThan(40);
    connection.destroy();
  });

  it('is refused by its announced length before a byte has come', async () => {
    const edge = await startEdge();
    const connection = await RawConnection.open(edge.port);
    await connection.write(
      'POST /echo HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 102401\r\n\r\n',
    );
    expect((await connection.answer()).status).toBe(413);
    connection.destroy();
    expect(await ask(edge, '/echo', json({ name: 'a' }))).toMatchObject({ status: 200 });
  });
});
