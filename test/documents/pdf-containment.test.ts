import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { DocumentMaker } from '../../packages/stowage/dist/documents/documents.js';
import { mostly } from '../before-release.ts';
import { startCanary, startSite, type Canary } from '../network/loopback.ts';
import { door, jobOf, openDocuments } from './documents.ts';
import { drawPage, noBrowser, noPoppler, pageSizes, textOf } from './pdf-tools.ts';
import { referencesTo } from './references.ts';

const missing = noBrowser || noPoppler;

const square = (color: string): Promise<Buffer> =>
  sharp({ create: { width: 100, height: 100, channels: 3, background: color } })
    .png()
    .toBuffer();

/** How many pixels of a page have about this colour. */
const pixelsOf = async (
  pdf: Uint8Array,
  [red, green, blue]: readonly [number, number, number],
): Promise<number> => {
  const data = await sharp(await drawPage(pdf))
    .removeAlpha()
    .raw()
    .toBuffer();
  let count = 0;
  for (let at = 0; at < data.length; at += 3) {
    const distance =
      Math.abs((data[at] ?? 0) - red) +
      Math.abs((data[at + 1] ?? 0) - green) +
      Math.abs((data[at + 2] ?? 0) - blue);
    if (distance < 30) count += 1;
  }
  return count;
};

const RED = [255, 0, 0] as const;
const LIME = [0, 255, 0] as const;
const BLUE = [0, 0, 255] as const;

/**
 * @see https://github.com/gotenberg/gotenberg/issues/261 (S12), CVE-2026-42596, CVE-2026-45741 (S13),
 *   CVE-2022-28368 (S14)
 */
describe.skipIf(missing)(`what a PDF may not load ${missing}`, () => {
  let documents: DocumentMaker;
  let canary: Canary;

  beforeAll(async () => {
    canary = await startCanary();
    documents = openDocuments();
    await documents.pdf(jobOf('warm'));
  });
  afterAll(async () => {
    await documents.close();
    await canary.close();
  });

  const origins = [
    'http://127.0.0.1',
    'HTTP://LOCALHOST',
    'http://[::1]',
    'http://[::ffff:127.0.0.1]',
    'http://[2002:7f00:1::]',
    'http://2130706433',
    'https://127.0.0.1',
    '//127.0.0.1',
    'ws://127.0.0.1',
    'blob:http://127.0.0.1',
    'ftp://127.0.0.1',
  ];
  // All in one document, and before a release each in its own too.
  const documentsOf = mostly(1, [origins, ...origins.map((origin) => [origin])]);

  it.each(documentsOf.map((all) => ({ all })))(
    'nothing at $all is reached, and the document is whole',
    async ({ all }) => {
      const references = all.map((origin) => referencesTo(`${origin}:${String(canary.port)}`));
      const pdf = await documents.pdf(jobOf(`<p>before</p>${references.join('')}<p>after</p>`));
      const text = await textOf(pdf);
      expect(text).toMatch(/^before .*after/u);
      expect(text).not.toContain('SCRIPT RAN');
      expect(canary.connections).toBe(0);
    },
  );

  it('files of the machine do not show', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'stowage-secret-'));
    await writeFile(join(folder, 'secret.txt'), 'SECRET TEXT');
    await writeFile(join(folder, 'secret.html'), '<p>SECRET TEXT</p>');
    await writeFile(join(folder, 'secret.css'), 'p { display: none }');
    await writeFile(join(folder, 'secret.png'), await square('#ff0000'));
    const urls = [
      `file://${folder}/secret.png`,
      `FILE:///${folder}/secret.png`,
      `file://localhost${folder}/secret.png`,
    ];
    const html = urls
      .map(
        (url) => `<img src="${url}"><div style="width:90px;height:90px;background:url(${url})"></div>
          <iframe src="${url.replace('.png', '.txt')}"></iframe><object data="${url.replace('.png', '.html')}"></object>
          <embed src="${url.replace('.png', '.html')}"><link rel="stylesheet" href="${url.replace('.png', '.css')}">
          <iframe src="view-source:${url.replace('.png', '.txt')}"></iframe><iframe src="chrome://version"></iframe>`,
      )
      .join('');
    const pdf = await documents.pdf(jobOf(`<p>before</p>${html}<p>after</p>`));
    expect(await textOf(pdf)).toBe('before after');
    expect(await pixelsOf(pdf, RED)).toBe(0);
    await rm(folder, { recursive: true });
  });

  it('a redirect inwards is not followed', async () => {
    const site = await startSite((_request, response) => {
      response.writeHead(302, { location: `http://127.0.0.1:${canary.port}/` }).end();
    });
    const asked = new Set<string>();
    const real = door();
    const lifting = openDocuments({
      remote: {
        fetch: (url, options) =>
          real.fetch(url, {
            ...options,
            // For the first hop only.
            get allowPrivate() {
              const first = !asked.has(url);
              asked.add(url);
              return first;
            },
          }),
      },
    });
    const html = `<p>text</p><img src="${site.origin}/a.png"><link rel="stylesheet" href="${site.origin}/a.css">`;
    expect(await textOf(await lifting.pdf(jobOf(html)))).toBe('text');
    expect(asked.size).toBe(2);
    expect(canary.connections).toBe(0);
    await lifting.close();
    await site.close();
  });
});

describe.skipIf(missing)(`what a PDF does load ${missing}`, () => {
  it('pictures, style sheets with their imports, within limits, unless it is switched off', async () => {
    const [picture, large] = [
      await square('#00ff00'),
      Buffer.concat([await square('#ff0000'), Buffer.alloc(50_000)]),
    ];
    const asked: string[] = [];
    const site = await startSite((request, response) => {
      asked.push(request.url ?? '');
      const type = request.url?.endsWith('.css') ? 'text/css' : 'image/png';
      response.setHeader('content-type', type);
      if (request.url === '/a.css') response.end('@import "b.css"; p { color: white }');
      else if (request.url === '/b.css') response.end('p { background: #00f; height: 50px }');
      else if (request.url === '/large.png') response.end(large);
      else response.end(picture);
    });
    const documents = openDocuments({ remote: door(true) });
    const html = `<link rel="stylesheet" href="${site.origin}/a.css"><p>text</p>
      <img src="${site.origin}/a.png"><img src="${site.origin}/large.png">
      <img src="data:image/png;base64,${picture.toString('base64')}">`;
    const resources = { enabled: true, maxBytes: 20_000, timeoutMs: 5000 };
    const pdf = await documents.pdf(jobOf(html, { resources }));
    // Two squares of 100 px at 50 dpi, and a bar.
    expect(await pixelsOf(pdf, LIME)).toBeGreaterThan(2 * 50 * 50 * 0.9);
    expect(await pixelsOf(pdf, BLUE)).toBeGreaterThan(1000);
    expect(await pixelsOf(pdf, RED)).toBe(0);
    expect(asked.sort()).toEqual(['/a.css', '/a.png', '/b.css', '/large.png']);

    const closed = await documents.pdf(jobOf(html, { resources: { ...resources, enabled: false } }));
    expect(await pixelsOf(closed, BLUE)).toBe(0);
    const embedded = await pixelsOf(closed, LIME);
    expect(embedded).toBeGreaterThan(50 * 50 * 0.9);
    expect(embedded).toBeLessThan(50 * 50 * 1.2);
    expect(asked).toHaveLength(4);
    await documents.close();
    await site.close();
  });

  it('prints backgrounds and obeys @page, whose size gives way to a chosen one', async () => {
    const documents = openDocuments();
    const html =
      '<style>@page { size: A5 landscape; margin: 0 } body { margin: 0; background: #00f }</style><div style="height:400px">x</div>';
    const free = await documents.pdf(jobOf(html));
    expect(pageSizes(free).map((size) => size.map(Math.round))).toEqual([[210, 148]]);
    const page = await sharp(await drawPage(free)).metadata();
    expect(await pixelsOf(free, BLUE)).toBeGreaterThan(page.width * page.height * 0.95);
    const chosen = await documents.pdf(jobOf(html, { page: { format: 'A4', orientation: 'portrait' } }));
    expect(pageSizes(chosen).map((size) => size.map(Math.round))).toEqual([[210, 297]]);
    await documents.close();
  });
});
