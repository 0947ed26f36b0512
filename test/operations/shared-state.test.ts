import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { createServer as createTlsServer } from 'node:tls';
import { join } from 'node:path';
import { type App, createApp, type ConfigInput, type ServiceEvent } from 'stowage';
import { createClient, type Client } from 'stowage/client';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { startService } from '../robustness/service.ts';
import { ask, create } from '../protocol/tus-client.ts';
import { createRedisConnection, RedisQueue } from '#internals';
import { silent } from '../protocol/service.ts';
import { redisMissing, startMovingAddress, startRedis } from './redis.ts';

const secret = 'a secret that is long enough: 32 bytes';
const scratch = async (): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'stowage-instances-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
};

interface Instance {
  readonly client: Client;
  readonly upload: (name: string, bytes?: number, source?: string) => Promise<number>;
  readonly url: string;
  readonly lines: readonly string[];
  readonly figures: App['webhooks'];
  close(): Promise<void>;
}

/** The status of an upload by a form. */
const uploadTo =
  (port: number) =>
  async (name: string, bytes = 1, source = ''): Promise<number> => {
    const body = new FormData();
    body.append('source', source);
    body.append('files[0]', new Blob(['x'.repeat(bytes)]), name);
    const answer = await fetch(`http://127.0.0.1:${String(port)}/fileUpload`, { method: 'POST', body });
    await answer.arrayBuffer();
    return answer.status;
  };

/** An instance in this process. */
const startInstance = async (root: string, config: ConfigInput): Promise<Instance> => {
  const lines: string[] = [];
  const say = (message: string): void => void lines.push(message);
  const logger = { debug: say, info: say, warn: say, error: say };
  const files = { title: 'Files', root, baseurl: 'http://files.example/' };
  const app = createApp({ createThumb: false, sources: { files }, ...config }, {}, { logger });
  const { port } = await app.listen(0, '127.0.0.1');
  onTestFinished(() => app.close());
  const url = `http://127.0.0.1:${String(port)}`;
  const client = createClient({ url });
  const figures = () => app.webhooks();
  return { url, client, upload: uploadTo(port), lines, figures, close: () => app.close() };
};

const usedIn = async ({ client }: Instance) => (await client.permissions({})).quota;

/** Somebody who is told of changes, and how many tell at the same time. */
const startReceiver = async (status: () => number) => {
  const events: ServiceEvent[] = [];
  let [open, most] = [0, 0];
  const server = createServer((request, response) => {
    open += 1;
    most = Math.max(most, open);
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const code = status();
      if (code === 200) events.push(JSON.parse(Buffer.concat(chunks).toString()) as ServiceEvent);
      setImmediate(() => {
        open -= 1;
        response.writeHead(code).end();
      });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}/`;
  return { url, events, paths: () => events.map(({ path }) => path), most: () => most };
};

describe.skipIf(redisMissing !== undefined)(
  `instances with one Redis (${redisMissing ?? 'it is there'})`,
  () => {
    it('lets two senders of one event remove that one alone', async () => {
      const { url } = await startRedis();
      const connections = [0, 1].map(() => createRedisConnection({ url, prefix: 'test' }, silent));
      onTestFinished(async () => void (await Promise.all(connections.map((one) => one.close()))));
      const queues = connections.map((one) => new RedisQueue(one, 'events', 10, silent));
      for (const value of ['first', 'second']) await queues[0]?.add(value);
      const heads = await Promise.all(queues.map((queue) => queue.oldest(1)));
      expect(heads).toMatchObject([[{ value: 'first' }], [{ value: 'first' }]]);
      for (const queue of queues) await queue.remove(heads[0] ?? []);
      expect(await queues[0]?.oldest(5)).toMatchObject([{ value: 'second' }]);
      for (const value of ['third', 'fourth']) await queues[1]?.add(value);
      const all = (await queues[0]?.oldest(5)) ?? [];
      expect(all.map(({ value }) => value)).toEqual(['second', 'third', 'fourth']);
      await queues[0]?.remove(all.slice(0, 2));
      expect(await queues[0]?.oldest(5)).toMatchObject([{ value: 'fourth' }]);
    });

    it('waits for its own event alone, however many others come', async () => {
      const redis = await startRedis();
      const connection = createRedisConnection({ url: redis.url, prefix: 'test' }, silent);
      onTestFinished(() => connection.close());
      const queue = new RedisQueue(connection, 'events', 10_000, silent);
      let isAdded = false;
      const added = queue.add('own').then(() => (isAdded = true));
      const others: Promise<void>[] = [];
      // Redis takes no longer for an event than for this question: there are always more that wait.
      for (let round = 0; round < 100 && !isAdded; round += 1) {
        others.push(queue.add('other'), queue.add('other'));
        await redis.client.ping();
      }
      expect(isAdded).toBe(true);
      await Promise.all([added, ...others]);
      expect(await redis.client.llen('test:queue:events')).toBe(others.length + 1);
    });

    it('tells of events that wait for a Redis that has no room for them when it is back', async () => {
      const redis = await startRedis();
      const connection = createRedisConnection({ url: redis.url, prefix: 'test' }, silent);
      onTestFinished(() => connection.close());
      const errors: [string, object | undefined][] = [];
      const log = { ...silent, error: (text: string, more?: object) => void errors.push([text, more]) };
      const queue = new RedisQueue(connection, 'events', 3, log);
      await queue.add('first');
      await redis.stop();
      for (const value of ['second', 'third', 'fourth']) await queue.add(value);
      await expect(queue.add('fifth')).rejects.toThrow('full');
      await redis.start();
      await expect
        .poll(() => errors, { timeout: 10_000 })
        .toEqual([['Events are lost: their queue in Redis is full.', { lost: 1 }]]);
      expect((await queue.oldest(5)).map(({ value }) => value)).toEqual(['first', 'second', 'third']);
    });

    it('share one quota: uploads to both at once never pass it, and what one removes is free for the other', async () => {
      const redis = await startRedis();
      const root = await scratch();
      const config = { quota: { bytes: 1000 }, redis: { url: redis.url } };
      const [one, two] = [await startInstance(root, config), await startInstance(root, config)];
      const sent = Array.from({ length: 24 }, (_, index) =>
        (index % 2 === 0 ? one : two).upload(`${String(index)}.txt`, 100),
      );
      const statuses = await Promise.all(sent);
      expect(statuses.filter((status) => status === 200)).toHaveLength(10);
      expect(statuses.filter((status) => status === 413)).toHaveLength(14);
      expect(await usedIn(one)).toMatchObject({ usedBytes: 1000, usedFiles: 10 });
      expect(await usedIn(two)).toMatchObject({ usedBytes: 1000, usedFiles: 10 });
      await one.client.fileRemove({ path: '', name: `${String(statuses.indexOf(200))}.txt` });
      expect(await two.upload('more.txt', 101)).toBe(413);
      expect(await two.upload('last.txt', 100)).toBe(200);
      expect(await one.upload('none.txt', 1)).toBe(413);
      const [key = ''] = await redis.client.keys('stowage:quota:*');
      const account = JSON.parse((await redis.client.get(key)) ?? '') as { reserved: object };
      expect(account.reserved).toEqual({});
    });

    it('believe what a killed one has reserved for a minute, and count again then', async () => {
      const redis = await startRedis();
      const program = join(import.meta.dirname, 'hanging-instance.mjs');
      const child = spawn(process.execPath, [program, redis.url], { stdio: ['ignore', 'pipe', 'ignore'] });
      onTestFinished(() => void child.kill('SIGKILL'));
      const [text] = (await once(child.stdout.setEncoding('utf8'), 'data')) as [string];
      const hanging = uploadTo(Number(text))('a.txt', 600).catch(() => 0);
      const keys = () => redis.client.keys('stowage:quota:*');
      const reserved = async () => {
        const [key = ''] = await keys();
        const { reserved: all = {} } = JSON.parse((await redis.client.get(key)) ?? '{}') as {
          reserved?: Record<string, { bytes: number; until: number }>;
        };
        return Object.values(all);
      };
      await expect.poll(async () => (await reserved()).map(({ bytes }) => bytes)).toEqual([600]);
      const two = await startInstance(await scratch(), { quota: { bytes: 1000 }, redis: { url: redis.url } });
      expect(await two.upload('b.txt', 600)).toBe(413);
      child.kill('SIGKILL');
      expect(await hanging).toBe(0);
      expect(await two.upload('b.txt', 600)).toBe(413);
      const [{ until } = { until: 0 }] = await reserved();
      expect(until - Date.now()).toBeLessThan(61_000);
      // A minute later:
      const [key = ''] = await keys();
      await redis.client.set(key, ((await redis.client.get(key)) ?? '').replace(String(until), '1'));
      expect(await two.upload('b.txt', 600)).toBe(200);
      expect(await usedIn(two)).toMatchObject({ usedBytes: 600, usedFiles: 1 });
    });

    it('keep the room of an unfinished upload for each other, until a minute after its instance is gone', async () => {
      const redis = await startRedis();
      const root = await scratch();
      const config = { quota: { bytes: 1000 }, redis: { url: redis.url } };
      const one = await startInstance(root, { ...config, tus: { directory: await scratch() } });
      const two = await startInstance(root, config);
      const begun = await create(`${one.url}/tus`, 600, { filename: 'a.txt' });
      expect([begun.status, await two.upload('b.txt', 401)]).toEqual([201, 413]);
      expect(await usedIn(two)).toMatchObject({ usedBytes: 600 });
      expect((await ask('DELETE', begun.address)).status).toBe(204);
      expect(await usedIn(two)).toMatchObject({ usedBytes: 0 });
      expect((await create(`${one.url}/tus`, 600, { filename: 'a.txt' })).status).toBe(201);
      await one.close();
      expect(await two.upload('b.txt', 401)).toBe(413);
      // A minute later:
      const [key = ''] = await redis.client.keys('stowage:quota:*');
      const account = (await redis.client.get(key)) ?? '';
      await redis.client.set(key, account.replace(/"until":\d+/u, '"until":1'));
      expect(await two.upload('b.txt', 401)).toBe(200);
      expect(await usedIn(two)).toMatchObject({ usedBytes: 401, usedFiles: 1 });
    });

    it('tell of every change once, one of them at a time, and in the order of each path', async () => {
      const redis = await startRedis();
      const receiver = await startReceiver(() => 200);
      const root = await scratch();
      const webhooks = [{ url: receiver.url, secret, allowPrivate: true }];
      const config = { webhooks, redis: { url: redis.url } };
      const both = [await startInstance(root, config), await startInstance(root, config)];
      const instance = (index: number): Instance => both[index % 2] as Instance;
      const paths = ['a', 'b', 'c', 'd', 'e', 'f'];
      await Promise.all(
        paths.map(async (path, index) => {
          expect(await instance(index).upload(`${path}.txt`)).toBe(200);
          for (let round = 0; round < 4; round += 1) {
            const [from, to] = [`${path}${String(round || '')}`, `${path}${String(round + 1)}`];
            await instance(index + round).client.fileRename({ path: '', name: `${from}.txt`, newname: to });
          }
        }),
      );
      await expect.poll(() => receiver.events.length, { timeout: 10_000 }).toBe(30);
      expect(receiver.most()).toBe(1);
      for (const path of paths) {
        const own = receiver.paths().filter((one) => one.startsWith(path));
        expect(own).toEqual(
          [1, 2, 3, 4].reduce((all, round) => [...all, `${path}${String(round)}.txt`], [`${path}.txt`]),
        );
      }
      await expect.poll(() => redis.client.keys('stowage:queue:*')).toEqual([]);
    });

    it('tell of what one has noted that was killed', async () => {
      const redis = await startRedis();
      let isDown = true;
      const receiver = await startReceiver(() => (isDown ? 503 : 200));
      const folder = await scratch();
      const webhooks = [{ url: receiver.url, secret, allowPrivate: true }];
      const config = { webhooks, redis: { url: redis.url } };
      const killed = await startService(join(folder, 'config.json'), folder, config);
      onTestFinished(() => killed.kill());
      const upload = uploadTo(killed.port);
      expect([await upload('a.txt'), await upload('b.txt')]).toEqual([200, 200]);
      await expect.poll(() => receiver.most()).toBe(1);
      await killed.kill();
      const other = await startInstance(folder, config);
      expect(await other.upload('c.txt')).toBe(200);
      isDown = false;
      const [lease = ''] = await redis.client.keys('stowage:sender:*');
      const { until } = JSON.parse((await redis.client.get(lease)) ?? '') as { until: number };
      expect(until - Date.now()).toBeLessThan(40_000);
      // Then:
      await redis.client.set(lease, JSON.stringify({ by: 'whoever was killed', until: 1 }));
      await expect.poll(receiver.paths, { timeout: 10_000 }).toEqual(['a.txt', 'b.txt', 'c.txt']);
    });

    it('give up what is older than a day, and leave what waits behind a younger event', async () => {
      const redis = await startRedis();
      const receiver = await startReceiver(() => 500);
      const webhooks = [{ url: receiver.url, secret, allowPrivate: true }];
      const name = createHash('sha256').update(receiver.url).digest('hex').slice(0, 32);
      const key = `stowage:queue:${name}`;
      const day = 24 * 60 * 60_000;
      // An instance whose clock is ahead, or that Redis had lost for a while, has added the third one.
      const ages = { first: day + 1000, second: day + 1000, third: 1000, fourth: day + 1000 };
      for (const [id, age] of Object.entries(ages))
        await redis.client.rpush(key, JSON.stringify({ id, addedAt: Date.now() - age, value: {} }));
      vi.useFakeTimers({ toFake: ['performance'] });
      onTestFinished(() => void vi.useRealTimers());
      const { figures } = await startInstance(await scratch(), { webhooks, redis: { url: redis.url } });
      await expect.poll(async () => (await figures())[0]?.failed).toBe(1);
      vi.advanceTimersByTime(11 * 60_000);
      await expect.poll(() => redis.client.llen(key), { timeout: 5000 }).toBe(2);
      await expect.poll(async () => (await figures())[0]).toMatchObject({ dropped: 2, waiting: 2 });
    });

    it('go on while Redis is away, keep what is to be told, and refuse what a quota cannot answer for', async () => {
      const redis = await startRedis();
      const receiver = await startReceiver(() => 200);
      const folder = await scratch();
      const free = { title: 'Free', root: await scratch(), baseurl: 'http://files.example/' };
      const limited = {
        title: 'Limited',
        root: folder,
        baseurl: 'http://files.example/',
        quota: { bytes: 1000 },
      };
      const webhooks = [{ url: receiver.url, secret, allowPrivate: true }];
      const config = { webhooks, redis: { url: redis.url }, sources: { free, limited } };
      const instance = await startInstance(folder, config);
      const uploadLimited = () => instance.upload('q.txt', 1, 'limited');
      expect([await instance.upload('a.txt'), await uploadLimited()]).toEqual([200, 200]);
      await expect.poll(receiver.paths).toEqual(['a.txt', 'q.txt']);
      await expect.poll(() => redis.client.keys('stowage:queue:*')).toEqual([]);
      await redis.stop();
      expect(await instance.upload('b.txt')).toBe(200);
      expect(await instance.upload('c.txt')).toBe(200);
      expect(await uploadLimited()).toBe(503);
      // What makes room is done, and counted later.
      await instance.client.fileRemove({ source: 'limited', path: '', name: 'q.txt' });
      expect((await instance.client.permissions({ source: 'limited' })).quota).toEqual({ bytes: 1000 });
      expect(instance.lines).toContain('Events wait in memory: Redis does not take them.');
      expect(instance.lines.join()).not.toContain('127.0.0.1');
      await redis.start();
      await expect
        .poll(receiver.paths, { timeout: 10_000 })
        .toEqual(['a.txt', 'q.txt', 'b.txt', 'c.txt', 'q.txt']);
      await expect.poll(uploadLimited, { timeout: 10_000 }).toBe(200);
    });

    it('replace what is damaged in Redis, and leave nothing there of a webhook that is gone', async () => {
      const redis = await startRedis();
      let status = 500;
      const receiver = await startReceiver(() => status);
      const webhooks = [{ url: receiver.url, secret, allowPrivate: true }];
      const config = { quota: { bytes: 1000 }, webhooks, redis: { url: redis.url } };
      const instance = await startInstance(await scratch(), config);
      const damaged = ['no JSON', '', '5', '[]', '{}', '{"used":1}', '{"reserved":null}'];
      expect(await instance.upload('a.txt')).toBe(200);
      await expect.poll(() => redis.client.keys('stowage:*')).toHaveLength(3);
      const [queue = '', quota = '', sender = ''] = (await redis.client.keys('stowage:*')).toSorted();
      for (const key of [queue, quota, sender]) expect(await redis.client.pttl(key)).toBeGreaterThan(0);
      for (const [index, text] of damaged.entries()) {
        await redis.client.set(quota, text);
        expect(await instance.upload(`${String(index)}.txt`)).toBe(200);
        expect(await usedIn(instance)).toMatchObject({ usedFiles: index + 2 });
      }
      await redis.client.set(sender, 'null');
      status = 200;
      await expect.poll(() => receiver.events.length, { timeout: 10_000 }).toBe(damaged.length + 1);
      await expect.poll(() => redis.client.exists(queue)).toBe(0);
    });

    it('refuse together, not one behind the other, what needs a Redis that has fallen silent', async () => {
      const redis = await startRedis();
      const config = { quota: { bytes: 1000 }, redis: { url: redis.url } };
      const { upload } = await startInstance(await scratch(), config);
      expect(await upload('a.txt')).toBe(200);
      redis.fallSilent();
      // Each waits for a second: in a row they would take longer than any test may.
      const sent = Array.from({ length: 120 }, (_, index) => upload(`${String(index)}.txt`));
      expect(new Set(await Promise.all(sent))).toEqual(new Set([503]));
    });

    it('leave a connection that leads nowhere any more, though nothing closes it', async () => {
      const address = await startMovingAddress(await startRedis());
      const config = { quota: { bytes: 1000 }, redis: { url: address.url } };
      const { upload } = await startInstance(await scratch(), config);
      expect(await upload('a.txt')).toBe(200);
      address.forgetConnections();
      expect(await upload('b.txt')).toBe(503);
      await expect.poll(() => upload('c.txt'), { timeout: 10_000 }).toBe(200);
    });

    it('keep the connection after a pause of the process in which its Redis has answered', async () => {
      const redis = await startRedis();
      const connection = createRedisConnection({ url: redis.url, prefix: 'test' }, silent);
      onTestFinished(() => connection.close());
      const client = await connection.get();
      const id = await client.client('ID');
      const answered = client.ping();
      // As a container out of its share of the processor, or a long garbage collection, stops a process.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1500);
      expect(await answered).toBe('PONG');
      expect(await client.client('ID')).toBe(id);
    });

    it('tell the host by TLS which name they look for, as there may be several at one address', async () => {
      const server = createTlsServer({
        SNICallback: (name, done) => {
          server.emit('named', name);
          done(new Error('there is no certificate'));
        },
      });
      server.on('tlsClientError', () => server.emit('named', undefined));
      const named = once(server, 'named');
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      onTestFinished(() => void server.close());
      const url = `rediss://localhost:${String((server.address() as AddressInfo).port)}`;
      const connection = createRedisConnection({ url, prefix: 'test' }, silent);
      onTestFinished(() => connection.close());
      void connection.get();
      expect(await named).toEqual(['localhost']);
    });

    it('do not wait for a Redis that loads its data', async () => {
      const [full, loading] = [await startRedis(), await startRedis()];
      const fill = `for n = 1, 2000 do redis.call('SET', n, string.rep(n, 500)) end`;
      await full.client.eval(fill, 0);
      await loading.client.config('SET', 'key-load-delay', '60000');
      await loading.client.config('SET', 'loading-process-events-interval-bytes', '1024');
      await loading.client.call('REPLICAOF', '127.0.0.1', new URL(full.url).port);
      await expect.poll(() => loading.client.info('persistence')).toContain('loading:1');
      const config = { quota: { bytes: 1000 }, redis: { url: loading.url } };
      const { upload, lines } = await startInstance(await scratch(), config);
      expect(await upload('a.txt')).toBe(503);
      expect(lines).toContain('Redis cannot be reached.');
    });

    it('follow the address when the Redis that they have reached becomes the copy of another one', async () => {
      const [one, other] = [await startRedis(), await startRedis()];
      const portOf = ({ url }: { readonly url: string }): string => new URL(url).port;
      const address = await startMovingAddress(one);
      await other.client.call('REPLICAOF', '127.0.0.1', portOf(one));
      const receiver = await startReceiver(() => 200);
      const instance = await startInstance(await scratch(), {
        quota: { files: 3 },
        rateLimits: { uploads: { requests: 1000, seconds: 60 } },
        webhooks: [{ url: receiver.url, secret, allowPrivate: true }],
        redis: { url: address.url },
      });
      expect(await instance.upload('a.txt')).toBe(200);
      await expect.poll(receiver.paths).toEqual(['a.txt']);
      const quotaIn = async (redis: typeof one): Promise<string | null> => {
        const [key = ''] = await redis.client.keys('stowage:quota:*');
        return key === '' ? null : redis.client.get(key);
      };
      await expect.poll(() => quotaIn(other)).toBe(await quotaIn(one));
      await expect.poll(() => one.client.keys('stowage:queue:*')).toEqual([]);

      await other.client.call('REPLICAOF', 'NO', 'ONE');
      await one.client.call('REPLICAOF', '127.0.0.1', portOf(other));
      address.leadTo(other);
      // Its connection still leads to the one that takes no writes any more: until that has shown, the answer is 503.
      await expect.poll(() => instance.upload('b.txt'), { timeout: 10_000 }).toBe(200);
      expect(await usedIn(instance)).toMatchObject({ usedBytes: 2, usedFiles: 2 });
      await expect.poll(receiver.paths, { timeout: 10_000 }).toEqual(['a.txt', 'b.txt']);
      expect([await instance.upload('c.txt'), await instance.upload('d.txt')]).toEqual([200, 413]);
      await expect.poll(() => quotaIn(one), { timeout: 10_000 }).toBe(await quotaIn(other));
    });
  },
);
