/**
 * `npm run picture`: writes docs/picker.webp, the picture of the picker in the README, from the sample files
 * of the demo. Needs Chromium at CHROMIUM or in a usual location of Debian.
 */
import { once } from 'node:events';
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { launch } from 'puppeteer-core';
import { createRouter } from 'stowage';
import { writeSamples } from '../demo/samples/write-samples.ts';

const root = join(import.meta.dirname, '..');
const target = join(root, 'docs/picker.webp');
const SIZE = { width: 1120, height: 640 };
const LARGEST_BYTES = 150_000;

const page = `<!doctype html><html lang="en"><title>Picker</title>
  <style>html, body { margin: 0 } stowage-picker { display: block; height: ${String(SIZE.height)}px }</style>
  <stowage-picker url="/connector" theme="light"></stowage-picker>
  <script src="/picker.global.js"></script>
  <script>StowagePicker.definePicker();</script></html>`;

const folder = await mkdtemp(join(tmpdir(), 'stowage-picture-'));
await writeSamples(folder, new Date());
const quiet = { debug() {}, info() {}, warn() {}, error() {} };
const router = createRouter(
  {
    sources: {
      photos: { title: 'Photos', root: join(folder, 'photos'), serve: 'public', trash: {} },
      documents: { title: 'Documents', root: join(folder, 'documents'), serve: 'public', trash: {} },
    },
  },
  {},
  { logger: quiet },
);
const script = await readFile(join(root, 'packages/browser/dist/picker.global.js'));
const server = createServer((request, response) => {
  if (request.url === '/') response.setHeader('content-type', 'text/html').end(page);
  else if (request.url === '/picker.global.js')
    response.setHeader('content-type', 'text/javascript').end(script);
  else void router.handler(request, response);
});
await once(server.listen(0, '127.0.0.1'), 'listening');
const browser = await launch({
  executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium-headless-shell',
  headless: 'shell',
  args: ['--no-sandbox'],
});
try {
  const tab = await browser.newPage();
  await tab.setViewport(SIZE);
  const { port } = server.address() as AddressInfo;
  await tab.goto(`http://127.0.0.1:${String(port)}/`);
  await tab.waitForFunction(() => {
    const images = [...(document.querySelector('stowage-picker')?.shadowRoot?.querySelectorAll('img') ?? [])];
    return images.length > 5 && images.every((image) => image.complete && image.naturalWidth > 0);
  });
  await tab.screenshot({ path: target, type: 'webp', quality: 80 });
} finally {
  await browser.close();
  server.closeAllConnections();
  server.close();
  await router.close();
  await rm(folder, { recursive: true });
}
const { size } = await stat(target);
if (size > LARGEST_BYTES) throw new Error(`docs/picker.webp has ${String(size)} bytes: lower its quality.`);
process.stdout.write(`docs/picker.webp: ${String(size)} bytes\n`);
