import { buffer } from 'node:stream/consumers';
import type { Readable } from 'node:stream';
import { type ConnectorHooks, createApp, type DescribedPicture, type ServiceEvent } from 'stowage';
import sharp from 'sharp';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { startSite } from '../network/loopback.ts';
import { formOf, type FormFile, type Service, silent, startService } from './service.ts';
import { create, patch, startTus } from './tus-client.ts';

type DescribePicture = NonNullable<ConnectorHooks['describePicture']>;

const pixels = new Uint8Array(
  await sharp({ create: { width: 40, height: 20, channels: 3, background: 'teal' } })
    .png()
    .toBuffer(),
);
const picture = (name: string): FormFile => ['files[0]', name, pixels];

/** A service whose hook is this, and what is told of it: events about words, and warnings. */
const start = async (
  describePicture: DescribePicture,
  settings: Parameters<typeof startService>[0] = {},
): Promise<{ service: Service; events: ServiceEvent[]; warnings: unknown[] }> => {
  const events: ServiceEvent[] = [];
  const warnings: unknown[] = [];
  const service = await startService(
    { createThumb: false, ...settings },
    {
      describePicture,
      checkAuthentication: () => ({ role: 'editor', subject: 'ann' }),
      onEvent: (event) => (event.type === 'file.described' ? void events.push(event) : undefined),
    },
    { ...silent, warn: (message, fields) => void warnings.push([message, fields]) },
  );
  // Those of the start are about the settings.
  warnings.length = 0;
  return { service, events, warnings };
};

const aboutOf = async (service: Service, name: string): Promise<unknown> => {
  const { data } = await service.call('files', { 'mods[details]': '1' });
  const [source] = data['sources'] as { files: { name: string; about?: unknown }[] }[];
  return source?.files.find((file) => file.name === name)?.about;
};

const post = (service: Service, action: string, fields: Record<string, string>, file: FormFile) =>
  fetch(`${service.url}/${action}`, { method: 'POST', body: formOf([file], fields) });

describe('the hook describePicture', () => {
  it('describes pictures that come by forms, edits and replacements, and nothing else', async () => {
    const seen: object[] = [];
    const streams: Readable[] = [];
    const { service, events } = await start(async ({ open, signal, ...asked }) => {
      streams.push(await open());
      seen.push({ ...asked, length: (await buffer(await open())).length, isOver: signal.aborted });
      return { alt: ` About ${asked.name}\n`, title: '', caption: null, tags: ['x', 'x ', ''] };
    });
    await service.source('files').put({ 'sub/old.png': pixels });
    const answer = await service.upload([picture('a.png'), ['files[1]', 'a.txt', 'text']]);
    expect(answer.status).toBe(200);
    await expect.poll(() => aboutOf(service, 'a.png')).toEqual({ alt: 'About a.png', tags: ['x'] });
    expect((await post(service, 'imageSave', { newname: 'b' }, picture('b.png'))).status).toBe(200);
    await expect.poll(() => aboutOf(service, 'b.png')).toEqual({ alt: 'About b.png', tags: ['x'] });
    const replaced = await post(service, 'fileReplace', { path: 'sub', name: 'old.png' }, picture('old.png'));
    expect(replaced.status).toBe(200);
    await expect.poll(() => events.length).toBe(3);
    const common = { source: 'files', tenant: undefined, mime: 'image/png', about: {}, isOver: false };
    expect(seen).toEqual([
      { ...common, path: '/', name: 'a.png', bytes: pixels.length, length: pixels.length },
      { ...common, path: '/', name: 'b.png', bytes: expect.any(Number), length: expect.any(Number) },
      { ...common, path: 'sub', name: 'old.png', bytes: pixels.length, length: pixels.length },
    ]);
    expect(events[0]).toMatchObject({ path: 'a.png', role: 'service', subject: 'describePicture' });
    expect(streams.every(({ destroyed }) => destroyed)).toBe(true);
  });

  it('describes what comes in parts and from other addresses', async () => {
    const hooks: ConnectorHooks = { describePicture: ({ name }) => ({ alt: `About ${name}` }) };
    const service = await startTus({ allowPrivateNetworkUploads: true }, hooks);
    const { address } = await create(service.tus, pixels.length, { filename: 'a.png' });
    expect((await patch(address, 0, pixels)).status).toBe(200);
    const site = await startSite((_, response) => void response.end(pixels));
    onTestFinished(() => site.close());
    expect((await service.call('fileUploadRemote', { url: `${site.origin}/b.png` })).status).toBe(200);
    for (const name of ['a.png', 'b.png'])
      await expect.poll(() => aboutOf(service, name)).toEqual({ alt: `About ${name}` });
  });

  it('leaves the pictures for later for which too many others wait, and goes on with these', async () => {
    const many = 1010;
    const warnings: string[] = [];
    const described: string[] = [];
    let open: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => {
      open = resolve;
    });
    const hooks: ConnectorHooks = {
      describePicture: async ({ name }) => {
        await gate;
        described.push(name);
      },
    };
    const sources = { files: { title: 'Files', baseurl: 'https://a.test/', storageAdapter: 'memory' } };
    const logger = { ...silent, warn: (message: string) => void warnings.push(message) };
    const app = createApp({ sources, createThumb: false, readTexts: false }, hooks, { logger });
    onTestFinished(() => app.close());
    warnings.length = 0;
    for (let first = 0; first < many; first += 101) {
      const files = Array.from({ length: 101 }, (_, n): FormFile => [
        `files[]`,
        `${String(first + n)}.png`,
        pixels,
      ]);
      const request = new Request('http://service/fileUpload', { method: 'POST', body: formOf(files, {}) });
      expect((await app.fetch(request)).status).toBe(200);
    }
    await expect.poll(() => warnings.length).toBe(many - 1002);
    expect(new Set(warnings)).toEqual(
      new Set(['A picture was not described: too many others wait. stowage describe does it later.']),
    );
    open();
    await expect.poll(() => described.length, { timeout: 20_000 }).toBe(1002);
  });

  it('describes a picture of one tenant beside the thousand that another one has sent', async () => {
    const many = 1010;
    const described: string[] = [];
    let open: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => {
      open = resolve;
    });
    const hooks: ConnectorHooks = {
      resolveSources: ({ headers }) => ({
        id: String(headers['x-tenant']),
        sources: { files: { title: 'Files', baseurl: 'https://a.test/', storageAdapter: 'memory' } },
      }),
      describePicture: async ({ tenant = '', name }) => {
        await gate;
        described.push(`${tenant}/${name}`);
      },
    };
    const app = createApp({ sources: {}, createThumb: false, readTexts: false }, hooks, { logger: silent });
    onTestFinished(() => app.close());
    const upload = async (tenant: string, names: readonly string[]): Promise<number> => {
      const body = formOf(
        names.map((name): FormFile => ['files[]', name, pixels]),
        {},
      );
      const headers = { 'x-tenant': tenant };
      const request = new Request('http://service/fileUpload', { method: 'POST', headers, body });
      return (await app.fetch(request)).status;
    };
    for (let first = 0; first < many; first += 101) {
      const names = Array.from({ length: 101 }, (_, n) => `${String(first + n)}.png`);
      expect(await upload('ann', names)).toBe(200);
    }
    expect(await upload('bob', ['a.png'])).toBe(200);
    open();
    await expect.poll(() => described.indexOf('bob/a.png')).toBeGreaterThan(-1);
    // Sources take turns: it has not waited behind all of them either.
    expect(described.indexOf('bob/a.png')).toBeLessThan(10);
  });

  it('fills only what is empty, whatever the role may, and is not asked where nothing is', async () => {
    const seen: DescribedPicture['about'][] = [];
    const { service, events } = await start(
      ({ about }) => {
        seen.push(about);
        return { alt: 'Other', title: 'Other', focalPoint: { x: 0.1, y: 1 } };
      },
      {
        saveSameFileNameStrategy: 'replace',
        accessControl: [{ role: 'editor', path: 'none', CHANGE: false }],
      },
    );
    await service.source('files').put({ 'a.png': pixels, 'full.png': pixels });
    await service.call('fileDescribe', { name: 'a.png', alt: 'Mine' });
    const all = { alt: 'a', title: 'a', caption: 'a', credit: 'a', 'tags[]': 'a' };
    await service.call('fileDescribe', {
      name: 'full.png',
      ...all,
      'focalPoint[x]': '0',
      'focalPoint[y]': '0',
    });
    events.length = 0;
    await service.upload([picture('full.png')]);
    await service.upload([picture('a.png')]);
    await expect.poll(() => events.map(({ path }) => path)).toEqual(['a.png']);
    expect(await aboutOf(service, 'a.png')).toEqual({
      alt: 'Mine',
      title: 'Other',
      focalPoint: { x: 0.1, y: 1 },
    });
    expect(seen).toEqual([{ alt: 'Mine' }]);
  });

  it('describes with the rights of the service', async () => {
    const { service } = await start(() => ({ alt: 'A' }), { accessControl: [{ FILE_DESCRIBE: false }] });
    expect((await service.upload([picture('a.png')])).status).toBe(200);
    await expect.poll(() => aboutOf(service, 'a.png')).toEqual({ alt: 'A' });
  });

  it.each<[string, DescribePicture, string]>([
    ['throws', () => Promise.reject(new Error('No credit left.')), 'No credit left.'],
    ['returns a text', () => 'A cat' as never, 'no object'],
    ['returns another field', () => ({ altText: 'A cat' }) as never, 'altText'],
    ['returns too long a text', () => ({ alt: 'a'.repeat(2001), title: 'Cat' }), 'alt'],
    ['returns a point outside', () => ({ focalPoint: { x: 2, y: 0 } }), 'focalPoint.x'],
  ])('that %s harms nothing, and is logged', async (_, hook, why) => {
    const { service, events, warnings } = await start(hook);
    expect((await service.upload([picture('a.png')])).status).toBe(200);
    await expect.poll(() => warnings.length).toBe(1);
    expect(warnings[0]).toEqual([
      expect.stringMatching(/^A picture was not described: .* stowage describe /u),
      expect.objectContaining({ source: 'files', path: 'a.png' }),
    ]);
    const [, { error }] = warnings[0] as [string, { error: Error & { detail?: string } }];
    expect(error.detail ?? error.message).toContain(why);
    expect(await aboutOf(service, 'a.png')).toBeUndefined();
    expect(events).toEqual([]);
  });

  it('that takes more than a minute is left, and the next picture is described', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    try {
      const signals: AbortSignal[] = [];
      const { service, warnings } = await start(({ name, signal }) => {
        if (name === 'b.png') return { alt: 'B' };
        signals.push(signal);
        return new Promise(() => undefined);
      });
      await service.upload([picture('a.png')]);
      await vi.waitUntil(() => signals.length === 1, { timeout: 10_000 });
      expect(warnings).toEqual([]);
      vi.advanceTimersByTime(60_001);
      expect(signals[0]?.aborted).toBe(true);
      vi.useRealTimers();
      await service.upload([picture('b.png')]);
      await expect.poll(() => aboutOf(service, 'b.png')).toEqual({ alt: 'B' });
      expect(warnings).toHaveLength(1);
    } finally {
      vi.useRealTimers();
    }
  });

  it('says nothing about content that another one has replaced meanwhile', async () => {
    const { service, events } = await start(async ({ name }) => {
      if (name === 'b.png') return { alt: 'B' };
      await service.source('files').put({ 'a.png': 'another picture' });
      return { alt: 'Of the older one' };
    });
    await service.upload([picture('a.png')]);
    await service.upload([picture('b.png')]);
    await expect.poll(() => events.map(({ path }) => path)).toEqual(['b.png']);
    expect(await aboutOf(service, 'a.png')).toBeUndefined();
  });

  it('is stopped when the service closes', async () => {
    let asked: AbortSignal | undefined;
    const hooks: ConnectorHooks = {
      describePicture: ({ signal }) => {
        asked = signal;
        return new Promise(() => undefined);
      },
    };
    const sources = { files: { title: 'Files', baseurl: 'https://a.test/', storageAdapter: 'memory' } };
    const app = createApp({ sources, createThumb: false }, hooks, { logger: silent });
    for (const name of ['a.png', 'b.png', 'c.png']) {
      const body = formOf([picture(name)]);
      const request = new Request('http://service/fileUpload', { method: 'POST', body });
      expect((await app.fetch(request)).status).toBe(200);
    }
    await vi.waitUntil(() => asked !== undefined);
    await app.close();
    expect(asked?.aborted).toBe(true);
  });
});
