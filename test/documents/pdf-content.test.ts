import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import { jobOf, startDocuments } from './documents.ts';
import { noBrowser, noPoppler, outlineOf, pictureCount, targetsOf, textOf } from './pdf-tools.ts';

const missing = noBrowser || noPoppler;

const print = (html: string): Promise<Uint8Array> => startDocuments().pdf(jobOf(html));

describe.skipIf(missing)(`links of a PDF ${missing}`, () => {
  it('lead to pages, mail addresses and telephones, and nowhere else', async () => {
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

  it('lead to places in the document, and from its base to other pages', async () => {
    const pdf = await print(`<base href="https://base.example/dir/">
      <a href="#there">in</a> <a href="page.html">out</a> <a href="//cdn.example/">cdn</a>
      <p style="page-break-before: always" id="there">there</p>`);
    expect(targetsOf(pdf)).toEqual(['https://base.example/dir/page.html', 'https://cdn.example/']);
    expect(Buffer.from(pdf).toString('latin1')).toContain('/Dest /there');
  });
});

describe.skipIf(missing)(`a PDF ${missing}`, () => {
  it('shows the alternative text of pictures that cannot be had, and no icon', async () => {
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

  it('has its headings as bookmarks', async () => {
    const pdf = await print('<h1>First</h1><p>text</p><h2>Second</h2><h1>Third</h1>');
    // A bookmark is written after those below it.
    expect(outlineOf(pdf)).toEqual(['Second', 'First', 'Third']);
  });
});
