import { createHmac } from 'node:crypto';
import {
  mkdir,
  mkdtemp,
  open,
  readdir,
  rename,
  rm,
  utimes,
  writeFile,
  type FileHandle,
} from 'node:fs/promises';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { createApp, type App, type Logger, type ServiceEvent } from 'stowage';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { createFileQueue, examineService } from '#internals';
import { purgeReceiver } from '../../examples/purging.ts';
import { formOf, silent } from '../protocol/service.ts';

const secret = 'a secret that is long enough: 32 bytes';

interface Delivery {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** Somebody who wants to know; answers as `status` says, or in its own way. */
const startReceiver = async (
  status: () => number | ((response: ServerResponse) => void),
  host = '127.0.0.1',
): Promise<{ url: string; deliveries: Delivery[]; paths: () => string[] }> => {
  const deliveries: Delivery[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      deliveries.push({ headers: request.headers, body: Buffer.concat(chunks).toString() });
      const answer = status();
      if (typeof answer === 'number') response.writeHead(answer).end();
      else answer(response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}/hook`;
  return {
    url,
    deliveries,
    paths: () => deliveries.map(({ body }) => (JSON.parse(body) as ServiceEvent).path),
  };
};

const scratch = async (): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'stowage-webhooks-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  await mkdir(join(folder, 'files'));
  return folder;
};

const configOf = (folder: string, webhook: object | readonly object[]): object => ({
  createThumb: false,
  sources: { files: { title: 'Files', root: join(folder, 'files'), baseurl: 'https://files.example/' } },
  webhooks: [webhook].flat().map((one) => ({ secret, ...one })),
  stateDirectory: join(folder, 'state'),
});

const start = async (
  folder: string,
  webhook: object | readonly object[],
  logger: Logger = silent,
): Promise<{
  upload: (name: string) => Promise<number>;
  figures: App['webhooks'];
  stop: () => Promise<void>;
}> => {
  const app = createApp(configOf(folder, webhook) as never, {}, { logger });
  const { port } = await app.listen(0, '127.0.0.1');
  onTestFinished(() => app.close());
  return {
    upload: async (name) => {
      const body = formOf([['files[0]', name, 'x']]);
      return (await fetch(`http://127.0.0.1:${String(port)}/fileUpload`, { method: 'POST', body })).status;
    },
    figures: () => app.webhooks(),
    stop: () => app.close(),
  };
};

const waitingIn = async (folder: string): Promise<number> => {
  const names = await readdir(join(folder, 'state'), { recursive: true });
  return names.filter((name) => name.endsWith('.json')).length;
};

const queuesIn = async (folder: string): Promise<readonly string[]> => {
  const entries = await readdir(join(folder, 'state'), { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isDirectory() && /[0-9a-f]{32}/u.test(entry.name))
    .map(({ parentPath, name }) => join(parentPath, name));
};

const queueIn = async (folder: string): Promise<string> => {
  const [queue] = await queuesIn(folder);
  if (queue === undefined) throw new Error('no queue');
  return queue;
};

describe('webhooks', () => {
  it('get every change, signed, in order', async () => {
    const folder = await scratch();
    const receiver = await startReceiver(() => 204);
    const { upload } = await start(folder, { url: receiver.url, allowPrivate: true });
    const names = ['a.txt', 'b.txt', 'c.txt', 'd.txt'];
    for (const name of names) expect(await upload(name)).toBe(200);
    await expect.poll(receiver.paths).toEqual(names);
    for (const { headers, body } of receiver.deliveries) {
      const timestamp = String(headers['x-stowage-timestamp']);
      const expected = createHmac('sha256', secret).update(`${timestamp}.${body}`).digest('hex');
      expect(headers['x-stowage-signature']).toBe(`sha256=${expected}`);
      expect(headers['content-type']).toBe('application/json');
      expect(Math.abs(Number(timestamp) * 1000 - Date.now())).toBeLessThan(60_000);
      expect(JSON.parse(body)).toMatchObject({
        type: 'file.created',
        source: 'files',
        bytes: 1,
        role: 'guest',
      });
    }
    expect(new Set(receiver.deliveries.map(({ headers }) => headers['x-stowage-delivery'])).size).toBe(4);
    await expect.poll(() => waitingIn(folder)).toBe(0);
  });

  it('get several changes in one delivery, as many as they ask for, and each again until they have it', async () => {
    const folder = await scratch();
    let isDown = true;
    const receiver = await startReceiver(() => (isDown ? 503 : 200));
    const batch = { events: 30, seconds: 0.5 };
    const { upload } = await start(folder, { url: receiver.url, allowPrivate: true, batch });
    const names = Array.from({ length: 40 }, (_, index) => `${String(index)}.txt`);
    for (const name of names) expect(await upload(name)).toBe(200);
    await expect.poll(() => receiver.deliveries.length).toBeGreaterThan(0);
    receiver.deliveries.splice(0);
    isDown = false;
    await expect.poll(() => receiver.deliveries.length, { timeout: 15_000 }).toBe(2);
    const paths = receiver.deliveries.map(({ headers, body }) => {
      const signed = `${String(headers['x-stowage-timestamp'])}.${body}`;
      const expected = createHmac('sha256', secret).update(signed).digest('hex');
      expect(headers['x-stowage-signature']).toBe(`sha256=${expected}`);
      return (JSON.parse(body) as { events: ServiceEvent[] }).events.map(({ path }) => path);
    });
    expect(paths).toEqual([names.slice(0, 30), names.slice(30)]);
    await expect.poll(() => waitingIn(folder)).toBe(0);
  });

  it('get fewer changes in one delivery where all of them are too large for the receiver', async () => {
    const folder = await scratch();
    const receiver: Awaited<ReturnType<typeof startReceiver>> = await startReceiver(() => {
      const { body = '' } = receiver.deliveries.at(-1) ?? {};
      return (JSON.parse(body) as { events: ServiceEvent[] }).events.length > 3 ? 413 : 200;
    });
    const names = Array.from({ length: 8 }, (_, index) => `${String(index)}.txt`);
    const batch = { events: 8, seconds: 0.5 };
    const { upload } = await start(folder, { url: receiver.url, allowPrivate: true, batch });
    await Promise.all(names.map(async (name) => expect(await upload(name)).toBe(200)));
    await expect.poll(() => waitingIn(folder), { timeout: 20_000 }).toBe(0);
    const sent = receiver.deliveries.flatMap(({ body }) => {
      const { events } = JSON.parse(body) as { events: ServiceEvent[] };
      return events.length > 3 ? [] : events.map(({ path }) => path);
    });
    expect(sent.toSorted()).toEqual(names);
  });

  it('purge a cache by the receiver of the documentation, which takes only what is signed', async () => {
    const folder = await scratch();
    const purged: string[] = [];
    let failures = 1;
    const purge = (links: readonly string[]): Promise<void> => {
      if (failures > 0) return Promise.reject(new Error(`${String((failures -= 1))} more failures`));
      purged.push(...links);
      return Promise.resolve();
    };
    const receive = purgeReceiver(purge, { most: 3, origin: 'https://www.example.com', secret });
    const server = createServer((request, response) => void receive(request, response));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    const url = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}/`;
    const body = JSON.stringify({ events: [{ links: ['/forged.txt'] }] });
    expect((await fetch(url, { method: 'POST', body })).status).toBe(401);
    // The secret is being changed, and the receiver has the old one.
    const secrets = ['another secret that is long enough', secret];
    const { upload } = await start(folder, {
      url,
      allowPrivate: true,
      secret: secrets,
      batch: { seconds: 0.2 },
    });
    for (const name of ['a.txt', 'b.txt', 'c.txt', 'd.txt']) expect(await upload(name)).toBe(200);
    const links = ['a', 'b', 'c', 'd'].map((name) => `https://files.example/${name}.txt`);
    await expect.poll(() => purged, { timeout: 10_000 }).toEqual(links);
  });

  it('get what could not be delivered after a restart, in order', async () => {
    const folder = await scratch();
    let isDown = true;
    const receiver = await startReceiver(() => (isDown ? 503 : 200));
    const first = await start(folder, { url: receiver.url, allowPrivate: true });
    expect(await first.upload('a.txt')).toBe(200);
    expect(await first.upload('b.txt')).toBe(200);
    await expect.poll(() => receiver.deliveries.length).toBeGreaterThan(0);
    const host = new URL(receiver.url).host;
    const waiting = { host, waiting: 2, oldestSeconds: expect.any(Number) as number };
    await expect
      .poll(first.figures)
      .toEqual([{ ...waiting, delivered: 0, failed: expect.any(Number) as number, dropped: 0 }]);
    await first.stop();
    expect(await waitingIn(folder)).toBe(2);
    receiver.deliveries.length = 0;
    isDown = false;
    const second = await start(folder, { url: receiver.url, allowPrivate: true });
    expect(await second.upload('c.txt')).toBe(200);
    await expect.poll(receiver.paths).toEqual(['a.txt', 'b.txt', 'c.txt']);
    await expect.poll(() => waitingIn(folder)).toBe(0);
    await expect
      .poll(second.figures)
      .toEqual([{ host, waiting: 0, oldestSeconds: 0, delivered: 3, failed: 0, dropped: 0 }]);
  });

  it('and what else waits are left alone by the doctor', async () => {
    const folder = await scratch();
    let isDown = true;
    const receiver = await startReceiver(() => (isDown ? 503 : 200));
    const webhook = { url: receiver.url, allowPrivate: true };
    const { upload, stop } = await start(folder, webhook);
    expect(await upload('a.txt')).toBe(200);
    await stop();
    receiver.deliveries.length = 0;
    isDown = false;
    const config = join(folder, 'stowage.json');
    await writeFile(config, JSON.stringify(configOf(folder, webhook)));
    // What a process has left that was killed two days ago.
    const leftover = join(folder, 'files', '.stowage-tmp', 'left-by-a-dead-process');
    await mkdir(leftover, { recursive: true });
    const then = new Date(Date.now() - 2 * 24 * 60 * 60_000);
    await utimes(leftover, then, then);
    const before = await readdir(join(folder, 'files'), { recursive: true });
    const { signal } = new AbortController();
    const asked = { config, pageOrigin: 'https://www.example.com', url: undefined, formSize: undefined };
    const findings = await examineService(asked, signal);
    expect(findings.filter(({ check }) => check === 'store')).toEqual([
      expect.objectContaining({ level: 'ok' }),
    ]);
    expect(receiver.deliveries).toEqual([]);
    expect(await waitingIn(folder)).toBe(1);
    expect(await readdir(join(folder, 'files'), { recursive: true })).toEqual(before);
  });

  it('have one address and other secrets or types: each gets its own', async () => {
    const folder = await scratch();
    let isDown = true;
    const receiver = await startReceiver(() => (isDown ? 503 : 200));
    const other = 'another secret that is long enough: 32';
    const webhooks = [
      { url: receiver.url, secret, allowPrivate: true },
      { url: receiver.url, secret: other, allowPrivate: true, events: ['file.created'] },
    ];
    const first = await start(folder, webhooks);
    expect(await first.upload('a.txt')).toBe(200);
    await first.stop();
    expect(await waitingIn(folder)).toBe(2);
    receiver.deliveries.length = 0;
    isDown = false;
    await start(folder, webhooks);
    await expect.poll(() => waitingIn(folder)).toBe(0);
    const signedBy = ({ headers, body }: Delivery): number =>
      [secret, other].findIndex(
        (one) =>
          headers['x-stowage-signature'] ===
          `sha256=${createHmac('sha256', one)
            .update(`${String(headers['x-stowage-timestamp'])}.${body}`)
            .digest('hex')}`,
      );
    expect(receiver.deliveries.map(signedBy).sort()).toEqual([0, 1]);
  });

  it('are kept for an address that is no longer set, which the log reports, and sent when it is set again', async () => {
    const folder = await scratch();
    let isDown = true;
    const receiver = await startReceiver(() => (isDown ? 503 : 204));
    const old = { url: receiver.url, allowPrivate: true };
    const first = await start(folder, old);
    for (const name of ['a.txt', 'b.txt']) expect(await first.upload(name)).toBe(200);
    await first.stop();
    const warn = vi.fn<Logger['warn']>();
    const other = await start(folder, { ...old, url: `${receiver.url}/new` }, { ...silent, warn });
    const message = expect.stringMatching(/^Events wait for a webhook that is no longer set/u) as string;
    await expect.poll(() => warn.mock.calls).toContainEqual([message, { waiting: 2 }]);
    await other.stop();
    receiver.deliveries.length = 0;
    isDown = false;
    warn.mockClear();
    await start(folder, old, { ...silent, warn });
    await expect.poll(receiver.paths).toEqual(['a.txt', 'b.txt']);
    expect(warn.mock.calls).not.toContainEqual([message, expect.anything()]);
  });

  it('may have several secrets, each of which signs, so that one can be changed for another', async () => {
    const folder = await scratch();
    const receiver = await startReceiver(() => 200);
    const secrets = ['a new secret that is long enough: 32', secret];
    const { upload } = await start(folder, { url: receiver.url, allowPrivate: true, secret: secrets });
    expect(await upload('a.txt')).toBe(200);
    await expect.poll(receiver.paths).toEqual(['a.txt']);
    const [{ headers, body } = { headers: {}, body: '' }] = receiver.deliveries;
    const signed = `${String(headers['x-stowage-timestamp'])}.${body}`;
    const expected = secrets.map((one) => `sha256=${createHmac('sha256', one).update(signed).digest('hex')}`);
    expect(String(headers['x-stowage-signature']).split(', ')).toEqual(expected);
  });

  it('keep the oldest where too many wait, and refuse what is more', async () => {
    const folder = await scratch();
    const queue = createFileQueue(join(folder, 'queue'), 3);
    await Promise.all([1, 2, 3].map((value) => queue.add(value)));
    await expect(queue.add(4)).rejects.toThrow('full');
    // Also those that another process has left.
    const again = createFileQueue(join(folder, 'queue'), 3);
    await expect(again.add(5)).rejects.toThrow('full');
    for (const value of [1, 2, 3]) {
      const entries = await again.oldest(1);
      expect(entries).toMatchObject([{ value }]);
      await again.remove(entries);
    }
    expect(await again.oldest(1)).toEqual([]);
    await again.add(6);
    expect(await again.oldest(2)).toMatchObject([{ value: 6 }]);
  });

  it('keep their order over a restart, also where the clock is set back meanwhile', async () => {
    const folder = join(await scratch(), 'queue');
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 60_000 });
    onTestFinished(() => void vi.useRealTimers());
    const before = createFileQueue(folder, 10);
    for (const value of [1, 2]) await before.add(value);
    vi.useRealTimers();
    const after = createFileQueue(folder, 10);
    await Promise.all([3, 4].map((value) => after.add(value)));
    expect((await after.oldest(10)).map(({ value }) => value)).toEqual([1, 2, 3, 4]);
  });

  it('keep their order where a later one is written faster', async () => {
    const queue = createFileQueue(join(await scratch(), 'queue'), 10);
    const long = 'x'.repeat(10_000_000);
    const adding = [long, 'short'].map((value) => queue.add(value));
    await Promise.race(adding);
    expect((await queue.oldest(1)).map(({ value }) => value === long)).toEqual([true]);
    await Promise.all(adding);
  });

  it('are kept as soon as their directory can be made', async () => {
    const folder = join(await scratch(), 'queue');
    await writeFile(folder, 'a file has its name');
    const queue = createFileQueue(folder, 10);
    await expect(queue.add(1)).rejects.toThrow();
    await rm(folder);
    await queue.add(2);
    expect(await queue.oldest(2)).toMatchObject([{ value: 2 }]);
  });

  /** A stopped service with so many events of yesterday in its queue; `vi` moves the clock from then on. */
  const leaveOld = async (receiver: { url: string }, number: number) => {
    const folder = await scratch();
    const webhook = { url: receiver.url, allowPrivate: true };
    const before = await start(folder, webhook);
    expect(await before.upload('first.txt')).toBe(200);
    await expect.poll(() => waitingIn(folder)).toBe(0);
    await before.stop();
    const queue = await queueIn(folder);
    const old = (Date.now() - 25 * 60 * 60_000).toString(36).padStart(9, '0');
    for (let index = 1; index <= number; index += 1) {
      const name = `${old}-${String(index).padStart(6, '0')}-0123456789abcdef.json`;
      await writeFile(join(queue, name), `{"path":"old-${String(index)}.txt"}`);
    }
    vi.useFakeTimers({ toFake: ['Date', 'performance'] });
    onTestFinished(() => void vi.useRealTimers());
    return { folder, webhook };
  };

  it('keep what is older than a day for a receiver that starts after the service', async () => {
    let isUp = true;
    const receiver = await startReceiver(() => (isUp || receiver.deliveries.length > 2 ? 204 : 500));
    const { folder, webhook } = await leaveOld(receiver, 3);
    isUp = false;
    const { figures } = await start(folder, webhook);
    await expect.poll(() => waitingIn(folder), { timeout: 5000 }).toBe(0);
    expect(receiver.paths()).toEqual(['first.txt', 'old-1.txt', 'old-1.txt', 'old-2.txt', 'old-3.txt']);
    expect(await figures()).toMatchObject([{ delivered: 3, failed: 1, dropped: 0 }]);
  });

  it('give up all that is older than a day while their receiver is unavailable', async () => {
    let status = 204;
    const receiver = await startReceiver(() => status);
    const { folder, webhook } = await leaveOld(receiver, 50);
    status = 500;
    const { figures } = await start(folder, webhook);
    await expect.poll(async () => (await figures())[0]?.failed).toBe(1);
    vi.advanceTimersByTime(11 * 60_000);
    await expect.poll(async () => (await figures())[0]?.dropped, { timeout: 5000 }).toBe(50);
    expect(await waitingIn(folder)).toBe(0);
    expect(receiver.paths()).toEqual(['first.txt', 'old-1.txt', 'old-1.txt', 'old-2.txt']);
  });

  it('get what waits behind an event that their receiver rejects for a day', async () => {
    const receiver = await startReceiver(() => (receiver.paths().at(-1) === 'bad.txt' ? 422 : 204));
    const folder = await scratch();
    vi.useFakeTimers({ toFake: ['Date', 'performance'] });
    onTestFinished(() => void vi.useRealTimers());
    const { upload, figures } = await start(folder, { url: receiver.url, allowPrivate: true });
    for (const name of ['bad.txt', 'a.txt', 'b.txt']) expect(await upload(name)).toBe(200);
    await expect.poll(() => receiver.deliveries.length).toBe(1);
    vi.advanceTimersByTime(25 * 60 * 60_000);
    await expect.poll(() => waitingIn(folder), { timeout: 5000 }).toBe(0);
    expect(receiver.paths()).toEqual(['bad.txt', 'bad.txt', 'a.txt', 'b.txt']);
    expect(await figures()).toMatchObject([{ delivered: 2, failed: 2, dropped: 1 }]);
  });

  it('are reported once for each webhook, not one by one, while none of them can be kept', async () => {
    const folder = await scratch();
    const receiver = await startReceiver(() => 204);
    const errors: string[] = [];
    const logger = { ...silent, error: (message: string) => errors.push(message) };
    const webhook = { url: receiver.url, allowPrivate: true };
    const { upload, figures } = await start(folder, [webhook, webhook], logger);
    expect(await upload('first.txt')).toBe(200);
    await expect.poll(() => waitingIn(folder)).toBe(0);
    for (const queue of await queuesIn(folder)) {
      await rm(queue, { recursive: true });
      await writeFile(queue, 'a file has its name');
    }
    for (const name of ['a.txt', 'b.txt', 'c.txt']) expect(await upload(name)).toBe(200);
    expect((await figures()).map(({ dropped }) => dropped)).toEqual([3, 3]);
    expect(errors.filter((message) => message === 'An event could not be kept.')).toHaveLength(2);
  });

  it('wait where a power failure does not reach them', async () => {
    const folder = join(await scratch(), 'queue');
    const queue = createFileQueue(folder, 10);
    await queue.oldest(1);
    const handle = await open(folder);
    const prototype = Object.getPrototypeOf(handle) as FileHandle;
    await handle.close();
    const flushed: string[] = [];
    const sync = vi.spyOn(prototype, 'sync').mockImplementation(async () => {
      flushed.push((await readdir(folder)).map((name) => name.replace(/^.*\./u, '')).join(' '));
    });
    onTestFinished(() => sync.mockRestore());
    await queue.add('event');
    // The content before it gets its name, and the folder after.
    expect(flushed).toEqual(['unfinished', 'json']);
  });

  it('are kept while the next process starts before this one has ended, as in a rolling restart', async () => {
    const folder = join(await scratch(), 'queue');
    const queue = createFileQueue(folder, 10);
    await queue.oldest(1);
    const died = (Date.now() - 2 * 60 * 60_000).toString(36).padStart(9, '0');
    await writeFile(join(folder, `${died}-000001-0123456789abcdef.json.unfinished`), '{"path":');
    const handle = await open(folder);
    const prototype = Object.getPrototypeOf(handle) as FileHandle;
    await handle.close();
    const next = createFileQueue(folder, 10);
    const sync = vi.spyOn(prototype, 'sync').mockImplementation(async () => {
      await next.oldest(1);
    });
    onTestFinished(() => sync.mockRestore());
    await queue.add('event');
    expect(await createFileQueue(folder, 10).oldest(2)).toMatchObject([{ value: 'event' }]);
    expect(await readdir(folder)).toHaveLength(1);
  });

  it('leave nothing behind of an event that a full disk does not take', async () => {
    const folder = join(await scratch(), 'queue');
    const queue = createFileQueue(folder, 10);
    await queue.oldest(1);
    const handle = await open(folder);
    const prototype = Object.getPrototypeOf(handle) as FileHandle;
    await handle.close();
    const full = Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
    const sync = vi.spyOn(prototype, 'sync').mockRejectedValueOnce(full);
    onTestFinished(() => sync.mockRestore());
    await expect(queue.add('event')).rejects.toThrow('no space left');
    expect(await readdir(folder)).toEqual([]);
  });

  it('get what waits behind an event that cannot be read, and that one when it can', async () => {
    const folder = join(await scratch(), 'queue');
    const queue = createFileQueue(folder, 10);
    for (const value of [1, 2, 3]) await queue.add(value);
    const [unreadable = ''] = (await readdir(folder)).sort();
    await rename(join(folder, unreadable), join(folder, 'aside'));
    // Read as a file, it is an error of the system for every user.
    await mkdir(join(folder, unreadable));
    const entries = await queue.oldest(2);
    expect(entries).toMatchObject([{ value: 2 }, { value: 3 }]);
    await queue.remove(entries);
    await expect(queue.oldest(2)).rejects.toThrow('EISDIR');
    await rm(join(folder, unreadable), { recursive: true });
    await rename(join(folder, 'aside'), join(folder, unreadable));
    expect(await queue.oldest(2)).toMatchObject([{ value: 1 }]);
  });

  it('get nothing again because the disk does not let go of it', async () => {
    const folder = join(await scratch(), 'queue');
    const queue = createFileQueue(folder, 10);
    for (const value of [1, 2, 3]) await queue.add(value);
    const sent = await queue.oldest(2);
    const path = join(folder, `${sent[0]?.id ?? ''}.json`);
    await rename(path, join(folder, 'aside'));
    await mkdir(path);
    await expect(queue.remove(sent)).rejects.toThrow();
    await rm(path, { recursive: true });
    await rename(join(folder, 'aside'), path);
    expect((await queue.oldest(3)).map(({ value }) => value)).toEqual([3]);
  });

  it('get also what is kept while a younger event is taken away', async () => {
    const folder = join(await scratch(), 'queue');
    const queue = createFileQueue(folder, 10);
    for (let round = 0; round < 100; round += 1) {
      const older = queue.add('older'.padEnd(200_000));
      await queue.add('younger');
      const younger = await queue.oldest(1);
      // Most often it is the younger one, and the older one is kept in these moments.
      for (let turns = round % 10; turns > 0; turns -= 1)
        await new Promise((resolve) => setImmediate(resolve));
      await queue.remove(younger);
      await older;
      const rest = await queue.oldest(1);
      expect(rest.length, `round ${String(round)}`).toBe(1);
      await queue.remove(rest);
      expect(await readdir(folder), `round ${String(round)}`).toEqual([]);
    }
  });

  it('get only what they ask for, and never anything at a private address by default', async () => {
    const folder = await scratch();
    const receiver = await startReceiver(() => 200);
    const some = await start(folder, { url: receiver.url, allowPrivate: true, events: ['file.removed'] });
    expect(await some.upload('a.txt')).toBe(200);
    expect(await waitingIn(folder)).toBe(0);
    await some.stop();
    const none = await start(folder, { url: receiver.url });
    expect(await none.upload('b.txt')).toBe(200);
    await none.stop();
    expect(await waitingIn(folder)).toBe(1);
    expect(receiver.deliveries).toEqual([]);
  });

  it('never get anything at a name or number that leads inside', async () => {
    const receiver = await startReceiver(() => 200, '::');
    const { port } = new URL(receiver.url);
    const hosts = [
      'localhost',
      'a.LOCALHOST.',
      hostname(),
      '[::1]',
      '[::ffff:127.0.0.1]',
      '0x7f.1',
      '2130706433',
      '0',
    ];
    const folder = await scratch();
    const { upload, figures } = await start(
      folder,
      hosts.map((host) => ({ url: `http://${host}:${port}/` })),
    );
    expect(await upload('a.txt')).toBe(200);
    await expect.poll(async () => (await figures()).every(({ failed }) => failed > 0)).toBe(true);
    expect(receiver.deliveries).toEqual([]);
    expect(await waitingIn(folder)).toBe(hosts.length);
  });

  it('follow no redirect, and try again', async () => {
    const other = await startReceiver(() => 200);
    const redirect = (response: ServerResponse): void =>
      void response.writeHead(307, { location: other.url }).end();
    const answers = [redirect];
    const receiver = await startReceiver(() => answers.shift() ?? 200);
    const folder = await scratch();
    const { upload } = await start(folder, { url: receiver.url, allowPrivate: true });
    expect(await upload('a.txt')).toBe(200);
    await expect.poll(receiver.paths, { timeout: 10_000 }).toEqual(['a.txt', 'a.txt']);
    await expect.poll(() => waitingIn(folder)).toBe(0);
    expect(other.deliveries).toEqual([]);
  });

  it('read no answer: one without an end, or larger than any, holds up nothing', async () => {
    let closed = 0;
    const endless = (response: ServerResponse): void => {
      response.on('close', () => (closed += 1)).on('error', () => undefined);
      const more = (): void => {
        while (!response.destroyed && response.write(Buffer.alloc(1 << 16)));
        response.once('drain', more);
      };
      response.writeHead(200);
      more();
    };
    const silence = (response: ServerResponse): void => {
      response
        .on('close', () => (closed += 1))
        .writeHead(200)
        .flushHeaders();
    };
    const tooMuch = (response: ServerResponse): void =>
      void response.writeHead(200, { 'x-more': 'x'.repeat(100_000) }).end();
    const answers = [endless, silence, tooMuch];
    const receiver = await startReceiver(() => answers.shift() ?? 200);
    const folder = await scratch();
    const { upload } = await start(folder, { url: receiver.url, allowPrivate: true });
    for (const name of ['a.txt', 'b.txt', 'c.txt', 'd.txt']) expect(await upload(name)).toBe(200);
    // Headers that cannot be read are no answer.
    await expect
      .poll(receiver.paths, { timeout: 10_000 })
      .toEqual(['a.txt', 'b.txt', 'c.txt', 'c.txt', 'd.txt']);
    await expect.poll(() => waitingIn(folder)).toBe(0);
    await expect.poll(() => closed).toBe(2);
  });

  it.each([
    [
      'a secret that could be guessed',
      { webhooks: [{ url: 'https://a.example/', secret: 'short' }] },
      /32 bytes/u,
    ],
    [
      'one such secret among others',
      { webhooks: [{ url: 'https://a.example/', secret: [secret, 'short'] }] },
      /32 bytes/u,
    ],
    ['an address of another kind', { webhooks: [{ url: 'ftp://a.example/', secret }] }, /http/u],
    [
      'an unknown type',
      { webhooks: [{ url: 'https://a.example/', secret, events: ['file.seen'] }] },
      /events/u,
    ],
    [
      'no directory for what waits',
      { webhooks: [{ url: 'https://a.example/', secret }], stateDirectory: null },
      /stateDirectory/u,
    ],
  ])('refuse %s at the start', (_what, settings, problem) => {
    const config = { stateDirectory: '/nowhere', ...settings, sources: {} } as never;
    expect(() => createApp(config, {}, { logger: silent })).toThrow(problem);
  });
});
