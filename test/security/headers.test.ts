import { Readable } from 'node:stream';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { HttpError } from 'stowage';
import { FileResponse, InvalidParametersError, contentDisposition, forBoth } from '#internals';
import type { Action } from '../../packages/stowage/dist/actions/action.js';
import { json, startEdge } from '../http/edge.ts';

const action = (name: string, run: Action['run']): Action => ({
  name,
  summary: 'For tests.',
  methods: ['GET', 'POST'],
  keys: forBoth('TRY'),
  changes: false,
  takesFiles: false,
  parameters: z.object({ name: z.string() }),
  result: z.object({}),
  run,
});

const nameOf = (parameters: unknown): string => (parameters as { name: string }).name;

const actions = [
  action(
    'send',
    async (_context, parameters) =>
      new FileResponse({
        filename: nameOf(parameters),
        contentType: 'application/octet-stream',
        stat: { size: 1, modifiedAt: undefined, etag: undefined },
        open: async () => Readable.from(Buffer.from('x'), { objectMode: false }),
      }),
  ),
  action('refuse', async (_context, parameters) => {
    throw new InvalidParametersError(nameOf(parameters));
  }),
  action('reject', async (_context, parameters) => {
    throw new HttpError(403, nameOf(parameters));
  }),
];

const edge = await startEdge({ actions });
const get = (path: string, name: string) => fetch(edge.url + path, json({ name }));

const nasty = [
  'a"b.png',
  'a\r\nSet-Cookie: stolen=1\r\n\r\n<script>.png',
  'a\nb',
  'a;filename=evil.html',
  'a\\"; filename="b.exe',
  '%22%0d%0a.png',
  'naïve — 写真 😀.png',
  '\u0000\u0001.png',
  '\u202egpj.exe',
  '\ud800.png',
  "it's*a=b.png",
  ' ',
  '',
];

/** @see CVE-2019-16760 class: names that end a header and begin another */
describe('names in headers', () => {
  it.each(nasty)('%j cannot leave Content-Disposition', async (name) => {
    const response = await get('/send', name);
    expect(response.status).toBe(200);
    expect(response.headers.get('set-cookie')).toBeNull();
    const header = response.headers.get('content-disposition') ?? '';
    expect(header).toMatch(
      /^attachment; filename="[^"\\%]*"(?:; filename\*=UTF-8''[\w!#$&+.^`|~%'()*-]*)?$/u,
    );
  });

  it.each(nasty)('%j cannot leave the reason phrase', async (name) => {
    for (const path of ['/refuse', '/reject']) {
      const response = await get(path, name);
      expect([400, 403]).toContain(response.status);
      expect(response.headers.get('set-cookie')).toBeNull();
      expect(response.statusText).toMatch(/^[\x20-\x7e]{1,120}$/u);
    }
  });

  /** @see https://www.rfc-editor.org/rfc/rfc8187 */
  it('gives back exactly the name that went in', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', minLength: 1 }), (name) => {
        const header = contentDisposition('attachment', name);
        const exact = /filename\*=UTF-8''(.*)$/u.exec(header)?.[1];
        const plain = /filename="([^"]*)"/u.exec(header)?.[1];
        expect(exact === undefined ? plain : decodeURIComponent(exact)).toBe(name);
        expect(header).toMatch(/^[\x20-\x7e]+$/u);
      }),
    );
  });
});

/** @see CVE-2019-14315 (a callback parameter reflected as a script) */
describe('answers', () => {
  it('are JSON and nothing else, whatever is asked for', async () => {
    const script = '<script>alert(1)</script>';
    for (const query of [
      `CKEditorFuncNum=1${script}&name=${script}`,
      `callback=${script}`,
      `action=${script}`,
      `jsonp=alert`,
    ]) {
      const response = await fetch(`${edge.url}/?${query}`, { headers: { accept: 'text/html' } });
      expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8');
      expect(response.headers.get('x-content-type-options')).toBe('nosniff');
      expect(await response.text()).not.toContain('script');
    }
  });

  it('are not kept by caches', async () => {
    expect((await get('/refuse', 'x')).headers.get('cache-control')).toBe('no-store');
    expect((await get('/send', 'x')).headers.get('cache-control')).toBe('private, no-cache, no-transform');
  });
});
