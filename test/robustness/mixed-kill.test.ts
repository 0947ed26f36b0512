import { randomInt } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { GetObjectCommand } from '@aws-sdk/client-s3';
import { createClient, type Client } from 'stowage/client';
import { expect, onTestFinished, test } from 'vitest';
import { makeBucket, optionsFor } from '../../tools/test-servers/bucket.ts';
import { radosgwMissing, startRadosgw } from '../../tools/test-servers/radosgw.ts';
import { redisMissing, startRedis } from '../operations/redis.ts';
import { MixedLoad, type StoreView } from './mixed-load.ts';
import { startService, type Service } from './service.ts';

/** `STOWAGE_KILLS=200 npx vitest run test/robustness/mixed-kill.test.ts` for the long form, for S3 too. */
const KILLS = Number(process.env['STOWAGE_KILLS'] ?? 2);
const LONG_FORM = process.env['STOWAGE_KILLS'] !== undefined;

interface Store {
  readonly source: object;
  /** All files past the service, without those that are still arriving. */
  readonly view: () => Promise<StoreView>;
  /** Puts an empty file there, past the service. */
  readonly plant: (file: string) => Promise<void>;
}

/** What a sweep comes to last: the rest of what was being erased in 1970. */
const OLDEST_MARK = `.stowage-trash/${'0'.repeat(9)}-${'0'.repeat(32)}/erased.json`;

const HIDDEN = '.stowage-tmp';

/** What a sweep of the service takes away during a look is not there. */
const ifThere = <T>(error: unknown, nothing: T): T => {
  const { code, name } = error as { code?: string; name?: string };
  if (code !== 'ENOENT' && name !== 'NoSuchKey') throw error;
  return nothing;
};

/** Without the service's own folder, which it sweeps meanwhile. */
const filesBelow = async (root: string, folder: string): Promise<[string, Buffer][]> => {
  const found: [string, Buffer][] = [];
  const entries = readdir(path.join(root, folder), { withFileTypes: true });
  for (const entry of await entries.catch((error: unknown) => ifThere(error, []))) {
    const name = path.join(folder, entry.name);
    if (entry.isDirectory() && name !== HIDDEN) found.push(...(await filesBelow(root, name)));
    if (!entry.isFile()) continue;
    const content = await readFile(path.join(root, name)).catch((error: unknown) =>
      ifThere(error, undefined),
    );
    if (content !== undefined) found.push([name, content]);
  }
  return found;
};

const localStore = async (scratch: string): Promise<Store> => {
  const root = path.join(scratch, 'files');
  await mkdir(root);
  return {
    source: { root },
    view: async () => new Map(await filesBelow(root, '')),
    plant: async (file) => {
      await mkdir(path.join(root, path.dirname(file)), { recursive: true });
      await writeFile(path.join(root, file), '');
    },
  };
};

const s3Store = async (): Promise<Store> => {
  const gateway = await startRadosgw();
  const bucket = await makeBucket(gateway);
  onTestFinished(async () => {
    bucket.client.destroy();
    await gateway.stop();
  });
  return {
    source: { storageAdapter: 's3', s3: optionsFor(gateway, bucket.name) },
    view: async () => {
      const view = new Map<string, Buffer>();
      for (const key of await bucket.keys('')) {
        if (key.endsWith('/') || key.includes(`${HIDDEN}/`)) continue;
        const found = await bucket.client
          .send(new GetObjectCommand({ Bucket: bucket.name, Key: key }))
          .catch((error: unknown) => ifThere(error, undefined));
        if (found !== undefined) view.set(key, Buffer.from((await found.Body?.transformToByteArray()) ?? []));
      }
      return view;
    },
    plant: (file) => bucket.put(file, ''),
  };
};

interface Report {
  readonly type: string;
  readonly path: string;
}

/** Somebody who is told of every change; remembers each delivery once. */
const startReceiver = async (): Promise<{ url: string; reports: () => Report[]; again: () => number }> => {
  const deliveries = new Map<string, Report>();
  let again = 0;
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const id = String(request.headers['x-stowage-delivery']);
      if (deliveries.has(id)) again += 1;
      else deliveries.set(id, JSON.parse(Buffer.concat(chunks).toString()) as Report);
      response.writeHead(204).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${String(port)}/`,
    reports: () => [...deliveries.values()],
    again: () => again,
  };
};

/** The lengths of the uploads in parts that have not been stored, or not been noted to be. */
const sizesOfWaiting = async (stateDirectory: string): Promise<number[]> => {
  const folder = path.join(stateDirectory, 'tus');
  const sizes: number[] = [];
  for (const id of await readdir(folder).catch(() => [])) {
    const text = await readFile(path.join(folder, id, 'upload.json'), 'utf8').catch(() => undefined);
    const { announced, answer } = JSON.parse(text ?? '{"answer":""}') as {
      announced: { bytes: number };
      answer?: string;
    };
    if (answer === undefined) sizes.push(announced.bytes);
  }
  return sizes;
};

const killing = async (store: Store, scratch: string): Promise<void> => {
  const stateDirectory = path.join(scratch, 'state');
  const receiver = await startReceiver();
  const settings = {
    createThumb: false,
    trash: {},
    quota: { bytes: '1gb' },
    // Nobody learns of some of those whose beginning is cut off.
    tus: { maxUploads: 10_000, maxUploadsPerClient: 10_000 },
    stateDirectory,
    webhooks: [{ url: receiver.url, secret: 'a secret that is long enough: 32 bytes', allowPrivate: true }],
    sources: { files: { title: 'Files', baseurl: 'http://127.0.0.1/files/', ...store.source } },
  };
  let service: Service | undefined;
  onTestFinished(async () => service?.kill());
  let tus = '';
  const start = async (): Promise<Client> => {
    service = await startService(path.join(scratch, 'config.json'), '', settings);
    const url = `http://127.0.0.1:${String(service.port)}`;
    tus = `${url}/tus`;
    return createClient({ url });
  };
  const load = new MixedLoad();
  /**
   * The first use of the trash ends what erasing had begun, and then has everything counted again. A count that
   * begins only while others work may be too high, until the next one some minutes later.
   */
  const swept = async (client: Client): Promise<void> => {
    await client.trashList({});
    const marks = async () =>
      [...(await store.view()).keys()].filter((name) => name.endsWith('/erased.json'));
    await expect.poll(marks, { timeout: 30_000 }).toEqual([]);
  };
  const requireSame = async (client: Client): Promise<void> => {
    const view = await store.view();
    expect(load.check(view)).toEqual([]);
    await load.tidy(client);
    const { items } = await client.trashList({});
    expect(items.map(({ name }) => name).sort()).toEqual(load.trashed().sort());
  };
  /** What the service has counted is what lies there, but for its own records, and what it keeps room for. */
  const requireCounted = async (client: Client): Promise<void> => {
    const stored = [...(await store.view())].filter(([name]) => !/\/(?:record|erased)\.json$/u.test(name));
    const sizes = [...stored.map(([, content]) => content.length), ...(await sizesOfWaiting(stateDirectory))];
    const usedBytes = sizes.reduce((sum, size) => sum + size, 0);
    const counted = async () => (await client.permissions({})).quota;
    // The first count is not waited for.
    await expect.poll(async () => (await counted())?.usedBytes, { timeout: 30_000 }).toBeDefined();
    expect(await counted()).toMatchObject({ usedBytes, usedFiles: sizes.length });
  };

  for (let kills = 0; kills < KILLS; kills += 1) {
    await store.plant(OLDEST_MARK);
    const client = await start();
    if (kills === 0) await load.begin(client);
    await requireSame(client);
    await swept(client);
    await requireCounted(client);
    // Calm work first: what is counted along the way must be what another count finds.
    const calm = new AbortController();
    const working = load.run(client, calm.signal, tus);
    await load.untilAnswered(10);
    calm.abort();
    await working;
    await requireCounted(client);
    const cutOff = load.run(client, new AbortController().signal, tus);
    await load.untilAnswered(randomInt(0, 40));
    await service?.kill();
    await cutOff;
  }
  const client = await start();
  // The last kill too may have left a file in both locations, which is looked at and tidied once.
  await requireSame(client);
  await load.finishParts(tus);
  await requireSame(client);
  const waiting = async (): Promise<string[]> =>
    (await readdir(stateDirectory, { recursive: true })).filter(
      (name) => name.endsWith('.json') && !name.startsWith('tus'),
    );
  await expect.poll(waiting, { timeout: 60_000 }).toEqual([]);
  expect(load.checkEvents(receiver.reports())).toEqual([]);
  const { answered, cut, both } = load.counts;
  expect(cut).toBeGreaterThan(0);
  if (LONG_FORM) {
    process.stdout.write(
      `${String(KILLS)} kills: ${String(answered)} requests answered, ${String(cut)} cut off, ${String(both)} left in both ` +
        `locations; ${String(receiver.reports().length)} events, ${String(receiver.again())} of them delivered again\n`,
    );
  }
};

const scratchFolder = async (): Promise<string> => {
  const scratch = await mkdtemp(path.join(tmpdir(), 'stowage-mixed-kill-'));
  onTestFinished(() => rm(scratch, { recursive: true, force: true }));
  return scratch;
};

const timeout = 60_000 + KILLS * 20_000;

test(
  'A service that is killed under mixed load loses nothing that it has answered',
  { timeout },
  async () => {
    const scratch = await scratchFolder();
    await killing(await localStore(scratch), scratch);
  },
);

test.skipIf(!LONG_FORM || radosgwMissing !== undefined)(
  `so on S3 (with STOWAGE_KILLS alone; ${radosgwMissing ?? 'Ceph is there'})`,
  { timeout },
  async () => {
    const scratch = await scratchFolder();
    await killing(await s3Store(), scratch);
  },
);

/** Of two instances over one store one is killed at a time, and started again. */
const killingOneOfTwo = async (store: Store, scratch: string): Promise<void> => {
  const redis = await startRedis();
  const receiver = await startReceiver();
  const settings = {
    createThumb: false,
    trash: {},
    quota: { bytes: '1gb' },
    redis: { url: redis.url },
    webhooks: [{ url: receiver.url, secret: 'a secret that is long enough: 32 bytes', allowPrivate: true }],
    sources: { files: { title: 'Files', baseurl: 'http://127.0.0.1/files/', ...store.source } },
  };
  const start = async (name: string): Promise<{ service: Service; client: Client }> => {
    const service = await startService(path.join(scratch, `${name}.json`), '', settings);
    onTestFinished(() => service.kill());
    return { service, client: createClient({ url: `http://127.0.0.1:${String(service.port)}` }) };
  };
  const load = new MixedLoad();
  let staying = await start('first');
  await load.begin(staying.client);
  for (let kills = 0; kills < KILLS; kills += 1) {
    const leaving = staying;
    staying = await start(`number-${String(kills)}`);
    const calm = new AbortController();
    const [cutOff, working] = [load.run(leaving.client, calm.signal), load.run(staying.client, calm.signal)];
    await load.untilAnswered(randomInt(0, 60));
    await leaving.service.kill();
    await cutOff;
    calm.abort();
    await working;
    expect(load.check(await store.view())).toEqual([]);
    await load.tidy(staying.client);
  }
  const { client } = staying;
  const files = [...(await store.view())].filter(([name]) => !/\/(?:record|erased)\.json$/u.test(name));
  const usedBytes = files.reduce((sum, [, content]) => sum + content.length, 0);
  const [key = ''] = await redis.client.keys('stowage:quota:*');
  const { quota } = await client.permissions({});
  // What a killed one has noted before it stored, or not any more after it removed, is too much. Too little is
  // only what it left in two locations: its second copy was never noted, and is taken off when it is erased.
  const { bothBytes } = load.counts;
  expect(quota?.usedBytes).toBeGreaterThanOrEqual(usedBytes - bothBytes);
  // A minute later nobody believes that, and an hour later it is counted again.
  const account = JSON.parse((await redis.client.get(key)) ?? '') as { reserved: Record<string, object> };
  const reserved = Object.entries(account.reserved).map(([id, one]) => [id, { ...one, until: 1 }]);
  await redis.client.set(
    key,
    JSON.stringify({ ...account, dueAt: 0, counting: undefined, reserved: Object.fromEntries(reserved) }),
  );
  await expect
    .poll(async () => (await client.permissions({})).quota, { timeout: 30_000 })
    .toMatchObject({ usedBytes, usedFiles: files.length });
  await expect.poll(() => redis.client.keys('stowage:queue:*'), { timeout: 90_000 }).toEqual([]);
  expect(load.checkEvents(receiver.reports())).toEqual([]);
  const { answered, cut } = load.counts;
  process.stdout.write(
    `${String(KILLS)} kills of one of two: ${String(answered)} requests answered, ${String(cut)} cut off; ` +
      `${String(receiver.reports().length)} events, ${String(receiver.again())} of them delivered again; ` +
      `${String((quota?.usedBytes ?? 0) - usedBytes)} bytes of ${String(usedBytes)} counted too much\n`,
  );
};

test.skipIf(!LONG_FORM || redisMissing !== undefined)(
  `so two instances that share a Redis (with STOWAGE_KILLS alone; ${redisMissing ?? 'Redis is there'})`,
  { timeout },
  async () => {
    const scratch = await scratchFolder();
    await killingOneOfTwo(await localStore(scratch), scratch);
  },
);
