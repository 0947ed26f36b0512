import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import sharp from 'sharp';
import { describe, expect, it, onTestFinished } from 'vitest';
import { runsEverything, shareOfDay } from '../before-release.ts';
import { startCanary, startSite } from '../network/loopback.ts';
import { door, jobOf, startDocuments } from './documents.ts';
import { all, readDocx, textIn, valueOf } from './docx-reader.ts';
import { drawingProcesses, stillRunning } from './processes.ts';
import { referencesTo } from './references.ts';

const PATIENT = { timeout: 20_000 };

/**
 * @see https://github.com/gotenberg/gotenberg/issues/261 (S12), CVE-2026-42596 (S13), CVE-2022-28368 (S14),
 *   CVE-2023-27586 (S15)
 */
describe('what a DOCX may not load', () => {
  it('nothing of this machine is reached under any of its names, and the text is whole', async () => {
    const [documents, canary] = [startDocuments(), await startCanary()];
    const origins = [
      'http://127.0.0.1',
      'http://[::ffff:7f00:1]',
      '//localhost',
      'HTTPS://127.1',
      'ftp://127.0.0.1',
    ];
    const references = origins.map((origin) => referencesTo(`${origin}:${String(canary.port)}`));
    const html = `<p>before</p>${references.join('')}<p>after</p>`;
    const docx = readDocx(await documents.docx(jobOf(html)));
    expect(textIn(docx.body)).toMatch(/^before.*link.*after/su);
    // The drawings that stand in the page itself.
    expect(docx.media.size).toBe(2);
    expect(canary.connections).toBe(0);
    await canary.close();
  });

  it('files of the machine are not read, not by drawings either', async () => {
    const documents = startDocuments();
    const folder = await mkdtemp(join(tmpdir(), 'stowage-secret-'));
    const secret = await sharp({ create: { width: 50, height: 50, channels: 3, background: '#f00' } })
      .png()
      .toBuffer();
    await writeFile(join(folder, 'secret.png'), secret);
    await writeFile(join(folder, 'secret.css'), 'p { display: none }');
    const url = `file://${folder}/secret.png`;
    const svg = `<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="50" height="50">
      <rect width="50" height="50" fill="#0f0"/><image href="${url}" width="50" height="50"/><image xlink:href="${folder}/secret.png" width="50" height="50"/></svg>`;
    const html = `<link rel="stylesheet" href="file://${folder}/secret.css"><p>text</p><img src="${url}"><img src="${folder}/secret.png">
      <img src="data:image/svg+xml,${encodeURIComponent(svg)}"><iframe src="${url}"></iframe>`;
    // Of another size, because one file would do for two equal drawings.
    const inside = svg.replace('width="50"', 'width="60"');
    const docx = readDocx(await documents.docx(jobOf(html + inside)));
    expect(textIn(docx.body)).toBe('text');
    expect(docx.media.size).toBe(2);
    for (const drawn of docx.media.values()) {
      expect((await sharp(drawn).stats()).dominant).toMatchObject({ r: expect.closeTo(8, -1) as number });
    }
    await rm(folder, { recursive: true });
  });
});

describe('what a DOCX does load', () => {
  it('pictures and style sheets with their imports, within limits, unless it is switched off', async () => {
    const picture = await sharp({ create: { width: 50, height: 50, channels: 3, background: '#0f0' } })
      .png()
      .toBuffer();
    const asked: string[] = [];
    const site = await startSite((request, response) => {
      asked.push(request.url ?? '');
      if (request.url === '/css/a.css') {
        response.setHeader('content-type', 'text/css; charset=utf-8');
        response.end('@import url("b.css") layer(base) print; p { color: #00f }');
      } else if (request.url === '/css/b.css') {
        response.setHeader('content-type', 'text/css');
        response.end('p { color: red; font-weight: bold }');
      } else if (request.url === '/page.css') {
        response.setHeader('content-type', 'text/html');
        response.end('p { font-style: italic }');
      } else if (request.url === '/large.png') response.end(Buffer.concat([picture, Buffer.alloc(50_000)]));
      else response.end(picture);
    });
    const documents = startDocuments({ remote: door(true) });
    const html = `<base href="${site.origin}/sub/"><link rel="stylesheet" href="../css/a.css"><link rel="stylesheet" href="/page.css"><p>text</p>
      <img src="a.png"><img src="a.png"><img src="/large.png">`;
    const resources = { enabled: true, maxBytes: 20_000, timeoutMs: 5000 };
    const { body, media } = readDocx(await documents.docx(jobOf(html, { resources })));
    expect([valueOf(body, 'w:color'), valueOf(body, 'w:b'), valueOf(body, 'w:i')]).toEqual([
      '0000ff',
      true,
      undefined,
    ]);
    expect([media.size, all(body, 'wp:inline').length]).toEqual([1, 2]);
    expect(asked.sort()).toEqual(['/css/a.css', '/css/b.css', '/large.png', '/page.css', '/sub/a.png']);

    const closed = readDocx(
      await documents.docx(jobOf(html, { resources: { ...resources, enabled: false } })),
    );
    expect([textIn(closed.body), closed.media.size, valueOf(closed.body, 'w:color')]).toEqual([
      'text',
      0,
      undefined,
    ]);
    expect(asked).toHaveLength(5);
    await site.close();
  });

  it('many pictures, without a warning about listeners', async () => {
    const warnings: string[] = [];
    const note = ({ name }: Error): void => void warnings.push(name);
    process.on('warning', note);
    onTestFinished(() => void process.off('warning', note));
    const png = await sharp({ create: { width: 8, height: 8, channels: 3, background: '#0f0' } })
      .png()
      .toBuffer();
    const pictures = Array.from({ length: 40 }, (_, index) => {
      const own = Buffer.concat([png, Buffer.from([index])]).toString('base64');
      return `<img src="data:image/png;base64,${own}">`;
    });
    const docx = readDocx(await startDocuments().docx(jobOf(pictures.join(''))));
    expect([docx.media.size, warnings]).toEqual([40, []]);
  });
});

describe('limits of DOCX files', () => {
  it.each(
    shareOfDay(2, [
      ['deep boxes', '<div>'.repeat(8000), 'x', 'x'],
      ['deep lists', '<ul><li>'.repeat(2000), 'x', 'x'],
      ['deep inlines', '<b><i><u>'.repeat(1500), 'x', 'x'],
      ['deep tables', '<table><tr><td>'.repeat(1500), 'x', 'x'],
      ['unclosed everything', '<p><b><table><tr><li><a href=x>'.repeat(300), 'x', 'x'],
    ]),
  )('%s do no harm', async (_case, before, text, expected) => {
    const documents = startDocuments();
    const { body } = readDocx(await documents.docx(jobOf(before + text)));
    expect(textIn(body)).toContain(expected);
  });

  it.each([
    ['deeper than anything', '<div>'.repeat(150_000), 'nested too deeply'],
    ['more parts than anything', '<br>x'.repeat(400_000), 'too many parts'],
    ['longer than anything', 'x'.repeat(17 * 1024 * 1024), 'too large'],
  ])('%s is refused with a clear error', async (_case, html, message) => {
    const documents = startDocuments();
    await expect(documents.docx(jobOf(html))).rejects.toMatchObject({
      status: 400,
      message: expect.stringContaining(message) as string,
    });
  });

  it('what takes too long is stopped, and others go on meanwhile and afterwards', async () => {
    const documents = startDocuments({ docxLimits: { convertMs: 4000 } });
    const resources = { enabled: false, maxBytes: 1, timeoutMs: 1 };
    // Every rule has to be held against every one of many siblings.
    const slow = `<style>${'i ~ b ~ i ~ b ~ i ~ .no { color: red }'.repeat(300)}</style>${'<i class="no">x</i><b></b>'.repeat(20_000)}`;
    const [endless, other] = await Promise.allSettled([
      documents.docx(jobOf(slow, { resources })),
      documents.docx(jobOf('<p>quick</p>')),
    ]);
    expect(endless).toMatchObject({
      status: 'rejected',
      reason: { status: 400, message: 'The document takes too long to make.' },
    });
    expect(other.status).toBe('fulfilled');
    expect((await documents.docx(jobOf('<p>next</p>'))).length).toBeGreaterThan(1000);
    // A thread that went on would keep a core busy.
    const cpuShare = async (): Promise<number> => {
      const [before, since] = [process.cpuUsage(), performance.now()];
      await pause(500);
      const { user, system } = process.cpuUsage(before);
      return (user + system) / 1000 / (performance.now() - since);
    };
    await expect.poll(cpuShare, { timeout: 8000 }).toBeLessThan(0.2);
  });

  it('the time for loading is no time for anything else', async () => {
    const documents = startDocuments({ docxLimits: { convertMs: 1 } });
    const resources = { enabled: true, maxBytes: 1, timeoutMs: 60_000 };
    await expect(documents.docx(jobOf('<p>text</p>', { resources }))).rejects.toMatchObject({
      message: 'The document takes too long to make.',
    });
  });

  it.runIf(runsEverything && process.platform === 'linux')(
    'a drawing that takes too much memory is left out',
    async () => {
      const documents = startDocuments({ docxLimits: { drawMs: 60_000 } });
      const layer = '<g opacity="0.9"><rect width="3400" height="3400"/>';
      const layers = (count: number): string =>
        `<svg width="3400" height="3400">${layer.repeat(count)}${'</g>'.repeat(count)}</svg>`;
      const resources = { enabled: false, maxBytes: 1, timeoutMs: 60_000 };
      const { media } = readDocx(await documents.docx(jobOf(layers(1) + layers(60), { resources })));
      expect(media.size).toBe(1);
    },
    120_000,
  );

  it('a picture with too many pixels is left out', async () => {
    const documents = startDocuments({ docxLimits: { maxPixels: 10_000 } });
    const pictures = await Promise.all(
      [99, 101].map((side) =>
        sharp({ create: { width: side, height: side, channels: 3, background: '#0f0' } })
          .png()
          .toBuffer(),
      ),
    );
    const html = pictures.map((bytes) => `<img src="data:;base64,${bytes.toString('base64')}">`).join('');
    const { media } = readDocx(await documents.docx(jobOf(html)));
    expect([...media.values()].map((bytes) => bytes.length)).toEqual([pictures[0]?.length]);
  });

  it.skipIf(process.platform !== 'linux')(
    'a drawing that takes too long is left out, and nobody goes on with it (looks at /proc)',
    async () => {
      const documents = startDocuments({ docxLimits: { drawMs: 500 } });
      const size = 'width="2500" height="2500"';
      const endless = `<svg ${size}><filter id="f" x="0" y="0" width="1" height="1"><feTurbulence baseFrequency="0.5" numOctaves="9999"/></filter>
        <rect ${size} filter="url(#f)"/></svg>`;
      const docx = readDocx(await documents.docx(jobOf(`<p>text${endless}</p>`)));
      expect([textIn(docx.body), docx.media.size]).toEqual(['text', 0]);
      await expect.poll(drawingProcesses, PATIENT).toEqual([]);
    },
  );

  it.skipIf(process.platform !== 'linux')(
    'drawings are drawn by a process that ends with the service, or when it is killed (looks at /proc)',
    async () => {
      const documents = startDocuments();
      const drawing = jobOf('<svg width="9" height="9"><rect width="9" height="9"/></svg>');
      expect(readDocx(await documents.docx(drawing)).media.size).toBe(1);
      const [first = 0, ...others] = await drawingProcesses();
      expect(others).toEqual([]);
      process.kill(first, 'SIGKILL');
      await expect.poll(() => stillRunning([first]), PATIENT).toEqual([]);
      expect(readDocx(await documents.docx(drawing)).media.size).toBe(1);
      expect(await drawingProcesses()).toHaveLength(1);
      await documents.close();
      await expect.poll(drawingProcesses, PATIENT).toEqual([]);
    },
  );

  it('what takes too much memory is stopped, and the service lives', async () => {
    const documents = startDocuments({ docxLimits: { maxHeapMb: 40 } });
    await expect(documents.docx(jobOf('<p>some <b>words</b></p>'.repeat(60_000)))).rejects.toMatchObject({
      status: 400,
    });
    expect((await documents.docx(jobOf('<p>next</p>'))).length).toBeGreaterThan(1000);
  });

  it('a picture that never comes is left out, the job of a disconnected client is aborted, a full queue rejects work', async () => {
    const waiting: unknown[] = [];
    const site = await startSite((_request, response) => void waiting.push(response));
    const html = `<p>text</p><img src="${site.origin}/a.png">`;
    const documents = startDocuments({ remote: door(true), docxLimits: { running: 1, waiting: 1 } });

    const resources = { enabled: true, maxBytes: 1000, timeoutMs: 1500 };
    expect(textIn(readDocx(await documents.docx(jobOf(html, { resources }))).body)).toBe('text');

    const before = waiting.length;
    const caller = new AbortController();
    const running = documents.docx(jobOf(html, { signal: caller.signal }));
    await expect.poll(() => waiting.length, PATIENT).toBe(before + 1);
    const second = documents.docx(jobOf('<p>second</p>'));
    await expect(documents.docx(jobOf('<p>third</p>'))).rejects.toMatchObject({ status: 503 });
    const reason = new Error('The client has gone.');
    caller.abort(reason);
    await expect(running).rejects.toBe(reason);
    expect((await second).length).toBeGreaterThan(1000);
    await expect.poll(() => site.sockets.size, PATIENT).toBe(0);
    await site.close();
  });

  it('after close nothing is made any more', async () => {
    const documents = startDocuments();
    await documents.docx(jobOf('<p>x</p>'));
    await documents.close();
    await expect(documents.docx(jobOf('<p>x</p>'))).rejects.toMatchObject({ status: 503 });
  });
});
