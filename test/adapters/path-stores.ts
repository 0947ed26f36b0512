import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { SourcePath, type StorageAdapter } from 'stowage/storage';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { ownedByRunner, type RunningServer } from '../../tools/test-servers/programs.ts';
import { startTcpProxy, type TcpProxy } from '../../tools/test-servers/tcp-proxy.ts';

/** A real server whose store has paths, on a free port of this machine. */
export interface PathServer extends RunningServer {
  readonly options: { readonly port: number };
  /** The folder on disk. */
  readonly data: string;
}

export type PathStore = StorageAdapter & { close(): Promise<void> };

/** `root` is a folder below the server's directory. */
export type OpenPathStore<Server, Store extends PathStore = PathStore> = (
  server: Server,
  options: object,
  root: string,
) => Store;

export const at = (text: string): SourcePath => SourcePath.parse(text);
export const contentOf = (text: string): Readable =>
  Readable.from([Buffer.from(text)], { objectMode: false });

/** What an error tells the log, and what it is. */
export const failureOf = async (
  failing: Promise<unknown>,
): Promise<{ readonly code?: string; readonly detail?: string }> =>
  failing.then(
    () => ({}),
    (reason: unknown) => {
      const { code, detail = '' } = reason as { code: string; detail?: string };
      return { code, detail };
    },
  );

export const codeOf = async (failing: Promise<unknown>): Promise<string | undefined> =>
  (await failureOf(failing)).code;

export const namesIn = async (store: StorageAdapter, folder = ''): Promise<readonly string[]> => {
  const names: string[] = [];
  for await (const page of store.list(at(folder))) names.push(...page.map(({ name }) => name));
  return names.sort();
};

/** A folder in the data of a server, as one that it has made. */
export const makeRoot = async ({ data }: Pick<PathServer, 'data'>, name: string): Promise<string> => {
  const folder = join(data, name);
  await mkdir(folder);
  await ownedByRunner(folder);
  return folder;
};

/** A server for the cases of a suite, with a proxy before it. */
export interface PathServerInUse<Server, Store extends PathStore> {
  readonly server: Server;
  readonly proxy: TcpProxy;
  /** Closed after the case. */
  readonly open: (options?: object, root?: string) => Store;
  readonly makeRoot: (name: string) => Promise<string>;
}

/** Has a server run for the cases of a suite. */
export const usePathServer = <Server extends PathServer, Store extends PathStore>(
  start: () => Promise<Server>,
  openStore: OpenPathStore<Server, Store>,
): PathServerInUse<Server, Store> => {
  let running: { readonly server: Server; readonly proxy: TcpProxy } | undefined;
  const stores: PathStore[] = [];
  const inUse = () => {
    if (running === undefined) throw new Error('the server does not run yet');
    return running;
  };
  beforeAll(async () => {
    const server = await start();
    running = { server, proxy: await startTcpProxy(server.options.port) };
  });
  afterEach(async () => {
    await Promise.all(stores.splice(0).map((store) => store.close()));
  });
  afterAll(async () => {
    await running?.proxy.close();
    await running?.server.stop();
  });
  return {
    get server() {
      return inUse().server;
    },
    get proxy() {
      return inUse().proxy;
    },
    open: (options = {}, root = '') => {
      const store = openStore(inUse().server, options, root);
      stores.push(store);
      return store;
    },
    makeRoot: (name) => makeRoot(inUse().server, name),
  };
};

/** What holds on every such server. */
export const itKeepsPaths = <Server extends PathServer, Store extends PathStore>(
  inUse: PathServerInUse<Server, Store>,
): void => {
  const { open, makeRoot: make } = inUse;

  it('never follows links of the server, whose targets stay as they are', async () => {
    const [inside, outside] = [await make('inside'), await make('outside')];
    await writeFile(join(outside, 'secret.txt'), 'secret', { mode: 0o666 });
    await symlink(outside, join(inside, 'folder'));
    await symlink(join(outside, 'secret.txt'), join(inside, 'file.txt'));
    await symlink('/etc/passwd', join(inside, 'passwd'));
    const store = open({}, 'inside');
    let omitted = 0;
    for await (const page of store.list(SourcePath.root, { onOmitted: (count) => (omitted += count) }))
      expect(page).toEqual([]);
    expect(omitted).toBe(3);
    for (const path of ['file.txt', 'folder', 'folder/secret.txt', 'passwd']) {
      expect(await codeOf(store.stat(at(path))), path).toBe('NOT_FOUND');
      expect(await codeOf(store.read(at(path))), path).toBe('NOT_FOUND');
      expect(await codeOf(store.removeFile(at(path))), path).toBe('NOT_FOUND');
      expect(await codeOf(store.copyFile(at(path), at('copy'))), path).toBe('NOT_FOUND');
      expect(await codeOf(store.moveFile(at(path), at('moved'))), path).toBe('NOT_FOUND');
    }
    for (const path of ['folder/new.txt', 'folder/deep/new.txt'])
      expect(await codeOf(store.write(at(path), contentOf('new'))), path).toBe('NOT_FOUND');
    for (const path of ['file.txt', 'folder'])
      expect(await codeOf(store.write(at(path), contentOf('new'))), path).toBe('WRONG_KIND');
    expect(await codeOf(store.makeFolder(at('folder/new')))).toBe('NOT_FOUND');
    expect(await codeOf(store.removeFolder(at('folder')))).toBe('NOT_FOUND');
    expect(await codeOf(namesIn(store, 'folder'))).toBe('NOT_FOUND');
    // Links go with the folder that holds them.
    await open().removeFolder(at('inside'));
    expect(await readdir(outside)).toEqual(['secret.txt']);
    expect(await readFile(join(outside, 'secret.txt'), 'utf8')).toBe('secret');
    expect(await readdir(inUse.server.data)).not.toContain('inside');
    // The directory of the options may be one.
    await symlink(outside, join(inUse.server.data, 'link'));
    expect(await namesIn(open({ directory: join(inUse.server.data, 'link') }))).toEqual(['secret.txt']);
    expect(await codeOf(open({}, 'link').stat(SourcePath.root))).toBe('STORAGE_UNAVAILABLE');
  });

  it('removes what a killed process has left long ago, and leaves what may be in use', async () => {
    const folder = await make('leftovers');
    const nameAt = (time: number): string => {
      const hex = time.toString(16).padStart(12, '0');
      return `.${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000.tmp`;
    };
    const young = nameAt(Date.now());
    for (const name of [nameAt(1_700_000_000_000), young]) await writeFile(join(folder, name), 'left');
    await mkdir(join(folder, nameAt(1_600_000_000_000)));
    const store = open({}, 'leftovers');
    expect(await namesIn(store)).toEqual([]);
    await expect.poll(() => readdir(folder)).toEqual([young]);
    expect(await codeOf(store.read(at(young)))).toBe('NOT_FOUND');
  });

  it('loses its connection in the midst of an upload: an error, nothing left, and the next request works', async () => {
    const { proxy } = inUse;
    const folder = await make('cut');
    await writeFile(join(folder, 'old.txt'), 'old');
    const store = open({ port: proxy.port }, 'cut');
    for (const name of ['old.txt', 'new.txt']) {
      const content = new Readable({ read: () => undefined });
      const writing = codeOf(store.write(at(name), content));
      content.push(Buffer.alloc(300_000));
      await expect.poll(async () => (await readdir(folder)).length).toBe(2);
      proxy.cut();
      content.push(Buffer.alloc(300_000));
      content.push(null);
      expect(await writing).toBe('STORAGE_UNAVAILABLE');
      expect(await namesIn(store)).toEqual(['old.txt']);
      await expect.poll(() => readdir(folder)).toEqual(['old.txt']);
    }
    expect(await readFile(join(folder, 'old.txt'), 'utf8')).toBe('old');
  });
};
