import { describe, expect, it } from 'vitest';
import { shareOfDay } from '../before-release.ts';
import { noBrowser, noPoppler, pageSizes, textOf } from '../documents/pdf-tools.ts';
import { shareService, startService, type Fields, type Service } from './service.ts';

const shared = shareService();

const generate = async (service: Service, fields: Fields) => {
  const response = await fetch(`${service.url}/generatePdf`, {
    method: 'POST',
    body: new URLSearchParams(fields),
  });
  return {
    status: response.status,
    headers: response.headers,
    bytes: new Uint8Array(await response.arrayBuffer()),
  };
};

const expectSize = (bytes: Uint8Array, width: number, height: number): void => {
  const sizes = pageSizes(bytes);
  expect(sizes.length).toBeGreaterThan(0);
  for (const size of sizes) {
    expect(Math.abs(size[0] - width)).toBeLessThan(0.5);
    expect(Math.abs(size[1] - height)).toBeLessThan(0.5);
  }
};

describe.skipIf(noBrowser)(`generatePdf ${noBrowser}`, () => {
  it('sends a file named document.pdf', async () => {
    const service = shared();
    const { status, headers, bytes } = await generate(service, { html: '<h1>Hello</h1>' });
    expect(status).toBe(200);
    expect(headers.get('content-type')).toBe('application/pdf');
    expect(headers.get('content-disposition')).toBe('attachment; filename="document.pdf"');
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(Number(headers.get('content-length'))).toBe(bytes.length);
    expect(Buffer.from(bytes).toString('latin1', 0, 5)).toBe('%PDF-');
    expectSize(bytes, 210, 297);
  });

  it('makes the page of every format and orientation, to the millimetre', async () => {
    const service = shared();
    const inch = 25.4;
    const formats = {
      A4: [210, 297],
      A3: [297, 420],
      Letter: [8.5 * inch, 11 * inch],
      Legal: [8.5 * inch, 14 * inch],
      Tabloid: [11 * inch, 17 * inch],
    } as const;
    const sizes = Object.entries(formats).flatMap(([format, [width, height]]) => [
      [{ 'options[format]': format }, width, height] as const,
      [{ 'options[format]': format, 'options[page_orientation]': 'landscape' }, height, width] as const,
    ]);
    for (const [options, width, height] of [
      [{ 'options[page_orientation]': 'landscape' }, 297, 210] as const,
      ...shareOfDay(3, sizes),
    ])
      expectSize((await generate(service, { html: '<p>text</p>', ...options })).bytes, width, height);
  });

  it('takes its parameters from JSON, the query and a form, and answers on the root too', async () => {
    const service = shared();
    const json = await fetch(service.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ action: 'generatePdf', html: '<p>a</p>', options: { format: 'A3' } }),
    });
    expectSize(new Uint8Array(await json.arrayBuffer()), 297, 420);
    const query = await service.get('generatePdf', { html: '<p>a</p>', 'options[format]': 'A3' });
    expectSize(new Uint8Array(await query.arrayBuffer()), 297, 420);
    const form = new FormData();
    // More than a urlencoded body may hold.
    form.append('html', `<p>${'word '.repeat(40_000)}</p>`);
    const large = await fetch(`${service.url}/generatePdf`, { method: 'POST', body: form });
    expect(pageSizes(new Uint8Array(await large.arrayBuffer())).length).toBeGreaterThan(10);
  });

  it.runIf(process.getuid?.() === 0)(
    'fails where the browser would lack a sandbox that is required',
    async () => {
      const service = await startService({ documents: { browserSandbox: 'required' } });
      expect((await generate(service, { html: '<p>text</p>' })).status).toBe(500);
    },
  );

  it.skipIf(noPoppler)(`holds the text that was given ${noPoppler}`, async () => {
    const service = shared();
    const html =
      '<p>Plain &amp; <b>bold</b></p><p>日本語の文章 中文 한국어</p><p>Ünïcödé Ελληνικά Русский</p>';
    const { bytes } = await generate(service, { html });
    expect(await textOf(bytes)).toBe('Plain & bold 日本語の文章 中文 한국어 Ünïcödé Ελληνικά Русский');
  });
});

describe('HEAD on generatePdf', () => {
  it('tells what would come, and makes nothing', async () => {
    const service = shared();
    const response = await fetch(`${service.url}/generatePdf?html=x`, { method: 'HEAD' });
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/pdf']);
    // Only a document that was made has a length.
    expect(response.headers.get('content-length')).toBe(null);
  });
});

describe('generatePdf refuses', () => {
  it.each([
    [{}, 'The document'],
    [{ html: '' }, 'The document'],
    [{ html: ' \n ' }, 'The document'],
    [{ html: 'x', 'options[format]': 'B5' }, 'options[format]'],
    [{ html: 'x', 'options[format]': 'a4' }, 'options[format]'],
    [{ html: 'x', 'options[page_orientation]': 'sideways' }, 'options[page_orientation]'],
    [{ html: 'x', options: 'A4' }, 'options'],
  ])('%j', async (fields, named) => {
    const service = shared();
    const { status, messages } = await service.call('generatePdf', fields);
    expect(status).toBe(400);
    expect(messages.join()).toContain(named);
  });

  it('every problem at once', async () => {
    const service = shared();
    const { messages } = await service.call('generatePdf', {
      'options[format]': 'B5',
      'options[page_orientation]': 'x',
    });
    expect(messages).toHaveLength(3);
  });

  it('denied roles, unknown sources, and HTML beyond the limit of bodies', async () => {
    const denied = await startService({ accessControl: [{ GENERATE_PDF: false }] });
    expect((await denied.call('generatePdf', { html: 'x' })).status).toBe(403);
    const service = shared();
    expect((await service.call('generatePdf', { html: 'x', source: 'nowhere' })).status).toBe(404);
    expect((await service.call('generatePdf', { html: 'x'.repeat(200_000) })).status).toBe(413);
  });
});
