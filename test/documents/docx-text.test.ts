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
const texts = async (html: string): Promise<string[]> => (await convert(html)).paragraphs.map(textIn);

/** The run that holds this text. */
const runOf = ({ body }: Docx, text: string): Xml =>
  all(body, 'w:r').find((run) => textIn(run) === text) ?? first(body, 'no run');

describe('white space', () => {
  it.each([
    ['<p>one   two\n three</p>', ['one two three']],
    ['<p> a </p><p> b</p>', ['a', 'b']],
    ['<p>bold<b> in</b> <i>line</i></p>', ['bold in line']],
    ['<p>a <b> b </b> c</p>', ['a b c']],
    ['a<p>b</p>c', ['a', 'b', 'c']],
    ['<p>one<br>two<br></p>', ['one\ntwo']],
    ['<p>a</p><p><br></p><p>b</p>', ['a', '', 'b']],
    ['<p>a</p><p></p><p>  </p><p>b</p>', ['a', 'b']],
    ['<p>a&nbsp; b</p>', ['a\u00a0 b']],
    ['<pre>  a\n\tb  c\n</pre>', ['  a\n\tb  c']],
    ['<p style="white-space:pre-line">a   b\nc</p>', ['a b\nc']],
    ['<p style="white-space-collapse:preserve">a   b\nc</p>', ['a   b\nc']],
    ['<p style="white-space:break-spaces">a   b\nc</p>', ['a   b\nc']],
    ['<div>a<div>b<p>c</p>d</div>e</div>', ['a', 'b', 'c', 'd', 'e']],
    ['<p>&lt;&amp;&gt;"\' &#128512;</p>', ['<&>"\' 😀']],
    ['<p>a\u0001b&#2;c\ufffe</p>', ['abc']],
    ['<p>a <q>b <q>c</q></q></p>', ['a “b ‘c’”']],
    ['<script>x</script><style>y</style><p>z</p><template>t</template><title>q</title>', ['z']],
    ['<p style="display:none">x</p><p hidden>y</p><p>z</p>', ['z']],
    ['<noscript><p>shown</p></noscript>', ['shown']],
    [
      '<p style="text-transform:lowercase">ABC</p><p style="text-transform:capitalize">one two</p>',
      ['abc', 'One Two'],
    ],
    ['', ['']],
  ])('%j', async (html, expected) => {
    expect(await texts(html)).toEqual(expected);
  });
});

it('leaves out the characters that XML cannot hold, wherever they stand', async () => {
  const docx = await convert(
    '<html lang="en&#xffff;"><title>a&#xfffe;b</title><style>ol{list-style-type:"\uffff1"}</style>' +
      `<ol><li>c</ol><ul style="list-style-type:'x&#xfffe;'"><li>d</ul><table>e&#xfffe;f<tr><td>g</table>`,
  );
  expect(first(docx.core, 'dc:title').text).toBe('ab');
  expect(docx.paragraphs.map(textIn)).toEqual(['c', 'd', 'ef', '']);
  expect(all(docx.numbering, 'w:lvlText').map(({ attributes }) => attributes['w:val'])).toContain('x');
});

it('soft hyphens are those of Word, which shows the character as a hyphen', async () => {
  const { body } = await convert('<p>Do&shy;nau&shy;dampf</p>');
  expect(textIn(body)).toBe('Donaudampf');
  expect(all(body, 'w:softHyphen')).toHaveLength(2);
});

it('takes names that every object of JavaScript has for unknown values', async () => {
  const styles = [
    'font-size',
    'font-family',
    'border:1px solid;border-style',
    'white-space',
    'margin:1px;margin',
  ];
  const html = styles.map((style) => `<p style="${style}:constructor">a</p>`).join('');
  const { paragraphs } = await convert(
    `${html}<p style="margin:1constructor;border:solid;border-width:constructor">a</p>
    <ol type="constructor" style="list-style-type:constructor"><li>a</li></ol>`,
  );
  expect(paragraphs.map(textIn)).toEqual(Array.from({ length: 7 }, () => 'a'));
});

describe('letters', () => {
  it.each([
    ['<b>x</b>', { 'w:b': true }],
    ['<strong>x</strong>', { 'w:b': true }],
    ['<span style="font-weight:700">x</span>', { 'w:b': true }],
    ['<i>x</i>', { 'w:i': true }],
    ['<em><b>x</b></em>', { 'w:i': true, 'w:b': true }],
    ['<u>x</u>', { 'w:u': 'single' }],
    ['<s>x</s>', { 'w:strike': true }],
    ['<span style="text-decoration:underline line-through">x</span>', { 'w:u': 'single', 'w:strike': true }],
    ['<u>a<span style="text-decoration:none">x</span></u>', { 'w:u': 'single' }],
    ['<sub>x</sub>', { 'w:vertAlign': 'subscript' }],
    ['<sup>x</sup>', { 'w:vertAlign': 'superscript' }],
    ['<span style="vertical-align:super">x</span>', { 'w:vertAlign': 'superscript' }],
    ['<span style="color:#abc">x</span>', { 'w:color': 'aabbcc' }],
    ['<span style="color:RGB(1, 2, 3)">x</span>', { 'w:color': '010203' }],
    ['<span style="color:hsl(120 100% 50%)">x</span>', { 'w:color': '00ff00' }],
    ['<span style="color:rgba(0,0,0,.5)">x</span>', { 'w:color': '808080' }],
    ['<span style="color:rebeccapurple">x</span>', { 'w:color': '663399' }],
    ['<font color="red" size="5" face="Verdana">x</font>', { 'w:color': 'ff0000', 'w:sz': '36' }],
    ['<span style="font-size:20px">x</span>', { 'w:sz': '30' }],
    ['<span style="font-size:2em"><span style="font-size:50%">x</span></span>', { 'w:sz': undefined }],
    [`${'<span style="font-size:larger">'.repeat(60)}x`, { 'w:sz': '3276' }],
    ['<span style="font-size:14pt">x</span>', { 'w:sz': '28', 'w:szCs': '28' }],
    [
      '<span style="font:italic bold 10pt/1.5 Georgia, serif">x</span>',
      { 'w:i': true, 'w:b': true, 'w:sz': '20' },
    ],
    ['<span style="font-variant:small-caps">x</span>', { 'w:smallCaps': true }],
    ['<span style="text-transform:uppercase">x</span>', { 'w:caps': true }],
    ['<span style="letter-spacing:2pt">x</span>', { 'w:spacing': '40' }],
    ['<b>a<span style="font-weight:normal">x</span></b>', { 'w:b': undefined }],
    ['<h1>x</h1>', { 'w:b': undefined, 'w:sz': undefined }],
    ['<h1><span style="font-weight:normal;font-size:12pt">x</span></h1>', { 'w:b': 'false', 'w:sz': '24' }],
    [
      '<style>.a .b{color:red !important} #c{color:blue}</style><p class="a"><i id="c" class="b">x</i></p>',
      { 'w:color': 'ff0000' },
    ],
    [
      '<style>p > i{color:red} i:first-child{font-weight:bold} q + i{color:blue}</style><p><i>x</i></p>',
      { 'w:color': 'ff0000', 'w:b': true },
    ],
    [
      '<style>:root{--a:#00f;--b:var(--a)} @layer base{i{color:var(--none, var(--B));font-weight:bold}} @supports not (color:red){i{color:lime}}</style><i>x</i>',
      { 'w:color': '0000ff', 'w:b': true },
    ],
    [
      `<style>${Array.from({ length: 40 }, (_, at) => `i{--v${at + 1}:var(--v${at}) var(--v${at})}`).join('')} i{color:var(--v40)}</style><i>x</i>`,
      { 'w:color': undefined },
    ],
    // As in Chromium.
    ['<i style="color:oklch(60% 0.2 30)">x</i>', { 'w:color': 'de3e2d' }],
    ['<i style="color:oklch(0.8 0.15 140 / 50%)">x</i>', { 'w:color': 'c3eaba' }],
    [
      '<style>@media screen{i{color:red}} @media print{i{color:lime}} i:hover{color:blue} bad{{}</style><i>x</i>',
      { 'w:color': '00ff00' },
    ],
    // As Tailwind writes them, with a colour for older browsers.
    [
      '<style>i{color:#00f;background:#ff0} @supports (color:color-mix(in lab,red,red)){i{color:color-mix(in oklab,blue 50%,red);background:light-dark(red,blue)}}</style><i>x</i>',
      { 'w:color': '0000ff', 'w:shd': 'clear' },
    ],
    [
      '<style media="screen">i{display:none}</style><style media="print">i{color:lime}</style><link rel="stylesheet" media="screen" href="data:text/css,i{color:red}"><i>x</i>',
      { 'w:color': '00ff00' },
    ],
  ])('%s', async (html, expected) => {
    const run = runOf(await convert(html), 'x');
    const found = Object.fromEntries(Object.keys(expected).map((name) => [name, valueOf(run, name)]));
    expect(found).toEqual(expected);
  });

  it('fonts go by their first name, generic ones by a common font', async () => {
    const html = `<p><i style='font-family:"My Font", serif'>a</i><i style="font-family:sans-serif">b</i><code>c</code>
      <i style="font-family:${'x'.repeat(99)}, Georgia">d</i></p>`;
    const docx = await convert(html);
    const fonts = ['a', 'b', 'c', 'd'].map((text) => valueOf(runOf(docx, text), 'w:rFonts', 'w:ascii'));
    expect(fonts).toEqual(['My Font', 'Arial', 'Courier New', 'Georgia']);
  });

  it('backgrounds of letters and of paragraphs', async () => {
    const docx = await convert(
      '<p style="background:#eee">a <mark>x</mark></p><p style="background-image:linear-gradient(90deg, transparent, rgb(0, 51, 102) 20%, red);color:white">b</p><p style="--c:navy;background:var(--c)">c</p>',
    );
    const fills = docx.paragraphs.map((one) => valueOf(first(one, 'w:pPr'), 'w:shd', 'w:fill'));
    expect(fills).toEqual(['eeeeee', '003366', '000080']);
    expect(valueOf(runOf(docx, 'x'), 'w:shd', 'w:fill')).toBe('ffff00');
  });

  it('links lead to the web, mail and telephone, and nowhere else', async () => {
    const html = `<base href="https://example.com/dir/">
      <p><a href="page?a=1&amp;b=2">one <b>bold</b></a> <a href="mailto:a@b.example">two</a> <a href="//cdn.example/x">three</a>
      <a href="javascript:alert(1)">four</a> <a href="file:///etc/passwd">five</a> <a href="#here">six</a> <a href=" JAVA\nSCRIPT:x">seven</a>
      <a href="https://example.com/${'x'.repeat(2100)}">eight</a></p><a href="nine" style="display:block">nine</a>`;
    const docx = await convert(html);
    const links = all(docx.body, 'w:hyperlink').map((link) => [
      textIn(link),
      docx.links.get(link.attributes['r:id'] ?? ''),
    ]);
    expect(links).toEqual([
      ['one bold', 'https://example.com/dir/page?a=1&b=2'],
      ['two', 'mailto:a@b.example'],
      ['three', 'https://cdn.example/x'],
      ['nine', 'https://example.com/dir/nine'],
    ]);
    expect(docx.paragraphs.map(textIn)).toEqual(['one bold two three four five six seven eight', 'nine']);
  });
});

describe('right to left', () => {
  it('paragraphs and their stretches of letters', async () => {
    const docx = await convert('<p dir="rtl">שלום <b>עולם</b> with English 123 וגם</p>');
    const [paragraph] = docx.paragraphs;
    expect(valueOf(paragraph ?? docx.body, 'w:bidi')).toBe(true);
    const runs = all(docx.body, 'w:r').map((run) => [textIn(run), valueOf(run, 'w:rtl') === true]);
    expect(runs).toEqual([
      ['שלום ', true],
      ['עולם', true],
      [' ', true],
      ['with English', false],
      [' 123 וגם', true],
    ]);
    expect(textIn(docx.body)).toBe('שלום עולם with English 123 וגם');
  });

  it.each([
    ['<p dir="auto">שלום world</p>', true],
    ['<p dir="auto">world שלום</p>', false],
    ['<p dir="AUTO">12 – «مرحبا»</p>', true],
    ['<p dir="auto">123</p>', false],
    ['<p dir="auto"><bdi>שלום</bdi> <span dir="rtl">שלום</span> world</p>', false],
    ['<p dir="auto"><!-- x --><b><i></i>שלום</b> world</p>', true],
    ['<div dir="auto"><p>שלום</p></div>', true],
    ['<div dir="rtl"><p dir="auto">world</p></div>', false],
    ['<html dir="auto"><p>שלום', true],
  ])('finds the direction of %j by its first letter', async (html, rtl) => {
    const { paragraphs } = await convert(html);
    expect(paragraphs.map((paragraph) => all(paragraph, 'w:bidi').length > 0)).toEqual([rtl]);
  });

  it('turns sides around, as Word means them', async () => {
    const aligned = async (html: string) => valueOf((await convert(html)).body, 'w:jc');
    expect(await aligned('<p dir="rtl">א</p>')).toBeUndefined();
    expect(await aligned('<p dir="rtl" style="text-align:right">א</p>')).toBeUndefined();
    expect(await aligned('<p dir="rtl" style="text-align:left">א</p>')).toBe('right');
    expect(await aligned('<p align="right">a</p>')).toBe('right');
    expect(await aligned('<center>a</center>')).toBe('center');
    expect(await aligned('<p style="text-align:justify">a</p>')).toBe('both');
  });

  it('a page from right to left', async () => {
    const docx = await convert(
      '<html dir="rtl"><body><p>א</p><ul><li>ב</li></ul><table><tr><td>ג</td></tr></table>',
    );
    expect(docx.paragraphs.filter((one) => valueOf(one, 'w:bidi') === true).length).toBe(
      docx.paragraphs.length,
    );
    expect(valueOf(docx.body, 'w:bidiVisual')).toBe(true);
  });
});

describe('East Asian text', () => {
  it.each([
    ['<p>中文</p>', 'Microsoft YaHei', 'zh-CN'],
    ['<p>かな交じり</p>', 'Yu Gothic', 'ja-JP'],
    ['<p>한국어</p>', 'Malgun Gothic', 'ko-KR'],
    ['<p lang="ja">漢字</p>', 'Yu Gothic', 'ja-JP'],
    ['<p lang="zh-TW">漢字</p>', 'Microsoft JhengHei', 'zh-TW'],
  ])('%s', async (html, font, lang) => {
    const { body } = await convert(html);
    expect(valueOf(body, 'w:rFonts', 'w:eastAsia')).toBe(font);
    expect(valueOf(body, 'w:lang', 'w:eastAsia')).toBe(lang);
  });
});
