import { buffer, text } from 'node:stream/consumers';
import type { Readable } from 'node:stream';
import { type ConnectorHooks, HttpError, type InspectedUpload, type ServiceEvent } from 'stowage';
import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import { formOf, type FormFile, startService, type ServiceOptions } from './service.ts';

type InspectUpload = NonNullable<ConnectorHooks['inspectUpload']>;

const start = (inspectUpload: InspectUpload, options: ServiceOptions = {}, more: ConnectorHooks = {}) =>
  startService(options, { ...more, inspectUpload });

const a: FormFile = ['files[0]', 'a.txt', 'content'];

type Refusal = [string, InspectUpload, number, string, RegExp];

describe('the hook inspectUpload', () => {
  it('is told what comes, from whom, and reads it as often as it likes', async () => {
    const seen: object[] = [];
    const streams: Readable[] = [];
    const service = await start(
      async ({ open, ...upload }) => {
        streams.push(open(), open());
        seen.push({ ...upload, texts: [await text(open()), await text(open())] });
      },
      {},
      { checkAuthentication: () => ({ role: 'editor', subject: 'ann' }) },
    );
    await service.source('files').put({ 'sub/deep/': '' });
    const answer = await service.upload([['files[0]', 'My: notes.TXT', 'content']], { path: 'sub/deep' });
    expect(answer.status).toBe(200);
    const upload = {
      source: 'files',
      path: 'sub/deep',
      name: 'My_ notes.TXT',
      mime: 'text/plain',
      bytes: 7,
    };
    expect(seen).toEqual([
      { ...upload, tenant: undefined, role: 'editor', subject: 'ann', texts: ['content', 'content'] },
    ]);
    expect(streams.map(({ destroyed }) => destroyed)).toEqual([true, true]);
  });

  it('sees pictures as they were sent, before anything decodes them', async () => {
    const bytes: Buffer[] = [];
    const service = await start(async ({ open }) => void bytes.push(await buffer(open())), {
      createThumb: false,
      uploadImages: { maxWidth: 10, format: 'webp' },
    });
    const sent = await sharp({ create: { width: 40, height: 20, channels: 3, background: 'red' } })
      .png()
      .toBuffer();
    const picture: FormFile = ['files[0]', 'a.png', new Uint8Array(sent)];
    expect((await service.upload([picture, ['files[1]', 'broken.png', 'broken']])).status).toBe(400);
    expect((await service.upload([picture])).status).toBe(200);
    const body = formOf([picture], { newname: 'b' });
    expect((await fetch(`${service.url}/imageSave`, { method: 'POST', body })).status).toBe(200);
    expect(bytes.map((one) => one.toString('latin1').length)).toEqual([
      sent.length,
      6,
      sent.length,
      sent.length,
    ]);
    expect(bytes[2]?.equals(sent)).toBe(true);
    expect(await service.source('files').paths()).toEqual(['a.webp', 'b.webp']);
  });

  it.each([
    ['a text', () => 'It holds macros.', 422, 'REFUSED_BY_INSPECTION', /"a\.txt".*: It holds macros\.$/u],
    ['a text later', () => Promise.resolve('No.'), 422, 'REFUSED_BY_INSPECTION', /: No\.$/u],
    ['an empty text', () => '', 422, 'REFUSED_BY_INSPECTION', /^The file was refused by the inspection\.$/u],
    [
      'an HttpError',
      (): never => {
        throw new HttpError(418, 'Not here.');
      },
      418,
      'REFUSED_BY_HOST',
      /^Not here\.$/u,
    ],
    [
      'another error',
      (): never => {
        throw new Error('secret of the host');
      },
      500,
      'INTERNAL',
      /^Internal error\.$/u,
    ],
    ['another value', () => false as never, 500, 'INTERNAL', /^Internal error\.$/u],
  ] satisfies Refusal[])('refuses by %s', async (_, hook, status, error, message) => {
    const service = await start(hook, { quota: { bytes: 100 } });
    const answer = await service.upload([a]);
    expect(answer).toMatchObject({ status, data: { error } });
    expect(answer.messages[0]).toMatch(message);
    expect(await service.source('files').paths()).toEqual([]);
    expect((await service.call('permissions')).data['quota']).toMatchObject({ usedBytes: 0 });
  });

  it('speaks the language of the client around its reason', async () => {
    const service = await start(() => 'Macros!');
    const { messages } = await service.upload([a], { language: 'de' });
    expect(messages).toEqual(['Die Datei „a.txt“ wurde bei der Prüfung abgelehnt: Macros!']);
  });

  it('runs once, after the rules and before beforeEvent, and not for what stays inside', async () => {
    const order: string[] = [];
    const events: ServiceEvent[] = [];
    const service = await start(
      ({ name }) => void order.push(`inspect ${name}`),
      {
        accessControl: [{ path: 'closed', FILE_UPLOAD: false, IMAGE_SAVE: false }],
        sources: { one: {}, two: {} },
      },
      {
        beforeEvent: ({ type }) => void order.push(type),
        onEvent: (event) => events.push(event),
      },
    );
    await service.source('one').put({ 'closed/': '' });
    expect((await service.upload([a], { source: 'one', path: 'closed' })).status).toBe(403);
    expect((await service.upload([['files[0]', 'a.exe', '']], { source: 'one' })).status).toBe(403);
    const body = formOf([['files[0]', 'a.png', 'x']], { source: 'one', path: 'closed' });
    expect((await fetch(`${service.url}/imageSave`, { method: 'POST', body })).status).toBe(403);
    expect(order).toEqual([]);
    await service.upload([a], { source: 'one' });
    await service.call('fileCopy', { source: 'two', fromSource: 'one', from: 'a.txt' });
    await service.call('fileRename', { source: 'one', name: 'a.txt', newname: 'b.txt' });
    expect(order).toEqual(['inspect a.txt', 'file.created', 'file.copied', 'file.moved']);
    expect(events.map(({ inspection }) => inspection)).toEqual([{ verdict: 'clean' }, undefined, undefined]);
  });

  it('is left when the client leaves, its streams closed', async () => {
    let opened: Readable | undefined;
    let tell: () => void = () => undefined;
    const asked = new Promise<void>((resolve) => {
      tell = resolve;
    });
    const service = await start(({ open }) => {
      opened = open();
      tell();
      return new Promise(() => undefined);
    });
    const client = new AbortController();
    const sending = fetch(`${service.url}/fileUpload`, {
      method: 'POST',
      body: formOf([a]),
      signal: client.signal,
    });
    await asked;
    client.abort();
    await expect(sending).rejects.toThrow();
    await expect.poll(() => opened?.destroyed).toBe(true);
    await expect.poll(() => service.source('files').paths()).toEqual([]);
  });

  it('opens nothing after it has ended', async () => {
    let kept: InspectedUpload['open'] | undefined;
    const service = await start(({ open }) => {
      kept = open;
    });
    expect((await service.upload([a])).status).toBe(200);
    expect(() => kept?.()).toThrow();
  });
});
