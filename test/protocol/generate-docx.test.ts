import { describe, expect, it, vi } from 'vitest';
import { readDocx, textIn } from '../documents/docx-reader.ts';
import { startService, type Fields } from './service.ts';

const TYPE = 'application/vnd.openxmlformats-officedocument.wordprocessingml.document';

describe('generateDocx', () => {
  it('sends a file named document.docx', async () => {
    const service = await startService();
    const response = await fetch(`${service.url}/generateDocx`, {
      method: 'POST',
      body: new URLSearchParams({ html: '<h1>Hello</h1><p>שלום 你好</p>' }),
    });
    const bytes = new Uint8Array(await response.arrayBuffer());
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe(TYPE);
    expect(response.headers.get('content-disposition')).toBe('attachment; filename="document.docx"');
    expect(response.headers.get('x-content-type-options')).toBe('nosniff');
    expect(Number(response.headers.get('content-length'))).toBe(bytes.length);
    expect(readDocx(bytes).paragraphs.map(textIn)).toEqual(['Hello', 'שלום 你好']);
  });

  it('takes its parameters from JSON, the query and a form, and answers on the root too', async () => {
    const service = await startService();
    const text = async (response: Response): Promise<string> =>
      textIn(readDocx(new Uint8Array(await response.arrayBuffer())).body);
    const json = fetch(service.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ action: 'generateDocx', html: '<p>a</p>' }),
    });
    expect(await text(await json)).toBe('a');
    expect(await text(await service.get('generateDocx', { html: '<p>b</p>' }))).toBe('b');
    const form = new FormData();
    const long = 'word '.repeat(40_000).trim();
    form.append('html', `<p>${long}</p>`);
    expect(await text(await fetch(`${service.url}/generateDocx`, { method: 'POST', body: form }))).toBe(long);
  });

  it('leaves nothing of a document in signals that outlive it', async () => {
    const service = await startService();
    const any = vi.spyOn(AbortSignal, 'any');
    for (let document = 0; document < 3; document += 1)
      expect((await service.get('generateDocx', { html: '<p>a</p>' })).status).toBe(200);
    // Each call leaves an entry in its signals: on Node 20 for as long as they live.
    const signals = any.mock.calls.flatMap(([given]) => [...given]);
    any.mockRestore();
    expect(signals).toHaveLength(new Set(signals).size);
  });

  it.each([{}, { html: '' }, { html: ' \n\t ' }] as Fields[])('refuses %j', async (fields) => {
    const service = await startService();
    const { status, messages } = await service.call('generateDocx', fields);
    expect(status).toBe(400);
    expect(messages).toEqual([
      fields['html'] === undefined ? 'The document is required.' : 'The document must not be empty.',
    ]);
  });

  it('tells HEAD what would come, and makes nothing for it', async () => {
    const service = await startService();
    const head = (query: string) => fetch(`${service.url}/generateDocx?${query}`, { method: 'HEAD' });
    const { status, headers } = await head('html=x');
    expect([status, headers.get('content-type')]).toEqual([200, TYPE]);
    expect(headers.get('content-disposition')).toBe('attachment; filename="document.docx"');
    // Only a document that was made has a length.
    expect(headers.get('content-length')).toBe(null);
    expect((await head('html=')).status).toBe(400);
  });

  it('refuses denied roles, unknown sources, too large bodies, and documents beyond the limits', async () => {
    const denied = await startService({ accessControl: [{ GENERATE_DOCX: false }] });
    expect((await denied.call('generateDocx', { html: 'x' })).status).toBe(403);
    const service = await startService();
    expect((await service.call('generateDocx', { html: 'x', source: 'nowhere' })).status).toBe(404);
    expect((await service.call('generateDocx', { html: 'x'.repeat(200_000) })).status).toBe(413);
    const form = new FormData();
    form.append('html', '<i>'.repeat(15_000));
    const deep = await fetch(`${service.url}/generateDocx`, { method: 'POST', body: form });
    expect(await deep.json()).toEqual({
      success: false,
      data: { code: 400, error: 'DOCUMENT_LIMIT', messages: ['The document is nested too deeply.'] },
    });
  });
});
