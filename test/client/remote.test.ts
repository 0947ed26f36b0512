import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { chromium, needsChromium } from './chromium.ts';
import { eventually, useClient } from './client.ts';
import { jpeg, png } from './pictures.ts';

const photos = async () => ({ 'own.jpg': await jpeg() });

/** A web site elsewhere, as far as the page knows, that has one picture. */
const useForeignSite = () => {
  let site: Server;
  let picture: Buffer;
  beforeAll(async () => {
    picture = await png(77, 55);
    site = createServer((_, response) => {
      response.writeHead(200, { 'content-type': 'image/png' }).end(picture);
    }).listen(0, '127.0.0.1');
    await once(site, 'listening');
  });
  afterAll(() => {
    site.close();
    site.closeAllConnections();
  });
  return () => ({
    picture,
    url: `http://127.0.0.1:${String((site.address() as AddressInfo).port)}/foreign%20picture.png`,
  });
};

describe.skipIf(chromium === undefined)(
  `Pictures of other sites with the real client${needsChromium}`,
  () => {
    const client = useClient({ stock: true, photos, config: { allowPrivateNetworkUploads: true } });
    const site = useForeignSite();

    test('are fetched to be edited, and take the place of the foreign one', async () => {
      const { editor, dataDir, demo } = client();
      await editor.write(`<p><img src="${site().url}"></p>`);
      await editor.openPictureEditor();
      // First the client is told that this picture lies in no source, then it offers to fetch it.
      await editor.press('Ok');
      await editor.press('Yes');
      await eventually(() => readdir(path.join(dataDir, 'photos'))).toContain('foreign picture.png');
      expect(await readFile(path.join(dataDir, 'photos', 'foreign picture.png'))).toEqual(site().picture);
      await editor.press('Ok');
      await editor.press('Apply');
      await eventually(() => editor.picturesInText()).toEqual([
        {
          name: 'foreign picture.png',
          url: `${demo.pageUrl}file/photos/foreign%20picture.png`,
          width: 77,
          height: 55,
        },
      ]);
    });
  },
);

describe.skipIf(chromium === undefined)(`Private addresses with the real client${needsChromium}`, () => {
  const client = useClient({ stock: true, photos });
  const site = useForeignSite();

  test('are not fetched, and the person reads why', async () => {
    const { editor, dataDir } = client();
    await editor.write(`<p><img src="${site().url}"></p>`);
    await editor.openPictureEditor();
    await editor.press('Ok');
    await editor.press('Yes');
    await eventually(() => editor.alert()).toMatch(/address/iu);
    expect(await editor.alert()).not.toContain('127.0.0.1');
    expect(await readdir(path.join(dataDir, 'photos'))).not.toContain('foreign picture.png');
  });
});
