import type { Protocol } from 'puppeteer-core';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { chromium, needsChromium } from './chromium.ts';
import { eventually } from './client.ts';
import type { EditorPage } from './editor-page.ts';
import { type JoinedPage, joinPage } from './joined-page.ts';
import type { Files } from './pictures.ts';

/** A photo of about 1.3 MB: grains keep a JPEG large, and are gone in a thumbnail. */
const photo = (width: number): Promise<Buffer> =>
  sharp({
    create: {
      width,
      height: 1500,
      channels: 3,
      background: '#808080',
      noise: { type: 'gaussian', mean: 128, sigma: 30 },
    },
  })
    .jpeg({ quality: 80 })
    .toBuffer();

/** Sixty photos of two kinds. */
const album = async (): Promise<Files> => {
  const kinds = await Promise.all([2200, 2201].map(photo));
  return Object.fromEntries(
    Array.from({ length: 60 }, (_, index) => [
      `IMG ${String(index).padStart(2, '0')}.jpg`,
      kinds[index % kinds.length] ?? Buffer.alloc(0),
    ]),
  );
};

describe.skipIf(chromium === undefined)(`A folder of sixty new photos${needsChromium}`, () => {
  let joined: JoinedPage;
  let editor: EditorPage;
  let photos: Files;

  beforeAll(async () => {
    photos = await album();
    joined = await joinPage(photos, (root) => ({
      sources: { photos: { title: 'Photos', root, serve: 'public' } },
    }));
    editor = await joined.visit();
  });
  afterAll(() => joined.close());

  test('is shown by thumbnails, listing and all in less than 1.5 MB, and by no original', async () => {
    const whole = Object.values(photos).reduce((sum, { length }) => sum + length, 0);
    expect(whole).toBeGreaterThan(60 * 1_200_000);
    const session = await editor.page.createCDPSession();
    const urls = new Map<string, string>();
    let bytes = 0;
    session.on(
      'Network.responseReceived',
      ({ requestId, response }: Protocol.Network.ResponseReceivedEvent) => urls.set(requestId, response.url),
    );
    session.on('Network.loadingFinished', ({ encodedDataLength }: Protocol.Network.LoadingFinishedEvent) => {
      bytes += encodedDataLength;
    });
    await session.send('Network.enable');
    const picker = await editor.browse();
    const seen = new Set<string>();
    const see = async (): Promise<number> => {
      for (const { name, width, height } of await picker.thumbnails())
        if (width > 100 && height > 100) seen.add(name);
      return seen.size;
    };
    await eventually(see).toBeGreaterThan(20);
    await picker.press('End');
    await eventually(see).toBe(60);
    const pictures = [...urls.values()].filter((url) => url.includes('/file/'));
    expect(pictures).toHaveLength(60);
    expect(pictures.filter((url) => !url.includes('/_thumbs/'))).toEqual([]);
    expect(bytes).toBeLessThan(1_500_000);
  });
});
