import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import sharp from 'sharp';
import { describe, expect, it, onTestFinished } from 'vitest';
import { mostly, runsEverything } from '../before-release.ts';
import { startService, type Service, type ServiceOptions } from '../protocol/service.ts';
import { readDocx } from './docx-reader.ts';
import { drawPage, noBrowser, noPoppler } from './pdf-tools.ts';

const red = () =>
  sharp({ create: { width: 60, height: 60, channels: 3, background: '#f00' } })
    .png()
    .toBuffer();

/** A web server of this machine that counts what it is asked for. */
const listen = async (): Promise<{ origin: string; asked: string[] }> => {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url ?? '');
    response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked };
};

const start = async (settings: object = {}, options: ServiceOptions = {}) => {
  const { origin, asked } = await listen();
  const baseurl = `${origin}/files/`;
  const service = await startService({
    sources: { files: { baseurl, baseurlAliases: ['https://cdn.example/pictures/'], ...settings } },
    ...options,
  });
  await service.source('files').put({ 'sub/a b.png': await red(), '_thumbs/a.png': await red() });
  return { service, origin, asked };
};

interface Listing {
  readonly sources: readonly {
    readonly baseurl: string;
    readonly path: string;
    readonly files: readonly {
      readonly thumb: string;
      readonly variants: Readonly<Record<string, string>>;
    }[];
  }[];
}

const generate = async (service: Service, action: string, html: string): Promise<Uint8Array> => {
  const body = new URLSearchParams({ html });
  const response = await fetch(`${service.url}/${action}`, { method: 'POST', body });
  expect(response.status).toBe(200);
  return new Uint8Array(await response.arrayBuffer());
};

/** Whether the document shows the red picture. */
const shows = {
  generateDocx: async (service: Service, html: string): Promise<boolean> =>
    readDocx(await generate(service, 'generateDocx', html)).media.size > 0,
  generatePdf: async (service: Service, html: string): Promise<boolean> => {
    const page = await drawPage(await generate(service, 'generatePdf', html));
    const data = await sharp(page).removeAlpha().raw().toBuffer();
    for (let at = 0; at < data.length; at += 3) {
      if ((data[at] ?? 0) > 240 && (data[at + 1] ?? 255) < 20 && (data[at + 2] ?? 255) < 20) return true;
    }
    return false;
  },
};

describe.each(['generateDocx', 'generatePdf'] as const)('own pictures by %s', (action) => {
  const skip = action === 'generatePdf' && (noBrowser !== '' || noPoppler !== '');
  const isShown = shows[action];

  it.skipIf(skip)('are read from their source, without any request', async () => {
    const { service, origin, asked } = await start({ pdf: { isRemoteEnabled: false } });
    const urls = [
      `${origin}/files/sub/a%20b.png?1`,
      `${origin.replace('http:', '')}/files/sub/a b.png`,
      '/files/sub/a%20b.png',
      'https://cdn.example/pictures/sub/a%20b.png',
      '//cdn.example/pictures/sub/a%20b.png',
    ];
    for (const url of action === 'generatePdf' ? mostly(1, urls) : urls) {
      expect(await isShown(service, `<p>text <img src="${url}"></p>`), url).toBe(true);
    }
    expect(asked).toEqual([]);
  });

  it.skipIf(skip || (action === 'generatePdf' && !runsEverything))(
    'are read by the links of their thumbnails and variants',
    async () => {
      const imagePresets = { card: { width: 30 }, wide: { width: 40, format: 'webp' } };
      const signingSecret = 'a key that is long enough to sign with';
      // Documents of both kinds look for pictures in the same way.
      for (const serve of action === 'generatePdf'
        ? (['signed'] as const)
        : (['off', 'public', 'signed'] as const)) {
        const settings = { serve, imagePresets, ...(serve === 'off' ? {} : { baseurl: null }) };
        const { service } = await start(settings, { signingSecret });
        await service.source('files').put({ 'sub/é.png': await red() });
        const query = { path: 'sub', 'mods[variants]': 'true' };
        const { sources } = ((await (await service.get('files', query)).json()) as { data: Listing }).data;
        const { baseurl, path, files } = sources[0] ?? { baseurl: '', path: '', files: [] };
        const links = files.flatMap(({ thumb, variants }) => [
          ...Object.values(variants),
          ...(serve === 'off' ? [] : [thumb]),
        ]);
        expect(links).toHaveLength(serve === 'off' ? 4 : 6);
        for (const link of links) {
          const url = link.startsWith('/') ? link : `${baseurl}${path}/${link}`;
          expect(await isShown(service, `<p>text <img src="${url}"></p>`), url).toBe(true);
        }
      }
    },
  );

  it.skipIf(skip || (action === 'generatePdf' && !runsEverything))(
    'stay out where the role, the names or the limits of the source say so',
    async () => {
      const file = '<p>text <img src="/files/sub/a%20b.png"></p>';
      const accessControl = [{ FILE_DOWNLOAD: false, IMAGE_LOAD: false }];
      const cases: readonly [string, object, ServiceOptions][] = [
        [file, {}, { accessControl }],
        [file, { extensions: ['txt'] }, {}],
        [file, { excludeDirectoryNames: ['sub'] }, {}],
        [file, { maxFileSize: 10 }, {}],
        ['<p>text <img src="/files/_thumbs/a.png"></p>', {}, {}],
        ['<p>text <img src="/files/%2e%2e/secret.png"></p>', {}, {}],
      ];
      // Documents of both kinds look for pictures in the same way, and a service that prints has a browser to start.
      for (const [html, settings, options] of action === 'generatePdf' ? cases.slice(0, 1) : cases) {
        const { service, asked } = await start(settings, options);
        expect(await isShown(service, html), JSON.stringify([html, settings, options])).toBe(false);
        expect(asked).toEqual([]);
      }
      const { service } = await start({}, { accessControl: [{ FILE_DOWNLOAD: false }] });
      expect(await isShown(service, file)).toBe(true);
    },
  );
});

describe.each(mostly(1, ['generateDocx', 'generatePdf']))('the HTML of %s', (action) => {
  it.skipIf(action === 'generatePdf' && noBrowser !== '')(
    'may be as large as a file in a form, and not larger',
    async () => {
      const service = await startService({ sources: { files: { maxUploadFileSize: '3mb' } } });
      const send = async (url: string, bytes: number, action?: string): Promise<number> => {
        const form = new FormData();
        form.append('html', `<p>text</p><!--${'x'.repeat(bytes)}-->`);
        if (action !== undefined) form.append('action', action);
        const response = await fetch(url, { method: 'POST', body: form });
        await response.arrayBuffer();
        return response.status;
      };
      const mb = 1024 * 1024;
      expect(await send(`${service.url}/${action}`, 2 * mb)).toBe(200);
      expect(await send(service.url, 2 * mb, action)).toBe(200);
      expect(await send(`${service.url}/${action}`, 4 * mb)).toBe(413);
      // Only documents are that long.
      expect(await send(`${service.url}/files`, 2 * mb)).toBe(413);
      expect(await send(service.url, 2 * mb, 'files')).toBe(413);
    },
  );
});
