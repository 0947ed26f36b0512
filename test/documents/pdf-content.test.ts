import sharp from 'sharp';
import { describe, expect } from 'vitest';
import { testInTurns } from '../before-release.ts';
import { jobOf, shareDocuments } from './documents.ts';
import {
  drawPage,
  noBrowser,
  noPoppler,
  outlineOf,
  pageSizes,
  pictureCount,
  targetsOf,
  textOf,
  wordsOf,
} from './pdf-tools.ts';

const missing = noBrowser || noPoppler;

const documents = shareDocuments();
const test = testInTurns(2);

const print = (html: string): Promise<Uint8Array> => documents().pdf(jobOf(html));

describe.skipIf(missing)(`links of a PDF ${missing}`, () => {
  test('lead to pages, mail addresses and telephones, and nowhere else', async () => {
    const pdf = await print(`
      <a href="https://a.example/x">a</a> <a href="http://b.example/">b</a> <a href="mailto:c@c.example">c</a>
      <a href="tel:+123">d</a> <a href="//e.example/">e</a>
      <a href="/about">f</a> <a href="about.html">g</a> <a href="">h</a> <a href="?q">i</a>
      <a href="javascript:alert(1)">j</a> <a href="file:///etc/passwd">k</a> <a href=" JavaScript:alert(1)">l</a>
      <a href="data:text/html,x">m</a> <a href="http://document.invalid:80/n">n</a>
      <a href="vbscript:x">o</a> <a href="https://">p</a>
      <svg width="20" height="20"><a href="javascript:alert(2)"><text y="10">q</text></a></svg>
      <svg width="20" height="20"><a xlink:href="/r"><text y="10">r</text></a></svg>
      <form name="querySelectorAll"><input name="removeAttribute"></form>`);
    expect(targetsOf(pdf)).toEqual([
      'http://b.example/',
      'https://a.example/x',
      'https://e.example/',
      'mailto:c@c.example',
      'tel:+123',
    ]);
    expect((await textOf(pdf)).replaceAll(' ', '')).toBe('abcdefghijklmnopqr');
  });

  test('lead to places in the document, and from its base to other pages', async () => {
    const pdf = await print(`<base href="https://base.example/dir/">
      <a href="#there">in</a> <a href="page.html">out</a> <a href="//cdn.example/">cdn</a>
      <p style="page-break-before: always" id="there">there</p>`);
    expect(targetsOf(pdf)).toEqual(['https://base.example/dir/page.html', 'https://cdn.example/']);
    expect(Buffer.from(pdf).toString('latin1')).toContain('/Dest /there');
  });
});

describe.skipIf(missing)(`a PDF ${missing}`, () => {
  test('shows the alternative text of pictures that cannot be had, and no icon', async () => {
    const dot = await sharp({ create: { width: 9, height: 9, channels: 3, background: 'red' } })
      .jpeg()
      .toBuffer();
    const pdf =
      await print(`<p>before <img src="https://nowhere.invalid/a.png" alt="a tree" width="90" height="90">
      <img src="/b.png"> <img src="data:image/png;base64,AAAA" alt="broken"> after</p>`);
    expect(await textOf(pdf)).toBe('before a tree broken after');
    expect(pictureCount(pdf)).toBe(0);
    expect(pictureCount(await print(`<img src="data:;base64,${dot.toString('base64')}">`))).toBe(1);
  });

  test('shows wide pictures, long lines and long words whole, and no text smaller for them', async () => {
    const blue = { create: { width: 1500, height: 600, channels: 3, background: 'blue' } } as const;
    const wide = (
      await sharp({ create: { width: 3000, height: 600, channels: 3, background: 'red' } })
        .composite([{ input: await sharp(blue).png().toBuffer(), left: 1500, top: 0 }])
        .png()
        .toBuffer()
    ).toString('base64');
    const pdf = await print(`<p>before</p><img width="3000" height="1200" src="data:;base64,${wide}">
      <pre>${'code '.repeat(60)}END1</pre><p>https://a.example/${'path/'.repeat(80)}END2</p>
      <table><tr><td><img width="40" height="40" src="data:;base64,${wide}"></td><td>${'text '.repeat(200)}</td></tr></table>`);
    expect(pageSizes(pdf)).toHaveLength(1);
    const words = await wordsOf(pdf);
    expect(words.filter(({ text }) => /END[12]$/u.test(text))).toHaveLength(2);
    expect(Math.max(...words.map(({ right }) => right))).toBeLessThan(595 - 42);
    const [before] = words;
    const [plain] = await wordsOf(await print('<p>before</p>'));
    expect(before).toEqual(plain);
    const { data } = await sharp(await drawPage(pdf))
      .removeAlpha()
      .raw()
      .toBuffer({ resolveWithObject: true });
    const count = (full: number, empty: number): number => {
      let found = 0;
      for (let at = 0; at < data.length; at += 3)
        if ((data[at + full] ?? 0) > 250 && (data[at + empty] ?? 0) < 5) found += 1;
      return found;
    };
    // The picture fills the page, 176 mm, in the ratio of its attributes; the small one keeps its size.
    const half = (50 / 25.4) ** 2 * ((176 * 176 * 0.4) / 2 + (10.6 * 10.6) / 2);
    expect(Math.abs(count(0, 2) / half - 1)).toBeLessThan(0.03);
    expect(Math.abs(count(2, 0) / half - 1)).toBeLessThan(0.03);
  });

  test('shows all columns of wide tables, also of one in the cell of another', async () => {
    const wide = `<table><tr>${'<td>unbreakable</td>'.repeat(60)}</tr></table>`;
    for (const [html, columns] of [
      [wide, 60],
      [`${wide}<table><tr><td>${wide}</td><td>k</td></tr></table>${wide}`, 181],
    ] as const) {
      const words = await wordsOf(await print(html));
      const seen = words.filter(({ right }) => right < 595).map(({ text }) => text);
      expect(seen.join('').match(/k/gu)).toHaveLength(columns);
    }
  });

  test('shows the text of tables as that around them, and that in cells without margins', async () => {
    const style = '<style>body { font-size: 30px; text-align: right }</style>';
    const words = await wordsOf(
      await print(
        `${style}<p>around</p><table><tr><td><p>one</p></td></tr><tr><td><p>two</p></td></tr></table>`,
      ),
    );
    const [around, one, two] = words.map(({ top, bottom }) => ({ top, height: bottom - top }));
    expect(one?.height).toBeCloseTo(around?.height ?? 0, 3);
    expect((two?.top ?? 0) - (one?.top ?? 0)).toBeLessThan(1.5 * (one?.height ?? 0));
    const [lower] = await wordsOf(
      await print('\uFEFF<style>@layer a { p { margin: 100px 0 } }</style><p>one</p>'),
    );
    expect(lower?.top).toBeGreaterThan(100);
    // A whole page is taken as it is.
    const [large, small] = await wordsOf(
      await print(`<html>${style}<p>around</p><table><tr><td>one</td></tr></table>`),
    );
    expect((large?.bottom ?? 0) - (large?.top ?? 0)).toBeGreaterThan(
      1.5 * ((small?.bottom ?? 0) - (small?.top ?? 0)),
    );
  });

  test('has its headings as bookmarks', async () => {
    const pdf = await print('<h1>First</h1><p>text</p><h2>Second</h2><h1>Third</h1>');
    // A bookmark is written after those below it.
    expect(outlineOf(pdf)).toEqual(['Second', 'First', 'Third']);
  });
});
