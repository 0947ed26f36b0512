import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { DocumentMaker } from '../../packages/stowage/dist/documents/documents.js';
import { all, readDocx, textIn, valueOf, type Docx } from './docx-reader.ts';
import { jobOf, openDocuments } from './documents.ts';

let documents: DocumentMaker;
beforeAll(() => {
  documents = openDocuments();
});
afterAll(() => documents.close());

const convert = async (html: string): Promise<Docx> => readDocx(await documents.docx(jobOf(html)));

/** Text and target of every link. */
const linksOf = ({ body, links }: Docx) =>
  all(body, 'w:hyperlink').map((link) => [textIn(link), links.get(link.attributes['r:id'] ?? '')]);

describe('what a text document has no counterpart for', () => {
  it('boxes to tick show whether they are ticked', async () => {
    const docx = await convert(
      '<ul><li><input type="checkbox" checked> done</li><li><input type="CHECKBOX"> open</li></ul><p>a<input value="x">b<input type="checkbox" hidden></p>',
    );
    expect(docx.paragraphs.map(textIn)).toEqual(['☑ done', '☐ open', 'axb']);
  });

  it('boxes to tick stand before their text, whatever an editor puts between them', async () => {
    const docx = await convert(
      `<ul data-type="taskList"><li data-type="taskItem"><label><input type="checkbox" checked="checked"><span></span></label><div><p>Tiptap</p><p>more</p></div></li></ul>
      <ul class="todo-list"><li><label><input type="checkbox" disabled><span>CKEditor</span></label></li><li><input type="checkbox"><p>BlockNote</p></li><li><input type="checkbox"><ul><li>below</li></ul></li></ul>`,
    );
    const expected = ['☑ Tiptap', 'more', '☐ CKEditor', '☐ BlockNote', '☐', 'below'];
    expect(docx.paragraphs.map(textIn)).toEqual(expected);
  });

  it('formulas keep their meaning in one line, each once', async () => {
    const docx = await convert(
      `<p><math><mfrac><mn>1</mn><mn>2</mn></mfrac><mo>=</mo><mfrac><mrow><mi>a</mi><mo>+</mo><mn>1</mn></mrow><mn>10</mn></mfrac></math></p>
      <p><math><msqrt><mn>2</mn></msqrt><mroot><mi>x</mi><mn>3</mn></mroot><msubsup><mo>∑</mo><mi>i</mi><mi>n</mi></msubsup><mtable><mtr><mtd>1</mtd><mtd>2</mtd></mtr><mtr><mtd>3</mtd><mtd>4</mtd></mtr></mtable></math></p>
      <p><span class="katex"><span class="katex-mathml"><math><semantics><mrow><msup><mi>c</mi><mn>2</mn></msup></mrow><annotation encoding="application/x-tex">c^2</annotation></semantics></math></span><span class="katex-html" aria-hidden="true"><span>c</span><span>2</span></span></span></p>
      <p><math><mtext>if&nbsp;</mtext><mi> x </mi><mtext>, a <b>bold</b> word</mtext></math></p>
      <p><math>${'<mfrac><mn>1</mn>'.repeat(3000)}</math></p>`,
    );
    const [fractions, roots, katex] = docx.paragraphs;
    expect(docx.paragraphs.slice(0, 4).map(textIn)).toEqual([
      '1/2=(a+1)/10',
      '√23√x∑in1 2; 3 4',
      'c2',
      'if\u00A0x, a bold word',
    ]);
    const scripts = [fractions, roots, katex].map((one) =>
      all(one ?? docx.body, 'w:r').flatMap((run) => {
        const script = valueOf(run, 'w:vertAlign');
        return script === undefined ? [] : [[textIn(run), script]];
      }),
    );
    expect(scripts).toEqual([
      [],
      [
        ['3', 'superscript'],
        ['i', 'subscript'],
        ['n', 'superscript'],
      ],
      [['2', 'superscript']],
    ]);
  });

  it('formulas, choices and fields keep their words', async () => {
    const docx = await convert(
      `<p>area <math><mi>π</mi><msup><mi>r</mi><mn>2</mn></msup><annotation encoding="x">pi r</annotation></math></p>
      <p>size <select><option>S</option><option selected> M </option></select>, <select><option>first</option><option>no</option></select>,
      <select multiple><option selected>a</option><option>b</option><option selected>c</option></select></p>
      <p>note <textarea>line 1\nline 2</textarea></p>
      <p><input type="radio" checked> yes <input type="radio"> no <input type="password" value="secret"><input type="hidden" value="h"></p>`,
    );
    expect(docx.paragraphs.map(textIn)).toEqual([
      'area πr2',
      'size M, first, a, c',
      expect.stringMatching(/^note line 1\s*line 2$/u),
      expect.stringMatching(/^◉ yes ○ no\s*$/u),
    ]);
  });

  it('pictures that cannot be had leave their alternative text', async () => {
    const docx = await convert(
      '<p>before <img src="/gone.png" alt="a tree"> after</p><p><a href="https://a.example/"><img alt="in a link"></a></p><p>x<img src="data:,y">y</p>',
    );
    expect(docx.paragraphs.map(textIn)).toEqual(['before a tree after', 'in a link', 'xy']);
    expect(linksOf(docx)).toEqual([['in a link', 'https://a.example/']]);
  });

  it('films and embedded pages become links', async () => {
    const docx =
      await convert(`<p>see <iframe src="https://www.youtube.com/embed/1" title="Film">no frames</iframe></p>
      <video src="//cdn.example/a.mp4">no film</video><audio><source src="https://cdn.example/b.mp3"><p>no sound</p></audio>
      <figure class="media"><oembed url="https://youtu.be/1"></oembed></figure><iframe src="https://youtu.be/2" style="display:block"></iframe>
      <iframe src="javascript:alert(1)" title="no"></iframe><iframe srcdoc="<p>no</p>"></iframe><video></video>`);
    expect(linksOf(docx)).toEqual([
      ['Film', 'https://www.youtube.com/embed/1'],
      ['https://cdn.example/a.mp4', 'https://cdn.example/a.mp4'],
      ['https://cdn.example/b.mp3', 'https://cdn.example/b.mp3'],
      ['https://youtu.be/1', 'https://youtu.be/1'],
      ['https://youtu.be/2', 'https://youtu.be/2'],
    ]);
    expect(textIn(docx.body)).not.toMatch(/no /u);
  });

  it('links that lead nowhere do not look like links', async () => {
    const docx = await convert(
      '<p><a href="/about">about</a></p><p><a href="javascript:x()">x</a></p><p><a href="#gone" style="color:#ff0000">y</a></p><p><a href="https://a.example/">z</a></p>',
    );
    const looks = docx.paragraphs.map((one) => [valueOf(one, 'w:color'), valueOf(one, 'w:u')]);
    expect(looks).toEqual([
      [undefined, undefined],
      [undefined, undefined],
      ['ff0000', undefined],
      ['0563c1', 'single'],
    ]);
  });

  it('lists that count down do so', async () => {
    const docx = await convert(
      '<ol reversed><li>three</li><li>two<ol reversed start="9"><li>nine</li></ol></li><li>one</li></ol><ol reversed><li>third</li><li value="7">seven</li><li>six</li></ol>',
    );
    const starts = docx.paragraphs.map((paragraph) => {
      const number = all(docx.numbering, 'w:num').find(
        ({ attributes }) => attributes['w:numId'] === valueOf(paragraph, 'w:numId'),
      );
      const abstract = all(docx.numbering, 'w:abstractNum').find(
        ({ attributes }) => attributes['w:abstractNumId'] === valueOf(number ?? paragraph, 'w:abstractNumId'),
      );
      const levels = all(abstract ?? paragraph, 'w:lvl');
      return [
        textIn(paragraph),
        valueOf(levels[Number(valueOf(paragraph, 'w:ilvl'))] ?? paragraph, 'w:start'),
      ];
    });
    expect(starts).toEqual([
      ['three', '3'],
      ['two', '2'],
      ['nine', '9'],
      ['one', '1'],
      ['third', '3'],
      ['seven', '7'],
      ['six', '6'],
    ]);
  });

  it('numbers beyond those of Word are its largest', async () => {
    const docx = await convert(
      '<ol start="99999999999"><li>x</li></ol><p style="margin:9999px;text-indent:-99999px">y</p>',
    );
    const starts = all(docx.numbering, 'w:start').map(({ attributes }) => Number(attributes['w:val']));
    expect(Math.max(...starts)).toBe(2_147_483_647);
    const [, last] = docx.paragraphs;
    for (const [name, ...sides] of [
      ['w:spacing', 'w:before', 'w:after'],
      ['w:ind', 'w:left', 'w:right', 'w:hanging'],
    ] as const) {
      for (const side of sides) {
        expect(Math.abs(Number(valueOf(last ?? docx.body, name, side) ?? 0))).toBeLessThanOrEqual(31_680);
      }
    }
  });
});
