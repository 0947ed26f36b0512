import { mkdtemp, rm } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ServiceEvent } from 'stowage';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { startSite } from '../network/loopback.ts';
import {
  EICAR,
  EICAR_NAME,
  hasClamd,
  MOST_STREAMED,
  needsClamd,
  type RunningClamd,
  startClamd,
} from './clamd.ts';
import { startFalseClamd } from './clamd.ts';
import { formOf, type Service, silent, startService } from './service.ts';
import { create, patch, startTus } from './tus-client.ts';

let clamd: RunningClamd;
beforeAll(async () => {
  if (hasClamd) clamd = await startClamd();
});
afterAll(() => clamd?.stop());

const REFUSED = {
  status: 422,
  success: false,
  data: { error: 'REFUSED_BY_INSPECTION', details: { reason: EICAR_NAME } },
};

/** A service with a source that is inspected, and one that is not, which holds files. */
const inspecting = async (
  settings: object = {},
  files: Readonly<Record<string, string>> = {},
  events: ServiceEvent[] = [],
): Promise<Service> => {
  const service = await startService(
    {
      sources: { safe: { inspection: { clamd: clamd.unix }, ...settings }, loose: {} },
      allowPrivateNetworkUploads: true,
    },
    { onEvent: (event) => events.push(event) },
  );
  await service.source('loose').put(files);
  return service;
};

const withSite = async (body: string): Promise<string> => {
  const site = await startSite((_, response) => void response.end(body));
  onTestFinished(() => site.close());
  return site.origin;
};

const send = async (service: Service, action: string, name: string, fields = {}, content = EICAR) => {
  const response = await fetch(`${service.url}/${action}`, {
    method: 'POST',
    body: formOf([['files[0]', name, content]], { source: 'safe', ...fields }),
  });
  return { status: response.status, ...((await response.json()) as { success: boolean; data: object }) };
};

describe.skipIf(!hasClamd)(`clamd refuses what it knows${needsClamd}`, () => {
  it.each([
    ['a form', (service: Service) => send(service, 'fileUpload', 'a.txt')],
    ['a picture that cannot be decoded', (service: Service) => send(service, 'fileUpload', 'a.png')],
    ['an edited picture', (service: Service) => send(service, 'imageSave', 'a.png')],
    ['an edited picture of no type', (service: Service) => send(service, 'imageSave', 'a', { newname: 'b' })],
    [
      'a drawing that would be cleaned',
      (service: Service) => send(service, 'imageSave', 'a.svg', {}, `<svg><text>${EICAR}</text></svg>`),
    ],
    [
      'new content of a file',
      (service: Service) => send(service, 'fileReplace', 'b.txt', { name: 'old.txt' }),
    ],
    [
      'new content from an address',
      async (service: Service) =>
        service.call('fileReplace', {
          source: 'safe',
          name: 'old.txt',
          url: `${await withSite(EICAR)}/n.txt`,
        }),
    ],
    [
      'a remote file',
      async (service: Service) =>
        service.call('fileUploadRemote', { source: 'safe', url: `${await withSite(EICAR)}/a.txt` }),
    ],
    [
      'a saved document',
      (service: Service) =>
        service.call('generateDocx', { source: 'safe', html: `<p>${EICAR}</p>`, name: 'a' }),
    ],
    [
      'a copy',
      (service: Service) => service.call('fileCopy', { source: 'safe', fromSource: 'loose', from: 'a.txt' }),
    ],
    [
      'a move',
      (service: Service) => service.call('fileMove', { source: 'safe', fromSource: 'loose', from: 'a.txt' }),
    ],
    [
      'a folder that is copied',
      (service: Service) => service.call('folderCopy', { source: 'safe', fromSource: 'loose', from: 'f' }),
    ],
    [
      'a folder that is moved',
      (service: Service) => service.call('folderMove', { source: 'safe', fromSource: 'loose', from: 'f' }),
    ],
  ])('%s', async (_, act) => {
    const events: ServiceEvent[] = [];
    const loose = { 'a.txt': EICAR, 'f/one.txt': 'clean', 'f/sub/two.txt': EICAR, 'f/three.txt': 'clean' };
    const pictures = { uploadImages: { maxWidth: 100 }, quota: { bytes: 10_000, files: 10 } };
    const service = await inspecting(pictures, loose, events);
    await service.source('safe').put({ 'old.txt': 'old' });
    expect(await act(service)).toMatchObject(REFUSED);
    expect(await service.source('safe').paths()).toEqual(['old.txt']);
    expect(await service.source('safe').text('old.txt')).toBe('old');
    expect(await service.source('loose').paths()).toEqual([
      'a.txt',
      ...['', 'one.txt', 'sub/', 'sub/two.txt', 'three.txt'].map((path) => `f/${path}`),
    ]);
    expect(events.filter(({ source }) => source !== undefined)).toEqual([]);
    // Counted while others are answered.
    const quota = async (): Promise<unknown> =>
      (await service.call('permissions', { source: 'safe' })).data['quota'];
    await expect.poll(quota).toMatchObject({ usedBytes: 3, usedFiles: 1 });
  });

  it.each(['unix', 'tcp'] as const)('a form of many files, whole, over %s', async (kind) => {
    const service = await inspecting({ inspection: { clamd: clamd[kind] } });
    const files = Array.from(
      { length: 9 },
      (_, n) => ['files[]', `${String(n)}.txt`, n === 6 ? EICAR : 'clean'] as const,
    );
    const answer = await service.upload(files, { source: 'safe' });
    expect(answer).toMatchObject({ ...REFUSED, data: { details: { name: '6.txt', reason: EICAR_NAME } } });
    expect(answer.messages[1]).toBe('Nothing was uploaded because of "6.txt".');
    expect(await service.source('safe').paths()).toEqual([]);
  });

  it('an upload in parts, which is removed then', async () => {
    const service = await startTus({ inspection: { clamd: clamd.unix } });
    const { address } = await create(`${service.url}/tus`, EICAR.length, { filename: 'a.txt' });
    expect(await patch(address, 0, EICAR)).toMatchObject({ status: 422, error: 'REFUSED_BY_INSPECTION' });
    expect((await patch(address, EICAR.length, '')).status).toBe(404);
    expect(await service.source('files').paths()).toEqual([]);
  });

  it('only those of many items', async () => {
    const service = await inspecting({}, { 'a.txt': EICAR, 'b.txt': 'clean' });
    const response = await fetch(`${service.url}/fileMove`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ source: 'safe', fromSource: 'loose', froms: ['a.txt', 'b.txt'] }),
    });
    const { data } = (await response.json()) as { data: { results: object[] } };
    expect(data.results).toMatchObject([{ error: 'REFUSED_BY_INSPECTION' }, { success: true }]);
    expect(await service.source('safe').paths()).toEqual(['b.txt']);
    expect(await service.source('loose').paths()).toEqual(['a.txt']);
  });

  it('not what comes from a source that is inspected, nor what is restored or moved inside', async () => {
    const service = await startService({
      inspection: { clamd: clamd.unix },
      trash: {},
      sources: { one: {}, two: { inspection: { maxBytes: 1 } } },
    });
    await service.source('one').put({ 'a.txt': EICAR });
    expect(await service.call('fileCopy', { source: 'two', fromSource: 'one', from: 'a.txt' })).toMatchObject(
      {
        success: true,
      },
    );
    await service.call('fileRemove', { source: 'one', name: 'a.txt' });
    const { data } = await service.call('trashList', { source: 'one' });
    const [{ id } = { id: '' }] = data['items'] as { id: string }[];
    expect(await service.call('trashRestore', { source: 'one', id })).toMatchObject({ success: true });
    expect(
      await service.call('fileRename', { source: 'one', name: 'a.txt', newname: 'b.txt' }),
    ).toMatchObject({
      success: true,
    });
  });

  it('not where one source of several has it switched off', async () => {
    const sources = { one: {}, two: { inspection: { clamd: false } } };
    const service = await startService({ inspection: { clamd: clamd.unix }, sources });
    expect((await service.upload([['files[0]', 'a.txt', EICAR]], { source: 'two' })).status).toBe(200);
    const copy = { source: 'one', fromSource: 'two', from: 'a.txt' };
    expect(await service.call('fileCopy', copy)).toMatchObject(REFUSED);
  });

  it('before the hook of the host is asked about what is left', async () => {
    const asked: string[] = [];
    const events: ServiceEvent[] = [];
    const service = await startService(
      { inspection: { clamd: clamd.unix } },
      {
        inspectUpload: ({ name }) => {
          asked.push(name);
          return name === 'b.txt' ? 'Not by this one.' : undefined;
        },
        onEvent: (event) => events.push(event),
      },
    );
    const outcomes = [];
    for (const [name, content] of [
      ['a.txt', EICAR],
      ['b.txt', 'clean'],
      ['c.txt', 'clean'],
    ] as const) {
      const { status, data } = await service.upload([['files[0]', name, content]]);
      outcomes.push([status, (data['details'] as { reason?: string } | undefined)?.reason]);
    }
    expect(outcomes).toEqual([
      [422, EICAR_NAME],
      [422, 'Not by this one.'],
      [200, undefined],
    ]);
    expect(asked).toEqual(['b.txt', 'c.txt']);
    expect(events.map(({ path, inspection }) => [path, inspection])).toEqual([
      ['c.txt', { verdict: 'clean' }],
    ]);
    expect(await service.source('files').paths()).toEqual(['c.txt']);
  });

  it('not what is restored, though it was removed from a source of the same store that has no inspection', async () => {
    const root = await mkdtemp(join(tmpdir(), 'stowage-inspected-'));
    onTestFinished(() => rm(root, { recursive: true, force: true }));
    const sources = { safe: { root, inspection: { clamd: clamd.unix } }, loose: { root } };
    const service = await startService({ sources, trash: {} });
    expect((await service.upload([['files[0]', 'a.txt', EICAR]], { source: 'loose' })).status).toBe(200);
    await service.call('fileRemove', { source: 'loose', name: 'a.txt' });
    const { data } = await service.call('trashList', { source: 'safe' });
    const [{ id } = { id: '' }] = data['items'] as { id: string }[];
    expect((await service.call('trashRestore', { source: 'safe', id })).status).toBe(200);
    // From another store nothing can be restored: an id is one of its own trash.
    expect((await service.call('trashRestore', { source: 'safe', id })).status).toBe(404);
  });

  it('and says in the event what is clean', async () => {
    const events: ServiceEvent[] = [];
    const service = await inspecting({}, { 'f/a.txt': 'a', 'b.txt': 'b' }, events);
    await service.upload([['files[0]', 'a.txt', 'clean']], { source: 'safe' });
    await service.call('folderMove', { source: 'safe', fromSource: 'loose', from: 'f' });
    await service.call('fileCopy', { source: 'loose', from: 'b.txt' });
    expect(events.map(({ type, inspection }) => [type, inspection])).toEqual([
      ['file.created', { verdict: 'clean' }],
      ['folder.moved', { verdict: 'clean' }],
      ['file.copied', undefined],
    ]);
  });

  it.each([
    ['refuse', {}, 422, undefined],
    ['pass', { larger: 'pass' }, 200, { verdict: 'skipped', reason: 'larger' }],
  ])('larger files: %s', async (_, more, status, inspection) => {
    const events: ServiceEvent[] = [];
    const service = await inspecting(
      { inspection: { clamd: clamd.unix, maxBytes: 68, ...more } },
      {},
      events,
    );
    expect((await service.upload([['files[0]', 'a.txt', EICAR]], { source: 'safe' })).status).toBe(422);
    const answer = await service.upload([['files[0]', 'b.txt', `${EICAR} `]], { source: 'safe' });
    expect(answer.status).toBe(status);
    if (status === 422) expect(answer.messages).toEqual(['The file is too large to be inspected.']);
    expect(events[0]?.inspection).toEqual(inspection);
  });

  it.each([
    ['refused', {}, 422, undefined],
    ['refused also where uploads go on without clamd', { failClosed: false }, 422, undefined],
    ['stored where larger files are', { larger: 'pass' }, 200, { verdict: 'skipped', reason: 'larger' }],
  ])('what is larger than clamd takes is %s', async (_, more, status, inspection) => {
    const events: ServiceEvent[] = [];
    const settings = { inspection: { clamd: clamd.tcp, ...more } };
    const service = await inspecting(settings, {}, events);
    const content = 'x'.repeat(MOST_STREAMED * 4);
    expect((await service.upload([['files[0]', 'a.txt', content]], { source: 'safe' })).status).toBe(status);
    expect(events[0]?.inspection).toEqual(inspection);
  });
});

describe('a clamd that cannot be asked', () => {
  const cases = [
    ['is not there', () => undefined],
    ['hangs up', (socket) => socket.end()],
    ['answers with an error', (socket) => socket.end("Can't allocate memory ERROR\0")],
    ['answers with rubbish', (socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')],
    ['answers before it has read anything', (socket) => socket.write('stream: OK\0')],
    ['writes without end', (socket) => void socket.on('error', () => undefined).write('x'.repeat(1e6))],
    ['never answers', (socket) => socket.resume()],
    ['never reads', () => undefined],
  ] as const satisfies readonly (readonly [string, (socket: Socket) => unknown])[];

  it.each(cases)('%s: 503, or stored', async (name, talk) => {
    const other = await startFalseClamd(talk);
    const address = name === 'is not there' ? 'unix:/nowhere/clamd.sock' : other.address;
    const inspection = { clamd: address, timeout: 0.3 };
    const events: ServiceEvent[] = [];
    const warnings: [string, unknown][] = [];
    const service = await startService(
      { sources: { closed: { inspection }, open: { inspection: { ...inspection, failClosed: false } } } },
      { onEvent: (event) => events.push(event) },
      { ...silent, warn: (message, fields) => void warnings.push([message, fields]) },
    );
    const content = 'x'.repeat(2_000_000);
    const refused = await service.upload([['files[0]', 'a.txt', content]], { source: 'closed' });
    expect(refused).toMatchObject({ status: 503, data: { error: 'INSPECTION_UNAVAILABLE' } });
    expect(JSON.stringify(refused)).not.toMatch(/nowhere|127\.0\.0\.1/u);
    expect(await service.source('closed').paths()).toEqual([]);
    expect((await service.upload([['files[0]', 'a.txt', content]], { source: 'open' })).status).toBe(200);
    expect(events.map((event) => event.inspection)).toEqual([{ verdict: 'skipped', reason: 'unavailable' }]);
    expect(warnings.filter(([message]) => message.includes('without inspection'))).toEqual([
      [
        'A file is stored without inspection.',
        expect.objectContaining({ source: 'open', path: '/', name: 'a.txt', reason: 'unavailable' }),
      ],
    ]);
  });

  it('is asked once where it does not respond in time: one file takes no longer than `timeout`', async () => {
    let asked = 0;
    const other = await startFalseClamd(() => void (asked += 1));
    const service = await startService({ inspection: { clamd: other.address, timeout: 0.3 } });
    expect((await service.upload([['files[0]', 'a.txt', 'a']])).status).toBe(503);
    expect(asked).toBe(1);
  });

  it('is left when the client leaves', async () => {
    const other = await startFalseClamd((socket) => socket.resume());
    const service = await startService({ inspection: { clamd: other.address } });
    const client = new AbortController();
    const body = formOf([['files[0]', 'a.txt', 'a']]);
    const sending = fetch(`${service.url}/fileUpload`, { method: 'POST', body, signal: client.signal });
    const socket = await other.asked;
    const closed = new Promise((resolve) => socket.on('close', resolve));
    client.abort();
    await expect(sending).rejects.toThrow();
    await closed;
    await expect.poll(() => service.source('files').paths()).toEqual([]);
  });

  it('keeps an upload in parts until it can be asked', async () => {
    let isThere = false;
    const other = await startFalseClamd((socket) => {
      let sent = Buffer.alloc(0);
      socket.on('data', (chunk) => {
        sent = Buffer.concat([sent, chunk]);
        if (!isThere) socket.end('busy ERROR\0');
        else if (sent.subarray(-4).equals(Buffer.alloc(4))) socket.end('stream: OK\0');
      });
    });
    const service = await startTus({ inspection: { clamd: other.address } });
    const { address } = await create(`${service.url}/tus`, 5, { filename: 'a.txt' });
    const early = await patch(address, 0, 'hello');
    expect(early.status).toBe(503);
    expect(early.data).toMatchObject({ details: { name: 'a.txt' } });
    isThere = true;
    expect((await patch(address, 5, '')).status).toBe(200);
    expect(await service.source('files').text('a.txt')).toBe('hello');
  });
});
