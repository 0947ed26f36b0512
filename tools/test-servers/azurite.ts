import { spawn } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { fileURLToPath } from 'node:url';
import {
  BlobServiceClient,
  StorageSharedKeyCredential,
  type BlobGetPropertiesResponse,
  type ContainerClient,
} from '@azure/storage-blob';
import { FaultProxy } from './fault-proxy.ts';
import { sharedServer } from './shared.ts';

/** Entry point that `npm test` installs. */
const MAIN = fileURLToPath(
  new URL('../../.cache/azurite/node_modules/azurite/dist/src/blob/main.js', import.meta.url),
);

/** The reason why Azurite cannot run; undefined when it can. */
export const azuriteMissing: string | undefined = existsSync(MAIN)
  ? undefined
  : 'Azurite is not installed: npm test installs it';

const ACCOUNT = 'stowagetests';

/** A running Azurite with one account, which stores everything in memory. */
export interface Azurite {
  readonly accountUrl: string;
  readonly accountKey: string;
  readonly service: BlobServiceClient;
  stop(): Promise<void>;
}

type Started = Omit<Azurite, 'service'>;

/** Starts Azurite on a free port. */
export const startOwnAzurite = async (): Promise<Started> => {
  const accountKey = randomBytes(64).toString('base64');
  const where = ['--blobHost', '127.0.0.1', '--blobPort', '0', '--inMemoryPersistence'];
  const how = ['--silent', '--disableTelemetry', '--skipApiVersionCheck'];
  const child = spawn(process.execPath, [MAIN, ...where, ...how], {
    env: { ...process.env, AZURITE_ACCOUNTS: `${ACCOUNT}:${accountKey}` },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = once(child, 'exit');
  let log = '';
  const origin = await new Promise<string>((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => {
        log += text;
        const found = /listens on (http:\/\/[\d.:]+)/u.exec(log)?.[1];
        if (found !== undefined) resolve(found);
      });
    ended.then(() => reject(new Error(`Azurite did not start: ${log}`)), reject);
  });
  const accountUrl = `${origin}/${ACCOUNT}`;
  return {
    accountUrl,
    accountKey,
    stop: async () => {
      child.kill('SIGTERM');
      await ended;
    },
  };
};

/** The Azurite that the test files of a run share, each with containers of its own; outside of a run a new one. */
export const startAzurite = async (): Promise<Azurite> => {
  const shared = (await sharedServer('azurite')) as Started | undefined;
  const { accountUrl, accountKey, stop } = shared ?? (await startOwnAzurite());
  return {
    accountUrl,
    accountKey,
    service: new BlobServiceClient(accountUrl, new StorageSharedKeyCredential(ACCOUNT, accountKey)),
    stop: shared === undefined ? stop : () => Promise.resolve(),
  };
};

const operationOf = ({ method = '', url = '', headers }: IncomingMessage): string => {
  const query = new URL(url, 'http://proxy').searchParams;
  if (query.has('comp')) return `${method} ${query.get('comp') ?? ''}`;
  return headers['x-ms-copy-source'] === undefined ? method : 'COPY';
};

/** As Azure does, and Azurite does not: drops dots at the end of the segments of a blob's name. */
const withoutFinalDots = (url: string): string => {
  const [path = '', ...query] = url.split('?');
  return [path.replaceAll(/\.+(?=\/|$)/gu, ''), ...query].join('?');
};

/** Starts a fault proxy between the adapter and Azurite. */
export const startAzuriteProxy = ({ accountUrl }: Azurite): Promise<FaultProxy> =>
  FaultProxy.start(new URL(accountUrl).origin, operationOf, withoutFinalDots);

/** Direct access to a container, without the adapter. */
export interface PlainContainer {
  readonly name: string;
  readonly client: ContainerClient;
  put(key: string, body: string | Buffer): Promise<void>;
  head(key: string): Promise<BlobGetPropertiesResponse>;
  /** Names with this prefix, without it, sorted; includes blobs with uncommitted blocks. */
  keys(prefix: string): Promise<string[]>;
}

/** Creates a new container. */
export const makeContainer = async ({ service }: Azurite): Promise<PlainContainer> => {
  const name = `c-${randomUUID()}`;
  const client = service.getContainerClient(name);
  await client.create();
  return {
    name,
    client,
    put: async (key, body) => {
      await client.getBlockBlobClient(key).upload(body, Buffer.byteLength(body));
    },
    head: (key) => client.getBlobClient(key).getProperties(),
    keys: async (prefix) => {
      const keys: string[] = [];
      for await (const blob of client.listBlobsFlat({ prefix })) keys.push(blob.name.slice(prefix.length));
      return keys.sort();
    },
  };
};
