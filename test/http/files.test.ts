import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { ChangedMeanwhileError } from 'stowage/storage';
import { FileResponse, defineAction } from '#internals';
import { ask, fileBytes, fileVersion, startEdge } from './edge.ts';

const LAST_MODIFIED = 'Fri, 02 Jan 2026 03:04:05 GMT';
const EARLIER = 'Fri, 02 Jan 2026 03:04:04 GMT';
const LATER = 'Fri, 02 Jan 2026 03:04:06 GMT';
const { etag } = fileVersion;
const size = fileBytes.length;

const edge = await startEdge();

const get = async (headers: Record<string, string> = {}, method = 'GET') => {
  const response = await fetch(`${edge.url}/download`, { method, headers });
  return {
    status: response.status,
    headers: response.headers,
    body: Buffer.from(await response.arrayBuffer()),
  };
};

describe('a file', () => {
  it('comes whole, as an attachment that nothing can run', async () => {
    const { status, headers, body } = await get();
    expect(status).toBe(200);
    expect(body.equals(fileBytes)).toBe(true);
    expect(Object.fromEntries(headers)).toMatchObject({
      'content-type': 'application/octet-stream',
      'content-length': String(size),
      'accept-ranges': 'bytes',
      'last-modified': LAST_MODIFIED,
      'x-content-type-options': 'nosniff',
      'content-security-policy': 'sandbox',
      'content-disposition': `attachment; filename="na_ve _file_.bin"; filename*=UTF-8''na%C3%AFve%20%22file%22.bin`,
      etag,
    });
  });

  it('comes by POST the same way, without ranges and conditions', async () => {
    const { status, body } = await get({ range: 'bytes=0-1', 'if-none-match': etag }, 'POST');
    expect([status, body.length]).toEqual([200, size]);
  });

  it('tells HEAD all but the bytes', async () => {
    const { status, headers, body } = await get({}, 'HEAD');
    expect([status, headers.get('content-length'), body.length]).toEqual([200, String(size), 0]);
    expect((await get({ range: 'bytes=0-1' }, 'HEAD')).status).toBe(200);
    expect((await get({ 'if-none-match': etag }, 'HEAD')).status).toBe(304);
  });
});

/** @see https://www.rfc-editor.org/rfc/rfc9110#section-14 */
describe('ranges', () => {
  it.each([
    ['bytes=0-0', 0, 0],
    ['bytes=10-19', 10, 19],
    ['bytes=99990-', 99_990, 99_999],
    ['bytes=99990-200000', 99_990, 99_999],
    ['bytes=-10', 99_990, 99_999],
    ['bytes=-200000', 0, 99_999],
    ['BYTES=5-6', 5, 6],
  ])('answers %s with a part', async (range, start, end) => {
    const { status, headers, body } = await get({ range });
    expect(status).toBe(206);
    expect(headers.get('content-range')).toBe(`bytes ${String(start)}-${String(end)}/${String(size)}`);
    expect(headers.get('content-length')).toBe(String(end - start + 1));
    expect(body.equals(fileBytes.subarray(start, end + 1))).toBe(true);
  });

  it.each(['bytes=5-4', 'bytes=a-b', 'bytes=-', 'bytes=', 'items=0-1', '0-1', 'bytes=0-1,5-6', 'bytes 0-1'])(
    'ignores %j',
    async (range) => {
      const { status, body } = await get({ range });
      expect([status, body.length]).toEqual([200, size]);
    },
  );

  it.each([`bytes=${String(size)}-`, 'bytes=100001-100002', 'bytes=-0', 'bytes=99999999999999999999-'])(
    'refuses %s with 416 and the size',
    async (range) => {
      const { status, headers, body } = await get({ range });
      expect(status).toBe(416);
      expect(headers.get('content-range')).toBe(`bytes */${String(size)}`);
      expect(JSON.parse(body.toString())).toMatchObject({ success: false, data: { code: 416 } });
    },
  );

  it.each([
    [etag, 206],
    ['"v2"', 200],
    [`W/${etag}`, 200],
    [LAST_MODIFIED, 206],
    [EARLIER, 200],
    [LATER, 200],
    ['nonsense', 200],
  ])('with If-Range %s answers %d', async (ifRange, status) => {
    expect((await get({ range: 'bytes=0-9', 'if-range': ifRange })).status).toBe(status);
  });
});

/** @see https://www.rfc-editor.org/rfc/rfc9110#section-13 */
describe('conditions', () => {
  it.each<[Record<string, string>, number]>([
    [{ 'if-none-match': etag }, 304],
    [{ 'if-none-match': `W/${etag}` }, 304],
    [{ 'if-none-match': `"a,b", ${etag}` }, 304],
    [{ 'if-none-match': '*' }, 304],
    [{ 'if-none-match': '"v2"' }, 200],
    [{ 'if-none-match': '"v2"', 'if-modified-since': LATER }, 200],
    [{ 'if-modified-since': LAST_MODIFIED }, 304],
    [{ 'if-modified-since': LATER }, 304],
    [{ 'if-modified-since': EARLIER }, 200],
    [{ 'if-modified-since': 'nonsense' }, 200],
    [{ 'if-match': etag }, 200],
    [{ 'if-match': '*' }, 200],
    [{ 'if-match': `W/${etag}` }, 412],
    [{ 'if-match': '"v2"' }, 412],
    [{ 'if-match': etag, 'if-unmodified-since': EARLIER }, 200],
    [{ 'if-unmodified-since': LAST_MODIFIED }, 200],
    [{ 'if-unmodified-since': EARLIER }, 412],
    [{ 'if-unmodified-since': 'Sunday, 06-Nov-94 08:49:37 GMT' }, 412],
    [{ 'if-unmodified-since': 'Sun Nov  6 08:49:37 1994' }, 412],
    [{ 'if-unmodified-since': '0' }, 200],
    [{ 'if-unmodified-since': '1994-11-06' }, 200],
    [{ 'if-match': '"v2"', 'if-none-match': etag }, 412],
    [{ 'if-none-match': etag, range: 'bytes=0-9' }, 304],
  ])('%j -> %d', async (headers, status) => {
    const answer = await get(headers);
    expect(answer.status).toBe(status);
    if (status !== 304) return;
    expect(answer.body.length).toBe(0);
    expect(answer.headers.get('etag')).toBe(etag);
    expect(answer.headers.get('last-modified')).toBe(LAST_MODIFIED);
  });

  it('know that a file without versions has changed since a time before, also when it is recent', async () => {
    const recent = defineAction({
      name: 'recent',
      summary: 'For tests.',
      changes: false,
      parameters: z.object({}),
      result: { contentType: 'text/plain' },
      run: async () =>
        new FileResponse({
          filename: 'a.txt',
          contentType: 'text/plain',
          stat: { size: 1, etag: undefined, modifiedAt: Date.now() },
          open: async () => Buffer.from('1'),
        }),
    });
    const { url } = await startEdge({ actions: [recent] });
    const status = async (headers: Record<string, string>) =>
      (await fetch(`${url}/recent`, { headers })).status;
    expect(await status({ 'if-unmodified-since': EARLIER })).toBe(412);
    expect(await status({ 'if-modified-since': new Date(Date.now() + 9000).toUTCString() })).toBe(200);
  });

  it('keeps these statuses in the status line whatever errorHttpStatus says', async () => {
    const quiet = await startEdge({ settings: { errorHttpStatus: false } });
    const status = async (headers: Record<string, string>) =>
      (await fetch(`${quiet.url}/download`, { headers })).status;
    expect(await status({ range: 'bytes=999999-' })).toBe(416);
    expect(await status({ 'if-match': '"v2"' })).toBe(412);
    expect(await status({ 'if-none-match': etag })).toBe(304);
  });
});

it('fails a condition at once: a request that cannot be met does not look for the file again', async () => {
  let runs = 0;
  const counted = defineAction({
    name: 'counted',
    summary: 'For tests.',
    changes: false,
    parameters: z.object({}),
    result: { contentType: 'text/plain' },
    run: async () => {
      runs += 1;
      const stat = { size: 1, etag: '"1"', modifiedAt: 0 };
      return new FileResponse({
        filename: 'a.txt',
        contentType: 'text/plain',
        stat,
        open: async () => Buffer.from('1'),
      });
    },
  });
  const { url } = await startEdge({ actions: [counted] });
  const response = await fetch(`${url}/counted`, { headers: { 'if-match': '"2"' } });
  expect([response.status, runs]).toEqual([412, 1]);
});

describe('a file that is replaced between its headers and its bytes', () => {
  /** Every version lasts until it is described; the one of this number stays. */
  const replacedUntil = (lasting: number) => {
    let version = 0;
    return defineAction({
      name: 'moving',
      summary: 'For tests.',
      changes: false,
      parameters: z.object({}),
      result: { contentType: 'text/plain' },
      run: async () => {
        version += 1;
        const own = version;
        return new FileResponse({
          filename: 'a.txt',
          contentType: 'text/plain',
          stat: { size: 1, etag: `"${String(own)}"`, modifiedAt: 0 },
          open: async () => {
            if (own < lasting) throw new ChangedMeanwhileError();
            return Readable.from([Buffer.from(String(own))]);
          },
        });
      },
    });
  };

  it('starts over, so that headers and bytes are of one version', async () => {
    const moving = await startEdge({ actions: [replacedUntil(3)] });
    const response = await fetch(`${moving.url}/moving`);
    expect([response.status, response.headers.get('etag'), await response.text()]).toEqual([200, '"3"', '3']);
  });

  it('is given up when that goes on', async () => {
    const moving = await startEdge({ actions: [replacedUntil(4)] });
    expect(await ask(moving, '/moving')).toMatchObject({
      status: 412,
      data: { error: 'CHANGED_MEANWHILE' },
    });
  });
});
