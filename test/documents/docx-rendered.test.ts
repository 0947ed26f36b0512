import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import { jobOf, startDocuments } from './documents.ts';
import { drawPage, noOffice, noPoppler, officePdf, pageSizes, textOf } from './pdf-tools.ts';

const missing = noOffice || noPoppler;

/** The part of a page, in hundredths, in which a colour is seen: left, top, right, bottom. */
const placeOf = async (page: Buffer, [red, green, blue]: readonly [number, number, number]) => {
  const { data, info } = await sharp(page).removeAlpha().raw().toBuffer({ resolveWithObject: true });
  const place = [100, 100, 0, 0];
  for (let at = 0; at < data.length; at += 3) {
    const [r = 0, g = 0, b = 0] = data.subarray(at, at + 3);
    if (Math.abs(r - red) + Math.abs(g - green) + Math.abs(b - blue) > 40) continue;
    const x = (100 * ((at / 3) % info.width)) / info.width;
    const y = (100 * Math.floor(at / 3 / info.width)) / info.height;
    place.splice(
      0,
      4,
      Math.min(place[0] ?? 0, x),
      Math.min(place[1] ?? 0, y),
      Math.max(place[2] ?? 0, x),
      Math.max(place[3] ?? 0, y),
    );
  }
  return { left: place[0] ?? 0, top: place[1] ?? 0, right: place[2] ?? 0, bottom: place[3] ?? 0 };
};

const square = async (color: string): Promise<string> =>
  `data:image/png;base64,${(
    await sharp({ create: { width: 100, height: 100, channels: 3, background: color } })
      .png()
      .toBuffer()
  ).toString('base64')}`;

// The office program takes seconds to start, on a busy machine many.
const options = { timeout: 90_000 };

describe.skipIf(missing)(`a DOCX file as LibreOffice shows it ${missing}`, options, () => {
  it('has all the words, with numbers and marks', async () => {
    const documents = startDocuments();
    const html = `<h1>Heading</h1><p>Plain <b>bold</b> <i>italic</i> H<sub>2</sub>O</p>
      <ol type="a" start="3"><li>three<ol type="i"><li>inner</li></ol></li><li value="9">nine</li><li>ten</li></ol><ul><li>mark</li></ul>
      <table border="1"><tr><td rowspan="2" valign="top">one</td><td>two</td></tr><tr><td>three<table><tr><td>nested</td></tr></table></td></tr></table>
      <pre>a\n  b</pre><blockquote>quoted</blockquote><p>日本語 中文 한국어</p><p>Ελληνικά Русский</p>
      <p style="page-break-before:always">next page</p>`;
    const pdf = await officePdf(await documents.docx(jobOf(html)));
    expect(pageSizes(pdf)[0]?.map(Math.round)).toEqual([210, 297]);
    // Where a cell stands beside another one, the order in which their words are read is a matter of fonts.
    const words = (await textOf(pdf)).replaceAll(
      /([\u3000-\u9fff\uac00-\ud7af])\s+(?=[\u3000-\u9fff\uac00-\ud7af])/gu,
      '$1',
    );
    const expected =
      'Heading Plain bold italic H2O c. three i. inner i. nine j. ten • mark one two three nested a b quoted 日本語中文한국어 Ελληνικά Русский next page';
    expect(words.split(' ').toSorted()).toEqual(expected.split(' ').toSorted());
    expect(words).toMatch(/^Heading.* c\..* i\. nine j\. ten .*quoted.*Русский next page$/u);
  });

  it('puts pictures, boxes and lines from right to left where they belong', async () => {
    const documents = startDocuments();
    const html = `<p><img src="${await square('#ff0000')}" style="float:right">${'text flows around '.repeat(20)}</p>
      <p style="text-align:center"><img src="${await square('#00ff00')}" width="50"></p>
      <table dir="rtl" style="width:100%"><tr><td style="background:#0000ff;color:#0000ff">א</td><td>ב</td></tr></table>
      <p dir="rtl" style="background:#ff00ff;color:#ff00ff;margin-left:200px">שלום</p>
      <table style="width:50%;margin:auto"><tr><td style="background:#00ffff;color:#00ffff">x</td></tr></table>`;
    const page = await drawPage(await officePdf(await documents.docx(jobOf(html))), 1, 60);
    const [left, right, middle] = [12, 88, 50];
    const red = await placeOf(page, [255, 0, 0]);
    expect(Math.abs(red.right - right)).toBeLessThan(2);
    expect(red.right - red.left).toBeGreaterThan(11);
    const lime = await placeOf(page, [0, 255, 0]);
    expect(Math.abs((lime.left + lime.right) / 2 - middle)).toBeLessThan(1);
    expect(lime.right - lime.left).toBeCloseTo(6.3, 0);
    // The first cell of a table from right to left is the right one.
    const blue = await placeOf(page, [0, 0, 255]);
    expect(Math.abs(blue.right - right)).toBeLessThan(2);
    expect(blue.left).toBeGreaterThan(left + 20);
    const pink = await placeOf(page, [255, 0, 255]);
    expect(Math.abs(pink.right - right)).toBeLessThan(2);
    expect(pink.left).toBeGreaterThan(left + 20);
    const cyan = await placeOf(page, [0, 255, 255]);
    expect(Math.abs((cyan.left + cyan.right) / 2 - middle)).toBeLessThan(2);
    expect(Math.abs(cyan.right - cyan.left - 38)).toBeLessThan(4);
    expect([red.top, lime.top, blue.top, pink.top, cyan.top].toSorted((a, b) => a - b)).toEqual([
      red.top,
      lime.top,
      blue.top,
      pink.top,
      cyan.top,
    ]);
  });
});
