import { crc32 } from 'node:zlib';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { DocumentMaker } from '../../packages/stowage/dist/documents/documents.js';
import { jobOf, openDocuments } from './documents.ts';
import { all, first, readDocx, textIn, valueOf, type Docx, type Xml } from './docx-reader.ts';

let documents: DocumentMaker;
beforeAll(() => {
  documents = openDocuments();
});
afterAll(() => documents.close());

const convert = async (html: string): Promise<Docx> => readDocx(await documents.docx(jobOf(html)));

const EMU_PER_PIXEL = 9525;

/** `[text, kind of number, first number, level]` of every item, as its list is defined. */
const itemsOf = ({ paragraphs, numbering }: Docx) =>
  paragraphs.map((paragraph) => {
    const id = valueOf(paragraph, 'w:numId');
    if (id === undefined) return [textIn(paragraph)];
    const number = all(numbering, 'w:num').find(({ attributes }) => attributes['w:numId'] === id);
    const abstractId = valueOf(number ?? paragraph, 'w:abstractNumId');
    const level = valueOf(paragraph, 'w:ilvl');
    const definition = all(numbering, 'w:abstractNum')
      .filter(({ attributes }) => attributes['w:abstractNumId'] === abstractId)
      .flatMap((abstract) => all(abstract, 'w:lvl'))
      .find(({ attributes }) => attributes['w:ilvl'] === level);
    const format = valueOf(definition ?? paragraph, 'w:numFmt');
    const shown = format === 'bullet' ? 'w:lvlText' : 'w:start';
    return [textIn(paragraph), format, valueOf(definition ?? paragraph, shown), Number(level)];
  });

const listIdsOf = ({ paragraphs }: Docx) => paragraphs.map((paragraph) => valueOf(paragraph, 'w:numId'));

describe('blocks', () => {
  it('headings are headings, the title and the page are set', async () => {
    const docx = await convert('<title>My title</title><h1>a</h1><h3>b</h3><h6>c</h6><p>d</p>');
    expect(docx.paragraphs.map((one) => valueOf(one, 'w:pStyle'))).toEqual([
      'Heading1',
      'Heading3',
      'Heading6',
      undefined,
    ]);
    expect(first(docx.core, 'dc:title').text).toBe('My title');
    expect(first(docx.body, 'w:pgSz').attributes).toMatchObject({ 'w:w': '11906', 'w:h': '16838' });
  });

  it('space between blocks is the larger of the margins that meet', async () => {
    const html =
      '<p style="margin:10pt 0 20pt">a</p><div style="margin-top:30pt"><p style="margin-top:5pt">b</p></div><div>c</div>';
    const { paragraphs } = await convert(html);
    const spaces = paragraphs.map((one) => [
      valueOf(one, 'w:spacing', 'w:before'),
      valueOf(one, 'w:spacing', 'w:after'),
    ]);
    expect(spaces).toEqual([
      ['0', '400'],
      ['200', '240'],
      ['0', '0'],
    ]);
  });

  it('indents, first lines and line heights', async () => {
    const html =
      '<blockquote><p style="text-indent:10pt;line-height:2.3">a</p></blockquote><p style="line-height:30pt">b</p>';
    const [quote, high] = (await convert(html)).paragraphs;
    expect(first(quote as Xml, 'w:ind').attributes).toEqual({
      'w:left': '600',
      'w:right': '600',
      'w:firstLine': '200',
    });
    expect(first(quote as Xml, 'w:spacing').attributes).toMatchObject({
      'w:line': '480',
      'w:lineRule': 'auto',
    });
    expect(first(high as Xml, 'w:spacing').attributes).toMatchObject({
      'w:line': '600',
      'w:lineRule': 'atLeast',
    });
  });

  it.each([
    ['<p>a</p><p style="page-break-before:always">b</p>', [undefined, true]],
    ['<p>a</p><div style="page-break-after:always"></div><p>b</p>', [undefined, true]],
    ['<p style="break-after:page">a</p><p>b</p>', [undefined, true]],
    // As Word writes it in web pages.
    ['<p>a<br clear="all" style="page-break-before:always"></p><p>b</p>', [undefined, true]],
    ['<p>a<br style="page-break-before:always">b</p>', [undefined, true]],
    ['<p style="page-break-before:always">a</p><p>b</p>', [undefined, undefined]],
    ['<p>a</p><p style="page-break-before:avoid">b</p>', [undefined, undefined]],
  ])('page breaks: %s', async (html, expected) => {
    expect((await convert(html)).paragraphs.map((one) => valueOf(one, 'w:pageBreakBefore'))).toEqual(
      expected,
    );
  });

  it('a page break before a table', async () => {
    const { body } = await convert(
      '<p>a</p><table style="page-break-before:always"><tr><td>b</td></tr></table>',
    );
    expect(body.children.map(({ name }) => name)).toEqual(['w:p', 'w:p', 'w:tbl', 'w:p', 'w:sectPr']);
    expect(valueOf(body.children[1] as Xml, 'w:pageBreakBefore')).toBe(true);
  });

  it('rules and frames', async () => {
    const html = '<hr><div style="border:2px dashed #f00;padding:8px;background:#fee"><p>a</p><p>b</p></div>';
    const [rule, ...framed] = (await convert(html)).paragraphs;
    expect(first(rule as Xml, 'w:bottom').attributes).toMatchObject({ 'w:val': 'single' });
    expect(all(rule as Xml, 'w:top')).toEqual([]);
    for (const one of framed) {
      expect(first(one, 'w:left').attributes).toMatchObject({
        'w:val': 'dashed',
        'w:color': 'ff0000',
        'w:sz': '12',
        'w:space': '6',
      });
      expect(valueOf(one, 'w:shd', 'w:fill')).toBe('ffeeee');
    }
  });

  it('a frame around a list is one frame', async () => {
    const html = `<p>before</p><div style="border:2px solid #f00;padding:8px;background:#fee"><p>Note</p>
      <ul><li>one</li><li>two<ol><li>deep</li></ol></li></ul><p>end</p></div><p>after</p>`;
    const { paragraphs, tables, body } = await convert(html);
    expect(body.children.map(({ name }) => name)).toEqual(['w:p', 'w:tbl', 'w:p', 'w:sectPr']);
    expect(paragraphs.map(textIn)).toEqual(['before', 'after']);
    const [box] = tables as [Xml];
    expect(all(box, 'w:tc')).toHaveLength(1);
    expect(all(box, 'w:p').map(textIn)).toEqual(['Note', 'one', 'two', 'deep', 'end']);
    expect(all(box, 'w:p').map((one) => valueOf(one, 'w:ilvl'))).toEqual([
      undefined,
      '0',
      '0',
      '1',
      undefined,
    ]);
    expect(all(box, 'w:pBdr')).toEqual([]);
    expect(first(box, 'w:left').attributes).toMatchObject({ 'w:val': 'single', 'w:color': 'ff0000' });
    expect(valueOf(box, 'w:shd', 'w:fill')).toBe('ffeeee');
    expect(valueOf(box, 'w:cantSplit')).not.toBe(true);
  });
});

describe('lists', () => {
  it('nested lists of both kinds', async () => {
    const html = `<ul><li>a<ul><li>b<ul><li>c</li></ul></li></ul></li><li>d<ol><li>e</li></ol></li></ul>`;
    expect(itemsOf(await convert(html))).toEqual([
      ['a', 'bullet', '•', 0],
      ['b', 'bullet', '◦', 1],
      ['c', 'bullet', '▪', 2],
      ['d', 'bullet', '•', 0],
      ['e', 'decimal', '1', 1],
    ]);
  });

  it.each([
    ['1', 'decimal'],
    ['a', 'lowerLetter'],
    ['A', 'upperLetter'],
    ['i', 'lowerRoman'],
    ['I', 'upperRoman'],
  ])('ol type %s with start', async (type, format) => {
    expect(itemsOf(await convert(`<ol type="${type}" start="4"><li>x</li></ol>`))).toEqual([
      ['x', format, '4', 0],
    ]);
  });

  it('styles of lists: numbers by CSS, none, a mark of its own', async () => {
    const html = `<ol style="list-style-type:upper-roman"><li>a</li></ol><ul style="list-style:none"><li>b</li></ul>
      <ul style="list-style-type:square"><li>c</li></ul><ul style="list-style-type:'-'"><li>d</li></ul>
      <ol style="list-style-type:arabic-indic"><li>e</li></ol><ul type="unknown"><li>f</li></ul>`;
    expect(itemsOf(await convert(html))).toEqual([
      ['a', 'upperRoman', '1', 0],
      ['b'],
      ['c', 'bullet', '▪', 0],
      ['d', 'bullet', '-', 0],
      ['e', 'decimal', '1', 0],
      ['f', 'bullet', '•', 0],
    ]);
  });

  it('every list that counts begins anew, and an item may set its number', async () => {
    const docx = await convert(
      '<ol><li>a</li><li value="7">b</li><li>c</li></ol><p>x</p><ol><li>d</li></ol>',
    );
    const [a, b, c, , d] = listIdsOf(docx);
    expect(b).toBe(c);
    expect(new Set([a, b, d]).size).toBe(3);
    expect(itemsOf(docx)[1]).toEqual(['b', 'decimal', '7', 0]);
    expect(itemsOf(docx)[4]).toEqual(['d', 'decimal', '1', 0]);
  });

  it('items have styles of their own, as in documents of Google', async () => {
    const item = (type: string, text: string): string =>
      `<li style="list-style-type:${type}"><p>${text}</p></li>`;
    const html = `<ol>${item('decimal', 'a')}<ol>${item('lower-alpha', 'b')}${item('lower-alpha', 'c')}</ol>
      ${item('decimal', 'd')}${item('upper-roman', 'e')}</ol><ul>${item('square', 'f')}</ul>`;
    const docx = await convert(html);
    const [a, b, c, d] = listIdsOf(docx);
    expect([c, d]).toEqual([b, a]);
    expect(itemsOf(docx)).toEqual([
      ['a', 'decimal', '1', 0],
      ['b', 'lowerLetter', '1', 1],
      ['c', 'lowerLetter', '1', 1],
      ['d', 'decimal', '1', 0],
      ['e', 'upperRoman', '3', 0],
      ['f', 'bullet', '▪', 0],
    ]);
  });

  it('items of Quill have the kind and the level that it writes beside them', async () => {
    const item = (kind: string, text: string, level = ''): string =>
      `<li data-list="${kind}" class="${level}"><span class="ql-ui" contenteditable="false"></span>${text}</li>`;
    const html = `<style>.ql-editor li{list-style-type:none;padding-left:1.5em}</style><div class="ql-editor"><ol>${item('ordered', 'a')}
      ${item('ordered', 'b', 'ql-indent-1')}${item('ordered', 'c', 'ql-indent-1')}${item('bullet', 'd')}${item('ordered', 'e')}
      ${item('ordered', 'f', 'ql-align-center ql-indent-1')}${item('checked', 'g')}${item('unchecked', 'h', 'ql-indent-2')}</ol></div>`;
    const docx = await convert(html);
    const [, b, c] = listIdsOf(docx);
    expect(b).toBe(c);
    expect(itemsOf(docx)).toEqual([
      ['a', 'decimal', '1', 0],
      ['b', 'lowerLetter', '1', 1],
      ['c', 'lowerLetter', '1', 1],
      ['d', 'bullet', '•', 0],
      ['e', 'decimal', '2', 0],
      ['f', 'lowerLetter', '1', 1],
      ['g', 'bullet', '☑', 0],
      ['h', 'bullet', '☐', 2],
    ]);
    const indents = docx.paragraphs.map((one) => valueOf(one, 'w:ind', 'w:left'));
    expect(indents).toEqual(['720', '1440', '1440', '720', '720', '1440', '720', '2160']);
  });

  it('items without text or without a marker count', async () => {
    const docx = await convert(`<ol><li>a</li><li></li><li><p></p></li><li>b</li>
      <li style="list-style-type:none"><ol><li>c</li></ol></li><li>d</li><li><ol><li>e</li></ol></li><li>f</li></ol>`);
    expect(itemsOf(docx)).toEqual([
      ['a', 'decimal', '1', 0],
      ['', 'decimal', '1', 0],
      ['', 'decimal', '1', 0],
      ['b', 'decimal', '1', 0],
      ['c', 'decimal', '1', 1],
      ['d', 'decimal', '6', 0],
      ['e', 'decimal', '1', 1],
      ['f', 'decimal', '8', 0],
    ]);
    expect(new Set(listIdsOf(docx).slice(0, 4)).size).toBe(1);
  });

  it('the marker of an item that begins with a table stands above it', async () => {
    const table = '<table><tr><td>x</td></tr></table>';
    const docx = await convert(`<ol><li>${table}${table}</li><li>b</li></ol>`);
    expect(itemsOf(docx)).toEqual([['', 'decimal', '1', 0], [''], ['b', 'decimal', '1', 0]]);
    const [first, second] = docx.body.children;
    expect([first && valueOf(first, 'w:numId') !== undefined, second?.name]).toEqual([true, 'w:tbl']);
  });

  it('only the first paragraph of an item is marked, the others stand below it', async () => {
    const { paragraphs } = await convert('<ul><li><p>a</p><p>b</p></li></ul>');
    expect(paragraphs.map((one) => valueOf(one, 'w:numId') !== undefined)).toEqual([true, false]);
    expect(paragraphs.map((one) => valueOf(one, 'w:ind', 'w:left'))).toEqual(['720', '720']);
  });

  it('lists of thirty levels end at the last level of Word', async () => {
    const docx = await convert(`${'<ul><li>x'.repeat(30)}`);
    expect(valueOf(docx.paragraphs.at(-1) as Xml, 'w:ilvl')).toBe('8');
  });
});

describe('tables', () => {
  const cellsOf = (table: Xml) =>
    all(table, 'w:tr').map((row) =>
      row.children
        .filter(({ name }) => name === 'w:tc')
        .map((cell) => [textIn(cell), valueOf(cell, 'w:gridSpan'), valueOf(cell, 'w:vMerge')]),
    );

  it('spans in both directions, holes filled', async () => {
    const html = `<table><tr><td rowspan="2">a</td><td colspan="2">b</td></tr><tr><td>c</td></tr>
      <tr><td colspan="3">d</td></tr></table>`;
    const [table] = (await convert(html)).tables;
    expect(cellsOf(table as Xml)).toEqual([
      [
        ['a', undefined, 'restart'],
        ['b', '2', undefined],
      ],
      [
        ['', undefined, 'continue'],
        ['c', undefined, undefined],
        ['', undefined, undefined],
      ],
      [['d', '3', undefined]],
    ]);
    expect(all(table as Xml, 'w:gridCol')).toHaveLength(3);
  });

  it('spans beyond the table, of nothing and of thousands', async () => {
    const html =
      '<table><tr><td rowspan="0">a</td><td rowspan="9999" colspan="9999">b</td></tr><tr><td>c</td></tr></table>';
    const [table] = (await convert(html)).tables;
    expect(all(table as Xml, 'w:gridCol').length).toBeLessThanOrEqual(63);
    expect(textIn(table as Xml)).toBe('abc');
    const wide = await convert(`<table><tr>${'<td>x</td>'.repeat(100)}</tr></table>`);
    expect(all(wide.tables[0] as Xml, 'w:gridCol')).toHaveLength(63);
    expect(textIn(wide.body)).toBe('x'.repeat(100));
  });

  it('spans that reach below the cells beyond the last column', async () => {
    const rows = Array.from({ length: 80 }, (_, row) => `<tr><td rowspan="${80 - row}">x</td></tr>`);
    const [table] = (await convert(`<table>${rows.join('')}</table>`)).tables;
    expect(textIn(table as Xml)).toBe('x'.repeat(80));
    for (const row of all(table as Xml, 'w:tr')) expect(all(row, 'w:tc')).toHaveLength(63);
  });

  it('head first and foot last, heads repeated, th bold and centred, caption before', async () => {
    const html = `<table><caption>title</caption><tfoot><tr><td>foot</td></tr></tfoot><tbody><tr><td>body</td></tr></tbody>
      <thead><tr><th>head</th></tr></thead></table>`;
    const { body, tables } = await convert(html);
    const [table] = tables;
    expect(all(table as Xml, 'w:tr').map(textIn)).toEqual(['head', 'body', 'foot']);
    expect(all(table as Xml, 'w:tr').map((row) => valueOf(row, 'w:tblHeader'))).toEqual([
      true,
      undefined,
      undefined,
    ]);
    expect(valueOf(first(table as Xml, 'w:r'), 'w:b')).toBe(true);
    expect(valueOf(table as Xml, 'w:jc')).toBe('center');
    expect(body.children.map(textIn).slice(0, 2)).toEqual(['title', 'headbodyfoot']);
  });

  it('borders, backgrounds, padding, alignment', async () => {
    const html = `<table border="1" cellpadding="4"><tr style="background:#eee"><td>a</td><td bgcolor="#ff0000" valign="bottom" align="right"
      style="border:3px double blue">b</td></tr></table><table style="border:1px solid red;margin:0 auto"><tr><td>c</td></tr></table>`;
    const [first_, second] = (await convert(html)).tables;
    const [a, b] = all(first_ as Xml, 'w:tc');
    expect(first(a as Xml, 'w:left').attributes).toMatchObject({ 'w:val': 'single', 'w:sz': '6' });
    expect(valueOf(a as Xml, 'w:shd', 'w:fill')).toBe('eeeeee');
    expect(first(first(b as Xml, 'w:tcBorders'), 'w:top').attributes).toMatchObject({
      'w:val': 'double',
      'w:color': '0000ff',
      'w:sz': '18',
    });
    expect(first(first(b as Xml, 'w:tcMar'), 'w:left').attributes).toMatchObject({ 'w:w': '60' });
    expect(valueOf(b as Xml, 'w:shd', 'w:fill')).toBe('ff0000');
    expect(valueOf(b as Xml, 'w:vAlign')).toBe('bottom');
    expect(valueOf(b as Xml, 'w:jc')).toBe('right');
    const frame = first(second as Xml, 'w:tblBorders');
    expect(first(frame, 'w:top').attributes).toMatchObject({ 'w:val': 'single', 'w:color': 'ff0000' });
    expect(first(frame, 'w:insideH').attributes).toMatchObject({ 'w:val': 'none' });
    expect(valueOf(first(second as Xml, 'w:tblPr'), 'w:jc')).toBe('center');
    expect(all(second as Xml, 'w:tcBorders').flatMap(({ children }) => children)).toEqual([]);
  });

  it('the width of a col is that of each of its columns, as Excel writes them', async () => {
    const docx =
      await convert(`<table width="256" style="width:192pt"><col width="64" span="4" style="width:48pt">
      <tr><td colspan="2" width="128" style="width:96pt">merged</td><td>c</td><td>d</td></tr><tr><td>1</td><td></td><td></td><td>2</td></tr></table>
      <table><colgroup span="2" width="80"></colgroup><col span="60000000" width="40"><tr><td>a</td><td>b</td><td>c</td></tr></table>`);
    const widths = docx.tables.map((table) =>
      all(table, 'w:gridCol').map(({ attributes }) => Number(attributes['w:w'])),
    );
    expect(widths).toEqual([
      [960, 960, 960, 960],
      [1200, 1200, 600],
    ]);
  });

  it('widths: given ones first, never beyond the page', async () => {
    const widths = async (html: string): Promise<number[]> =>
      all((await convert(html)).body, 'w:gridCol').map(({ attributes }) => Number(attributes['w:w']));
    expect(
      await widths('<table style="width:100%"><tr><td width="25%">a</td><td>b</td></tr></table>'),
    ).toEqual([2257, 6769].map((one) => expect.closeTo(one, -2) as number));
    expect(
      await widths(
        '<table><colgroup><col style="width:100pt"><col width="80"></colgroup><tr><td>a</td><td>b</td></tr></table>',
      ),
    ).toEqual([2000, 1200]);
    const [narrow = 0, wide = 0] = await widths(
      `<table><tr><td>a</td><td>${'word '.repeat(400)}</td></tr></table>`,
    );
    expect(narrow).toBeLessThan(600);
    expect(narrow + wide).toBeLessThanOrEqual(9030);
  });

  it.each([
    ['<center>', 'center'],
    ['<div align="center">', 'center'],
    ['<div align="right"><div>', 'end'],
    ['<div style="text-align:center">', undefined],
    ['<center><div style="text-align:right">', undefined],
  ])('a table in %s', async (outer, align) => {
    const [table] = (await convert(`${outer}<table><tr><td>a</td></tr></table>`)).tables;
    expect(valueOf(first(table as Xml, 'w:tblPr'), 'w:jc')).toBe(align);
  });

  it('tables in tables, with lists and headings in cells', async () => {
    const html =
      '<table><tr><td><h2>a</h2><ul><li>b</li></ul><table><tr><td>c</td></tr></table></td></tr></table>';
    const { body } = await convert(html);
    const [outer, inner] = all(body, 'w:tc');
    expect(textIn(outer as Xml)).toBe('abc');
    expect(textIn(inner as Xml)).toBe('c');
    // A cell must end with a paragraph.
    expect((outer as Xml).children.at(-1)?.name).toBe('w:p');
  });

  it('two tables stay two', async () => {
    const { body } = await convert('<table><tr><td>a</td></tr></table><table><tr><td>b</td></tr></table>');
    expect(body.children.map(({ name }) => name)).toEqual(['w:tbl', 'w:p', 'w:tbl', 'w:p', 'w:sectPr']);
  });
});

describe('pictures', () => {
  const dataUrl = async (
    format: 'png' | 'jpeg' | 'gif' | 'webp' | 'avif',
    width = 200,
    height = 100,
  ): Promise<string> => {
    const bytes = await sharp({ create: { width, height, channels: 3, background: '#3080d0' } })
      .toFormat(format)
      .toBuffer();
    return `data:image/${format};base64,${bytes.toString('base64')}`;
  };
  const sizes = ({ body }: Docx) =>
    all(body, 'wp:extent').map(({ attributes }) =>
      [attributes['cx'], attributes['cy']].map((value) => Math.round(Number(value) / EMU_PER_PIXEL)),
    );

  it.each([
    ['', [200, 100]],
    ['width="60"', [60, 30]],
    ['height="50"', [100, 50]],
    ['width="60" height="60"', [60, 60]],
    ['style="width:50%"', [301, 150]],
    ['style="width:90px;height:auto" width="10"', [90, 45]],
    ['style="max-width:100px"', [100, 50]],
    ['width="5000"', [602, 301]],
    ['width="0"', [1, 1]],
  ])('size by %j', async (attributes, size) => {
    expect(sizes(await convert(`<p>a<img src="${await dataUrl('png')}" ${attributes}>b</p>`))).toEqual([
      size,
    ]);
  });

  it('may be shown many times', async () => {
    const docx = await convert(`<img src="${await dataUrl('png')}" width="16">`.repeat(310));
    expect(sizes(docx)).toHaveLength(310);
  });

  it('are measured by the box around them', async () => {
    const src = await dataUrl('png');
    const html = `<figure style="width:50%;margin:0"><img style="width:100%" src="${src}"></figure>
      <div style="max-width:60px"><div><img src="${src}"></div></div>`;
    expect(sizes(await convert(html)).map(([width]) => width)).toEqual([301, 60]);
  });

  it('inline, floating and on a line of their own', async () => {
    const src = await dataUrl('png');
    const html = `<p>a <img src="${src}" alt="what it shows"> b</p><p><img src="${src}" style="float:right">c</p>
      <p>d<img src="${src}" style="display:block;margin:0 auto">e</p><p><img align="left" src="${src}">f</p>`;
    const docx = await convert(html);
    expect(docx.paragraphs.map(textIn)).toEqual(['a  b', 'c', 'd', '', 'e', 'f']);
    expect(all(docx.body, 'wp:inline')).toHaveLength(2);
    expect(all(docx.body, 'wp:anchor').map((one) => first(one, 'wp:align').text)).toEqual(['right', 'left']);
    expect(valueOf(docx.paragraphs[3] as Xml, 'w:jc')).toBe('center');
    expect(first(docx.body, 'wp:docPr').attributes['descr']).toBe('what it shows');
    // Five times the same, stored once.
    expect(docx.media.size).toBe(1);
  });

  it('are links where they stand in one', async () => {
    const docx = await convert(`<a href="https://example.com/"><img src="${await dataUrl('png')}"></a>`);
    const [link] = all(docx.body, 'w:hyperlink');
    expect(docx.links.get(link?.attributes['r:id'] ?? '')).toBe('https://example.com/');
    expect(all(link as Xml, 'wp:inline')).toHaveLength(1);
  });

  it.each([
    ['png', 'png'],
    ['jpeg', 'jpeg'],
    ['gif', 'gif'],
    ['webp', 'png'],
    ['avif', 'png'],
  ] as const)('%s becomes %s', async (given, stored) => {
    const { media } = await convert(`<img src="${await dataUrl(given)}">`);
    const [bytes] = media.values();
    const { format, width, height } = await sharp(bytes).metadata();
    expect([format, width, height]).toEqual([stored, 200, 100]);
  });

  it('drawings are drawn, photos stand upright, press colours are turned', async () => {
    const svg =
      '<svg xmlns="http://www.w3.org/2000/svg" width="80" height="40"><rect width="80" height="40" fill="#f00"/></svg>';
    const drawn = await convert(`<img src="data:image/svg+xml,${encodeURIComponent(svg)}">`);
    expect(sizes(drawn)).toEqual([[80, 40]]);
    // A `%` that escapes nothing stands for itself.
    const whole = svg.replaceAll('#f00', 'red').replace('height="40">', 'height="40" opacity="100%">');
    expect(sizes(await convert(`<img src='data:image/svg+xml,${whole}'>`))).toEqual([[80, 40]]);
    const [png] = drawn.media.values();
    expect((await sharp(png).stats()).dominant.r).toBeGreaterThan(240);

    const create = { width: 40, height: 20, channels: 3, background: '#00f' } as const;
    const turned = await sharp({ create }).withMetadata({ orientation: 6 }).jpeg().toBuffer();
    expect(sizes(await convert(`<img src="data:image/jpeg;base64,${turned.toString('base64')}">`))).toEqual([
      [20, 40],
    ]);

    const cmyk = await sharp({ create }).toColourspace('cmyk').jpeg().toBuffer();
    const [rgb] = (
      await convert(`<img src="data:image/jpeg;base64,${cmyk.toString('base64')}">`)
    ).media.values();
    expect((await sharp(rgb).metadata()).space).toBe('srgb');
  });

  it('drawings that stand in the page are drawn', async () => {
    const docx = await convert(`<p>a<svg width="80" height="40" viewBox="0 0 8 4" aria-label="sun &amp; moon">
      <style>.r { fill: #f00 }</style><rect class="r" width="8" height="4"/><text>a &lt; b &nbsp;&copy;</text></svg>b
      <svg viewBox="0 0 10 10" style="width:30px;float:right"><g><lineargradient id="g"><stop stop-color="#0f0"></lineargradient><rect fill="url(#g)" width="10" height="10"/></g></svg></p>`);
    expect(sizes(docx)).toEqual([
      [80, 40],
      [30, 30],
    ]);
    expect(textIn(docx.body).trim()).toBe('ab');
    expect(first(docx.body, 'wp:docPr').attributes['descr']).toBe('sun & moon');
    const [red, green] = await Promise.all([...docx.media.values()].map((png) => sharp(png).stats()));
    expect(red?.dominant).toMatchObject({ r: 248, g: 8, b: 8 });
    expect(green?.dominant).toMatchObject({ r: 8, g: 248, b: 8 });
    expect(all(docx.body, 'wp:anchor')).toHaveLength(1);
  });

  it('drawings in the page load nothing, run nothing and break nothing', async () => {
    const { media, body } =
      await convert(`<p>x<svg width="10" height="10" onload="x()" a:b="1" xmlns:a="urn:a" 1x="2"><script>x</script>
      <foreignObject><p>inner</p></foreignObject><image href="file:///etc/passwd" xlink:href="http://127.0.0.1/" width="10" height="10"/>
      <rect fill="#00f" width="10" height="10"/>${'<g>'.repeat(400)}</svg><svg width="100000" height="100000"></svg><svg></svg></p>`);
    expect(textIn(body)).toBe('x');
    expect(media.size).toBe(1);
    expect((await sharp([...media.values()][0]).stats()).dominant.b).toBeGreaterThan(240);
  });

  it('what cannot be shown is left out', async () => {
    // A picture of one pixel that claims to be one of 400 million.
    const bomb = await sharp({ create: { width: 1, height: 1, channels: 3, background: '#fff' } })
      .png()
      .toBuffer();
    bomb.writeUInt32BE(20_000, 16);
    bomb.writeUInt32BE(20_000, 20);
    bomb.writeUInt32BE(crc32(bomb.subarray(12, 29)), 29);
    const html = `<p>a<img src="data:image/png;base64,AAAA"><img src="data:text/html,<b>x</b>"><img src=""><img>
      <img src="data:image/svg+xml,<svg"><img src="relative.png"><img src="data:image/png;base64,${bomb.toString('base64')}">b</p>`;
    const docx = await convert(html);
    expect(docx.media.size).toBe(0);
    expect(textIn(docx.body).replaceAll(/\s+/gu, ' ')).toBe('a b');
  });
});
