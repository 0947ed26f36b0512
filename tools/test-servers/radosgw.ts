import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { accessSync } from 'node:fs';
import { mkdir, mkdtemp, open, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { sharedServer } from './shared.ts';

const PROGRAMS = ['ceph', 'ceph-authtool', 'ceph-mon', 'ceph-osd', 'monmaptool', 'radosgw', 'radosgw-admin'];
const FOLDERS = ['/usr/bin', '/usr/local/bin', '/usr/sbin'];
const run = promisify(execFile);

const isThere = (path: string): boolean => {
  try {
    accessSync(path);
    return true;
  } catch {
    return false;
  }
};

const missing = PROGRAMS.filter((name) => !FOLDERS.some((folder) => isThere(join(folder, name))));

/** The reason why Ceph cannot run; undefined when it can. */
export const radosgwMissing: string | undefined =
  missing.length === 0 ? undefined : `Ceph is not installed: ${missing.join(', ')}`;

/** Keys that sign requests. */
export interface Keys {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

/** A running Ceph object gateway with one user. */
export interface Radosgw {
  readonly endpoint: string;
  readonly credentials: Keys;
  /** Creates another user, who has no permissions without a policy. */
  addUser(name: string): Promise<Keys>;
  stop(): Promise<void>;
}

/** The first of consecutive free ports: monitor (two), gateway, and a range for the disk daemon. */
const freeBlock = async (length: number): Promise<number> => {
  for (;;) {
    const base = 20_000 + Math.floor(Math.random() * 10_000);
    const results = await Promise.all(
      Array.from({ length }, async (_, index) => {
        const server = createServer();
        const outcome = once(server, 'listening').then(
          () => true,
          () => false,
        );
        server.listen(base + index, '127.0.0.1');
        const free = await outcome;
        if (free) await new Promise((resolve) => server.close(resolve));
        return free;
      }),
    );
    if (results.every(Boolean)) return base;
  }
};

const OSD_PORTS = 12;

/**
 * One monitor, one disk daemon that stores everything in memory, no replication, and short intervals: it
 * responds after two seconds. With one shard for an index, few threads and no messages kept for its log it
 * takes a third less processor time than with its defaults.
 */
const configOf = (folder: string, base: number, bytes: number): string => `[global]
fsid = ${randomUUID()}
mon host = [v2:127.0.0.1:${base},v1:127.0.0.1:${base + 1}]
auth cluster required = cephx
auth service required = cephx
auth client required = cephx
keyring = ${folder}/keyring
paxos propose interval = 0.02
paxos min wait = 0.01
mon osd prime pg temp = false
public addr = 127.0.0.1
cluster addr = 127.0.0.1
ms bind port min = ${base + 3}
ms bind port max = ${base + 2 + OSD_PORTS}
run dir = ${folder}/run
admin socket = ${folder}/run/$name.$pid.asok
pid file = ${folder}/run/$name.pid
log file = ${folder}/log/$name.log
mon data = ${folder}/mon
osd data = ${folder}/osd
osd objectstore = memstore
memstore device bytes = ${bytes}
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 1
osd pool default pgp num = 1
osd pool default pg autoscale mode = off
osd crush chooseleaf type = 0
osd max object name len = 2048
osd heartbeat grace = 60
mon allow pool size one = true
mon max pg per osd = 2000
rgw enable usage log = false
rgw enable ops log = false
rgw dynamic resharding = false
ms async op threads = 1
osd op num shards = 1
osd op num threads per shard = 2
rgw thread pool size = 32
rgw override bucket index max shards = 1
debug ms = 0/0
debug rgw = 0/0
debug osd = 0/0
debug objclass = 0/0
[mon]
mon initial members = a
mon cluster log file = ${folder}/log/cluster.log
`;

const fsidOf = async (folder: string): Promise<string> =>
  /fsid = (\S+)/u.exec(await readFile(join(folder, 'ceph.conf'), 'utf8'))?.[1] ?? '';

class Cluster {
  readonly folder: string;
  readonly #children: ChildProcess[] = [];

  constructor(folder: string) {
    this.folder = folder;
  }

  async call(program: string, ...args: readonly string[]): Promise<string> {
    const { stdout } = await run(program, args, { cwd: this.folder, timeout: 30_000, env: this.#env() });
    return stdout;
  }

  ceph(program: string, ...args: readonly string[]): Promise<string> {
    return this.call(program, '-c', join(this.folder, 'ceph.conf'), ...args);
  }

  async daemon(program: string, ...args: readonly string[]): Promise<void> {
    const log = await open(join(this.folder, 'log', `${program}.out`), 'w');
    const all = ['-c', join(this.folder, 'ceph.conf'), '-f', '--no-mon-config', ...args];
    const child = spawn(program, all, {
      cwd: this.folder,
      stdio: ['ignore', log.fd, log.fd],
      env: this.#env(),
    });
    child.on('error', () => undefined);
    await log.close();
    this.#children.push(child);
  }

  async stop(): Promise<void> {
    await Promise.all(
      this.#children.map(async (child) => {
        if (child.exitCode !== null || child.pid === undefined) return;
        const gone = once(child, 'exit');
        child.kill('SIGKILL');
        await gone;
      }),
    );
    await rm(this.folder, { recursive: true, force: true });
  }

  #env(): NodeJS.ProcessEnv {
    return { PATH: `${process.env['PATH'] ?? ''}:/usr/sbin:/usr/bin`, HOME: this.folder, CEPH_ARGS: '' };
  }
}

const until = async (what: string, check: () => Promise<boolean>): Promise<void> => {
  const end = Date.now() + 40_000;
  while (!(await check().catch(() => false))) {
    if (Date.now() > end) throw new Error(`${what} did not get ready`);
    await sleep(50);
  }
};

const startMonitor = async (cluster: Cluster, base: number): Promise<void> => {
  const { folder } = cluster;
  const [keyring, map] = [join(folder, 'keyring'), join(folder, 'monmap')];
  await cluster.call(
    'ceph-authtool',
    '--create-keyring',
    keyring,
    '--gen-key',
    '-n',
    'mon.',
    '--cap',
    'mon',
    'allow *',
  );
  for (const name of ['client.admin', 'client.rgw', 'osd.0']) {
    const caps = ['mon', 'osd', 'mgr'].flatMap((service) => ['--cap', service, 'allow *']);
    await cluster.call('ceph-authtool', keyring, '--gen-key', '-n', name, ...caps);
  }
  const address = `[v2:127.0.0.1:${base},v1:127.0.0.1:${base + 1}]`;
  const fsid = await fsidOf(folder);
  await cluster.call('monmaptool', '--create', '--clobber', '--fsid', fsid, '--addv', 'a', address, map);
  await cluster.ceph(
    'ceph-mon',
    '--mkfs',
    '-i',
    'a',
    '--monmap',
    map,
    '--keyring',
    keyring,
    '--no-mon-config',
  );
  await cluster.daemon('ceph-mon', '-i', 'a');
};

const startDisk = async (cluster: Cluster): Promise<void> => {
  const id = randomUUID();
  await cluster.ceph('ceph', 'osd', 'new', id);
  await cluster.ceph('ceph-osd', '-i', '0', '--mkfs', '--osd-uuid', id, '--no-mon-config');
  await cluster.daemon('ceph-osd', '-i', '0');
  await until('the disk daemon', async () => (await cluster.ceph('ceph', 'osd', 'stat')).includes('1 up'));
};

const addUserTo =
  (cluster: Cluster) =>
  async (name: string): Promise<Keys> => {
    const user = [`--uid=${name}`, `--display-name=${name}`];
    const made = { accessKeyId: `${name}key`, secretAccessKey: `${name}secret` };
    const keys = ['--access-key', made.accessKeyId, '--secret-key', made.secretAccessKey];
    await cluster.ceph('radosgw-admin', 'user', 'create', ...user, ...keys);
    return made;
  };

/**
 * Starts a gateway in a new folder, on free ports of the loopback, with this capacity in bytes (in memory).
 */
export const startOwnRadosgw = async ({ bytes = 4 * 2 ** 30 } = {}): Promise<
  Radosgw & { readonly folder: string }
> => {
  const folder = await mkdtemp(join(tmpdir(), 'stowage-rgw-'));
  const cluster = new Cluster(folder);
  try {
    for (const name of ['mon', 'osd', 'run', 'log', 'rgw']) await mkdir(join(folder, name));
    const base = await freeBlock(3 + OSD_PORTS);
    await writeFile(join(folder, 'ceph.conf'), configOf(folder, base, bytes));
    await startMonitor(cluster, base);
    await startDisk(cluster);
    const addUser = addUserTo(cluster);
    const credentials = await addUser('test');
    const port = base + 2;
    const frontend = `beast endpoint=127.0.0.1:${port} tcp_nodelay=1`;
    await cluster.daemon(
      'radosgw',
      '-n',
      'client.rgw',
      `--rgw-frontends=${frontend}`,
      `--rgw-data=${folder}/rgw`,
    );
    const endpoint = `http://127.0.0.1:${port}`;
    await until('the gateway', async () => (await fetch(endpoint)).ok);
    return { endpoint, credentials, folder, addUser, stop: () => cluster.stop() };
  } catch (error) {
    await cluster.stop();
    throw error;
  }
};

/** The gateway that the test files of a run share, each with buckets of its own; outside of a run a new one. */
export const startRadosgw = async (): Promise<Radosgw> => {
  const shared = (await sharedServer('radosgw')) as Awaited<ReturnType<typeof startOwnRadosgw>> | undefined;
  if (shared === undefined) return startOwnRadosgw();
  return { ...shared, addUser: addUserTo(new Cluster(shared.folder)), stop: () => Promise.resolve() };
};
