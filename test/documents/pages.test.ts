import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { all, first, readDocx, textIn, valueOf } from './docx-reader.ts';
import { noBrowser, noOffice, noPoppler, officePdf, pageSizes, wordsOf, type Word } from './pdf-tools.ts';
import { mostly, runsEverything, shareOfDay } from '../before-release.ts';
import { shareService, type Fields, type Service } from '../protocol/service.ts';

const MM = 72 / 25.4;
/** Browsers keep 8 pixels around a page's body. */
const BODY = 6;
const today = (): string => new Date().toISOString().slice(0, 10);

const make = async (service: Service, action: string, fields: Fields): Promise<Uint8Array> => {
  const response = await service.get(action, fields);
  expect(response.status).toBe(200);
  return new Uint8Array(await response.arrayBuffer());
};

/** The words of each page, in the order of their lines. */
const linesOf = (words: readonly Word[]): readonly string[] => {
  const pages: string[] = [];
  const sorted = words.toSorted((a, b) => (Math.abs(a.top - b.top) < 3 ? a.left - b.left : a.top - b.top));
  for (const { page, text } of sorted) pages[page - 1] = `${pages[page - 1] ?? ''} ${text}`.trim();
  return pages;
};

const find = (words: readonly Word[], text: string): Word => {
  const word = words.find((one) => one.text === text);
  if (word === undefined) throw new Error(`no ${text} in ${words.map((one) => one.text).join(' ')}`);
  return word;
};

const three =
  '<title>The “Plan” &lt;1&gt;</title><h1>one</h1><p style="page-break-before:always">two<p style="page-break-before:always">three';
const lines = { 'options[header]': '{title} of {date}', 'options[footer]': 'Page {page} of {pages}' };

const shared = shareService();

const noTools = noBrowser || noPoppler;

describe.skipIf(noTools)(`the pages of a PDF ${noTools}`, () => {
  it('have headers, footers and margins as asked, whatever the document says', async () => {
    const service = shared();
    const pdf = (fields: Fields): Promise<readonly Word[]> =>
      make(service, 'generatePdf', fields).then(wordsOf);
    const own = `<style>@page { margin: 5mm; @top-left { content: "own" } @bottom-right { content: "last" } }
      @page :first { margin: 0; @top-center { content: "cover" } } * { font-size: 50px !important }</style>`;
    const [plain, over, turned] = await Promise.all([
      pdf({ html: three, ...lines, 'options[footer_align]': 'right' }),
      pdf({ html: own + three, ...lines, 'options[margin]': '30mm 1in 2cm 0' }),
      pdf({ html: three, 'options[margin]': '40mm', 'options[page_orientation]': 'landscape' }),
    ]);
    const pages = (footer: boolean): readonly string[] =>
      ['one', 'two', 'three'].map(
        (text, at) => `The “Plan” <1> of ${today()} ${text}${footer ? ` Page ${String(at + 1)} of 3` : ''}`,
      );
    expect(linesOf(plain)).toEqual(pages(true));
    expect(linesOf(over)).toEqual(pages(true));
    expect(linesOf(turned)).toEqual(['one', 'two', 'three']);
    expect(find(plain, 'two').left).toBeCloseTo(15 * MM + BODY, 0);
    expect(find(over, 'two').left).toBeCloseTo(BODY, 0);
    expect(find(over, 'two').top).toBeGreaterThan(30 * MM);
    expect(find(turned, 'two').left).toBeCloseTo(40 * MM + BODY, 0);
    // Headers stand in the middle of their margin; a footer at the right ends where the text does.
    const [left, right] = [find(plain, 'The').left, find(plain, today()).right];
    expect(Math.abs(left + right - 210 * MM)).toBeLessThan(3);
    const numbers = plain.filter(({ text, page }) => text === '3' && page === 2);
    expect(numbers).toHaveLength(1);
    expect(Math.abs((numbers[0]?.right ?? 0) - 195 * MM)).toBeLessThan(3);
  });

  it('have them under a content policy of the document too', async () => {
    const html = `<meta http-equiv="Content-Security-Policy" content="default-src 'self'"><p>text`;
    const pdf = await make(shared(), 'generatePdf', { html, 'options[footer]': 'Page {page}' });
    expect(linesOf(await wordsOf(pdf))).toEqual(['text Page 1']);
  });

  it('keep the text away from long headers and footers, on small paper too', async () => {
    const service = shared();
    const long = 'WIDE WORDS '.repeat(17).trim();
    for (const html of mostly(1, [`<style>@page { size: 105mm 148mm }</style>${three}`, three])) {
      const fields = { html, 'options[header]': long, 'options[footer]': `${long}{page}` };
      const words = await make(service, 'generatePdf', fields).then(wordsOf);
      const height = html === three ? 297 : 148;
      for (const page of [1, 2, 3]) {
        const wide = words.filter((word) => word.page === page && /WIDE|WORDS/u.test(word.text));
        const text = find(
          words.filter((word) => word.page === page),
          ['one', 'two', 'three'][page - 1] ?? '',
        );
        const above = wide.filter(({ top }) => top < (height * MM) / 2);
        expect(above).toHaveLength(34);
        expect(wide).toHaveLength(68);
        expect(Math.min(...wide.map(({ top }) => top))).toBeGreaterThan(0);
        expect(Math.max(...above.map(({ bottom }) => bottom))).toBeLessThan(text.top);
        expect(Math.max(...wide.map(({ bottom }) => bottom))).toBeLessThan(height * MM);
      }
    }
    const narrow = { html: three, 'options[header]': '字'.repeat(200), 'options[margin]': '0 95mm' };
    expect(await service.call('generatePdf', narrow)).toMatchObject({
      status: 400,
      messages: ['The margins, header and footer leave no room for the text.'],
    });
  });

  it('are those of the document where the request names none', async () => {
    const service = shared();
    const html = `<style>@page { size: A5 landscape; margin: 3cm; @top-left { content: "Draft" }
      @bottom-center { content: counter(page) " / " counter(pages) } }</style>${three}`;
    const pdf = await make(service, 'generatePdf', { html });
    expect(pageSizes(pdf)[0]?.map(Math.round)).toEqual([210, 148]);
    const words = await wordsOf(pdf);
    expect(linesOf(words)).toEqual(['Draft one 1 / 3', 'Draft two 2 / 3', 'Draft three 3 / 3']);
    expect(find(words, 'two').left).toBeCloseTo(30 * MM + BODY, 0);
  });

  it('show headers that look like programs, and do nothing of them', async () => {
    const asked: string[] = [];
    const host = createServer((request, response) => {
      asked.push(request.url ?? '');
      response.end();
    });
    await new Promise<void>((resolve) => host.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void host.close());
    const url = `http://127.0.0.1:${String((host.address() as AddressInfo).port)}`;
    const service = shared();
    const html = `<title>"; } body { display: none } url(${url}/t) \\</title><p>text`;
    const hostile = [
      `<script>document.write(1)</script><img src="${url}/i"><img src=file:///etc/passwd>`,
      `"; } @import url(${url}/c); @page { margin: 0 } /* \\ url(${url}/u)`,
      `<iframe src="${url}/f"></iframe>{{page}} {nothing} \\0022 \u202e\u0007 שלום 日本`,
    ];
    for (const text of shareOfDay(3, hostile)) {
      const fields = { html, 'options[header]': text, 'options[footer]': '{title}' };
      const words = await make(service, 'generatePdf', fields).then(wordsOf);
      const shown = linesOf(words).join(' ').replaceAll(/\s/gu, '');
      for (const part of text.replace('{page}', '1').split(/[^\w!-~]+/u)) expect(shown).toContain(part);
      expect(shown).toContain('text');
      expect(shown).toContain(`";}body{display:none}url(${url}/t)\\`);
    }
    expect(asked).toEqual([]);
  });
});

describe('the pages of a DOCX', () => {
  const page = (bytes: Uint8Array): readonly (string | boolean | undefined)[] => {
    const section = first(readDocx(bytes).body, 'w:sectPr');
    return [
      ...['w:w', 'w:h', 'w:orient'].map((name) => valueOf(section, 'w:pgSz', name)),
      ...['w:top', 'w:right', 'w:bottom', 'w:left'].map((name) => valueOf(section, 'w:pgMar', name)),
    ];
  };
  const A4 = ['11906', '16838'];
  const upright = 'portrait';

  it('have the size and the margins that are asked for, else those of the document', async () => {
    const service = shared();
    const style =
      '<style>@page { size: A5 landscape; margin: 2cm 1cm; @top-left { content: "}"; margin: 9cm } }</style>';
    const inch = ['1440', '1440', '1440', '1440'];
    const [mm20, mm10] = ['1134', '567'];
    const expected: readonly (readonly [Fields, readonly unknown[]])[] = [
      [{ html: 'x' }, [...A4, upright, ...inch]],
      [{ html: style }, ['11906', '8391', 'landscape', mm20, mm10, mm20, mm10]],
      [{ html: style, 'options[format]': 'A4' }, [...A4, upright, mm20, mm10, mm20, mm10]],
      [{ html: style, 'options[margin]': '1in' }, ['11906', '8391', 'landscape', ...inch]],
      [
        {
          html: 'x',
          'options[format]': 'Letter',
          'options[page_orientation]': 'landscape',
          'options[margin]': '0 10mm',
        },
        ['15840', '12240', 'landscape', '0', mm10, '0', mm10],
      ],
      [{ html: '<style>@page { margin: 20cm; size: 1mm }</style>' }, [...A4, upright, ...inch]],
      [
        { html: '<style>@page :first { margin: 0 } @media screen { @page { margin: 0 } }</style>' },
        [...A4, upright, ...inch],
      ],
    ];
    for (const [fields, sizes] of expected)
      expect(page(await make(service, 'generateDocx', fields))).toEqual(sizes);
    const wide = '<style>@page { margin: 0 }</style><table width="100%"><tr><td>x</td></tr></table>';
    const { body } = readDocx(await make(service, 'generateDocx', { html: wide }));
    expect(valueOf(body, 'w:tblW', 'w:w')).toBe('11906');
    const high = '<svg width="100" height="2000"><rect width="9" height="9"/></svg>';
    const flat = { html: high, 'options[page_orientation]': 'landscape', 'options[margin]': '50mm' };
    const picture = readDocx(await make(service, 'generateDocx', flat)).body;
    const points = Number(valueOf(picture, 'wp:extent', 'cy')) / 12_700;
    expect(Math.abs(points - 110 * MM)).toBeLessThan(10);
  });

  it('have headers and footers with numbers that count', async () => {
    const service = shared();
    const hostile = '<img src=file:///etc/passwd> & "{title}"\u0001 {date}';
    const fields = { html: three, 'options[header]': hostile, 'options[footer]': 'Page {page} of {pages}' };
    const bytes = await make(service, 'generateDocx', { ...fields, 'options[header_align]': 'right' });
    const { header, footer, body } = readDocx(bytes);
    expect(textIn(header)).toBe(`<img src=file:///etc/passwd> & "The “Plan” <1>" ${today()}`);
    expect(valueOf(header, 'w:jc')).toBe('right');
    expect(valueOf(footer, 'w:jc')).toBe('center');
    expect(all(footer, 'w:instrText').map(({ text }) => text.trim())).toEqual(['PAGE', 'NUMPAGES']);
    expect(textIn(body)).toBe('onetwothree');
    const plain = readDocx(await make(service, 'generateDocx', { html: three }));
    expect([textIn(plain.header), textIn(plain.footer)]).toEqual(['', '']);
  });

  it.runIf(runsEverything && !noOffice && !noPoppler)(
    `are shown so by LibreOffice ${noOffice || noPoppler}`,
    async () => {
      const service = shared();
      const fields = {
        html: three,
        ...lines,
        'options[margin]': '1mm 30mm',
        'options[page_orientation]': 'landscape',
      };
      const pdf = await officePdf(await make(service, 'generateDocx', fields));
      expect(pageSizes(pdf)[0]?.map(Math.round)).toEqual([297, 210]);
      const words = await wordsOf(pdf);
      expect(linesOf(words)).toEqual(
        ['one', 'two', 'three'].map(
          (text, at) => `The “Plan” <1> of ${today()} ${text} Page ${String(at + 1)} of 3`,
        ),
      );
      expect(find(words, 'two').left).toBeCloseTo(30 * MM, 0);
      // Small margins give way.
      expect(find(words, 'The').bottom).toBeLessThanOrEqual(find(words, 'one').top);
    },
    90_000,
  );
});

describe.each(['generatePdf', 'generateDocx'])('%s refuses', (action) => {
  it('options that mean nothing, by their names', async () => {
    const service = shared();
    const wrong: readonly (readonly [string, string])[] = [
      ...[
        'wide',
        '1',
        '1em',
        '-1mm',
        '10%',
        '1mm 1mm 1mm 1mm 1mm',
        '149mm',
        '0 106mm',
        '148mm 0 140mm',
        'calc(1mm)',
        '1e3mm',
        '1mm;',
        `${'9'.repeat(400)}mm`,
      ].map((margin) => ['margin', margin] as const),
      ['header', 'x'.repeat(201)],
      ['footer', 'x'.repeat(201)],
      ['header', '{title}{title}'],
      ['header_align', 'middle'],
      ['footer_align', 'LEFT'],
      ['format', 'B5'],
      ['page_orientation', 'up'],
    ];
    for (const [name, value] of wrong) {
      const { status, messages } = await service.call(action, { html: 'x', [`options[${name}]`]: value });
      expect([value, status, messages]).toEqual([
        value,
        400,
        [expect.stringContaining(`options[${name}]: must`)],
      ]);
    }
    for (const name of ['margin', 'header', 'footer', 'header_align']) {
      const body = JSON.stringify({ html: 'x', options: { [name]: { top: '1mm' } } });
      const headers = { 'content-type': 'application/json' };
      const nested = await fetch(`${service.url}/${action}`, { method: 'POST', headers, body });
      expect([name, nested.status]).toEqual([name, 400]);
    }
    const turned = { html: 'x', 'options[page_orientation]': 'landscape', 'options[margin]': '110mm 0' };
    expect((await service.call(action, turned)).status).toBe(400);
  });
});
