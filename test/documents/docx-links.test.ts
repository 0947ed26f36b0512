import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { DocumentMaker } from '../../packages/stowage/dist/documents/documents.js';
import { all, readDocx, textIn, type Docx, type Xml } from './docx-reader.ts';
import { jobOf, openDocuments } from './documents.ts';

let documents: DocumentMaker;
beforeAll(() => {
  documents = openDocuments();
});
afterAll(() => documents.close());

const convert = async (html: string): Promise<Docx> => readDocx(await documents.docx(jobOf(html)));

/** The text of the paragraph that a link inside the document leads to, by the text of the link. */
const destinations = ({ body }: Docx): Record<string, string | undefined> => {
  const paragraphs = all(body, 'w:p');
  const holding = (anchor: string | undefined): Xml | undefined =>
    paragraphs.find((paragraph) =>
      all(paragraph, 'w:bookmarkStart').some(({ attributes }) => attributes['w:name'] === anchor),
    );
  const inner = all(body, 'w:hyperlink').filter(({ attributes }) => attributes['w:anchor'] !== undefined);
  return Object.fromEntries(
    inner.map((link) => {
      const place = holding(link.attributes['w:anchor']);
      return [textIn(link), place && textIn(place)];
    }),
  );
};

describe('links inside of a document', () => {
  it('lead to headings, boxes, cells, pictures and old anchors', async () => {
    const docx =
      await convert(`<p><a href="#head">one</a> <a href="#box">two</a> <a href="#cell">three</a> <a href="#old">four</a>
      <a href="#gr%C3%BC%C3%9Fe">five</a> <a href="#table">six</a> <a href="#end">seven</a></p>
      <h2 id="head">Heading</h2><div id="box"><div><p>first in the box</p><p>second</p></div></div>
      <table id="table"><tr><td>a</td><td id="cell">b</td></tr></table>
      <p>before <a name="old"></a>after</p><p id="grüße">hello</p><p>last</p><a name="end"></a>`);
    expect(destinations(docx)).toEqual({
      one: 'Heading',
      two: 'first in the box',
      three: 'b',
      four: 'before after',
      five: 'hello',
      six: 'a',
      seven: 'last',
    });
  });

  it('make no paragraphs, and no marks where nothing leads to', async () => {
    const docx = await convert('<div id="a"><p id="b">x</p></div><p><a href="#b">y</a></p><p id="c"></p>');
    expect(docx.paragraphs.map(textIn)).toEqual(['x', 'y']);
    expect(all(docx.body, 'w:bookmarkStart')).toHaveLength(1);
  });

  it('are plain text when they lead nowhere', async () => {
    const docx = await convert('<p><a href="#gone">gone</a> <a href="#">top</a> <a href="#%zz">odd</a></p>');
    expect(all(docx.body, 'w:hyperlink')).toEqual([]);
    expect(textIn(docx.body)).toBe('gone top odd');
  });

  it('have names that Word takes, each once', async () => {
    const ids = ['a b', '1', '"quoted"', 'x'.repeat(300), 'ä', 'A', 'a'];
    const html = ids.map(
      (id, index) =>
        `<p><a href="#${encodeURIComponent(id)}">to ${index}</a></p><p id='${id}'>at ${index}</p><p id='${id}'>again</p>`,
    );
    const docx = await convert(html.join(''));
    const names = all(docx.body, 'w:bookmarkStart').map(({ attributes }) => attributes['w:name'] ?? '');
    expect(new Set(names).size).toBe(ids.length);
    for (const name of names) expect(name).toMatch(/^[A-Za-z_]\w{0,39}$/u);
    expect(destinations(docx)).toEqual(
      Object.fromEntries(ids.map((_id, index) => [`to ${index}`, `at ${index}`])),
    );
  });
});
