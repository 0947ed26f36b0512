import { readdir, readFile, utimes, mkdir, writeFile, chmod } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { mostly, runsEverything } from '../before-release.ts';
import { formOf, type Fields } from '../protocol/service.ts';
import { FaultProxy } from '../../tools/test-servers/fault-proxy.ts';
import { startInstance, type Instance } from '../../tools/test-servers/instance.ts';
import {
  login,
  programs,
  startApache,
  startNginx,
  startRclone,
  type DavServer,
} from '../../tools/test-servers/webdav.ts';

/** Sources on WebDAV servers by their names, each with a folder of its own. */
const configFor = (sources: Readonly<Record<string, string>>) => ({
  createThumb: false,
  sources: Object.fromEntries(
    Object.entries(sources).map(([name, url]) => [
      name,
      {
        title: name,
        baseurl: 'https://files.example/',
        storageAdapter: 'webdav',
        root: name,
        webdav: { url, ...login },
      },
    ]),
  ),
});

interface Answer {
  readonly success: boolean;
  readonly data: { readonly code: number; readonly files?: readonly string[] };
}

const call = async (
  instance: Instance,
  action: string,
  fields: Readonly<Record<string, string>>,
): Promise<Answer> => {
  const answer = await fetch(`${instance.url}/${action}`, {
    method: 'POST',
    body: new URLSearchParams(fields),
  });
  return (await answer.json()) as Answer;
};

/** Uploads one file; gives the path that it got, undefined when nobody answered. */
const upload = async (
  instance: Instance,
  name: string,
  content: string,
  fields: Fields,
): Promise<string | undefined> => {
  const body = formOf([['files[0]', name, content]], fields);
  const answer = await fetch(`${instance.url}/fileUpload`, { method: 'POST', body })
    .then(async (response) => (await response.json()) as Answer)
    .catch(() => undefined);
  return answer === undefined ? undefined : (answer.data.files?.[0] ?? `refused: ${JSON.stringify(answer)}`);
};

const contentOf = (index: number): string => `upload ${String(index)};`.repeat(500);

const servers = mostly(1, [
  {
    name: 'Apache',
    source: 'apache',
    installed: programs.apache,
    start: () => startApache('basic'),
    count: runsEverything ? 45 : 24,
  },
  { name: 'nginx', source: 'nginx', installed: programs.nginx, start: startNginx, count: 30 },
  { name: 'rclone', source: 'rclone', installed: programs.rclone, start: startRclone, count: 30 },
] as const);

describe.skipIf(!programs.apache)(
  `processes on one collection${programs.apache ? '' : ' (apache2 is not installed)'}`,
  () => {
    const running = new Map<string, DavServer>();
    let server: DavServer;
    let proxy: FaultProxy;
    /** Three processes with all sources: a start of one takes longer than most cases. */
    let trio: readonly Instance[] = [];

    const folderAt = async ({ data }: DavServer, root: string): Promise<string> => {
      const folder = join(data, root);
      await mkdir(folder);
      await chmod(folder, 0o777);
      return folder;
    };
    /** A folder that Apache may write to. */
    const makeRoot = (root: string): Promise<string> => folderAt(server, root);
    const below = async (folder: string): Promise<readonly string[]> =>
      (await readdir(folder, { recursive: true }).catch(() => [])).sort();

    beforeAll(async () => {
      for (const { source, installed, start } of servers) {
        if (!installed) continue;
        const started = await start();
        running.set(source, started);
        await folderAt(started, source);
      }
      const apache = running.get('apache');
      if (apache === undefined) throw new Error('Apache does not run');
      server = apache;
      proxy = await FaultProxy.start(server.url, ({ method = '' }) => method);
      const config = configFor({
        ...Object.fromEntries([...running].map(([source, { url }]) => [source, url])),
        ...Object.fromEntries(['killed-name', 'racing', 'storm'].map((source) => [source, server.url])),
        'killed-move': `${proxy.endpoint}/dav/`,
      });
      trio = await Promise.all([1, 2, 3].map(() => startInstance(config)));
    });
    afterEach(() => {
      proxy.reset();
    });
    afterAll(async () => {
      await Promise.all(trio.map((instance) => instance.stop()));
      await proxy?.close();
      for (const one of running.values()) await one.stop();
    });

    const instanceAt = (index: number): Instance => {
      const instance = trio[index % 3];
      if (instance === undefined) throw new Error('no instance');
      return instance;
    };

    for (const { name, source, installed, count } of servers)
      it.skipIf(!installed)(
        `that upload ${String(count)} files of one name to ${name} store as many distinct whole files`,
        async () => {
          const data = join(running.get(source)?.data ?? '', source);
          const paths = await Promise.all(
            Array.from({ length: count }, (_, index) =>
              upload(instanceAt(index), 'a.txt', contentOf(index), { source }),
            ),
          );
          expect(paths.filter((path) => path?.endsWith('.txt') !== true)).toEqual([]);
          expect(new Set(paths).size).toBe(count);
          expect((await readdir(data)).filter((one) => one !== '.DAV').sort()).toEqual([...paths].sort());
          for (const [index, path] of paths.entries())
            expect(await readFile(join(data, path ?? ''), 'utf8')).toBe(contentOf(index));
        },
        120_000,
      );

    it('a name that a killed process was taking is skipped at first, and free again when no process can hold it', async () => {
      const folder = await makeRoot('killed-name');
      const source = 'killed-name';
      const victim = await startInstance(configFor({ [source]: `${proxy.endpoint}/dav/` }));
      const other = instanceAt(0);
      expect(await upload(victim, 'first.txt', 'first', { source })).toBe('first.txt');
      proxy.fail({ operation: 'MOVE', effect: { kind: 'stall' } });
      const lost = upload(victim, 'a.txt', 'lost', { source });
      await expect.poll(() => proxy.counts()['MOVE'] ?? 0).toBeGreaterThanOrEqual(2);
      await victim.kill();
      expect(await lost).toBeUndefined();
      expect(await upload(other, 'a.txt', 'second', { source })).toBe('a-1.txt');
      const renamed = call(other, 'fileRename', { source, name: 'first.txt', newname: 'a.txt' });
      expect(await renamed).toMatchObject({ data: { code: 503, error: 'BUSY' } });
      const long = new Date(Date.now() - 600_000);
      const hidden = (await readdir(folder)).filter((name) => name.endsWith('.tmp'));
      expect(hidden).toHaveLength(2);
      for (const name of hidden) await utimes(join(folder, name), long, long);
      expect(await upload(other, 'a.txt', 'third', { source })).toBe('a.txt');
      expect((await readdir(folder)).filter((name) => name.endsWith('.txt')).sort()).toEqual([
        'a-1.txt',
        'a.txt',
        'first.txt',
      ]);
      expect(await readFile(join(folder, 'a.txt'), 'utf8')).toBe('third');
    }, 60_000);

    it('a process killed in the middle of a folder move loses nothing, and another one finishes the move', async () => {
      const folder = await makeRoot('killed-move');
      const source = 'killed-move';
      const config = configFor({ [source]: `${proxy.endpoint}/dav/` });
      const names = Array.from({ length: 60 }, (_, index) => join('deep', `${String(index)}.txt`)).sort();
      for (const one of ['f', join('f', 'deep')]) {
        await mkdir(join(folder, one));
        await chmod(join(folder, one), 0o777);
      }
      for (const name of names) await writeFile(join(folder, 'f', name), name);
      const whole = ['deep', ...names];
      const fields = { source, name: 'f', newname: 'g' };
      // The request is lost at first, then its answer.
      for (const [kind, here, there] of [
        ['stall', whole, []],
        ['stall-answer', [], whole],
      ] as const) {
        const victim = await startInstance(config);
        proxy.reset();
        proxy.fail({ operation: 'MOVE', effect: { kind } });
        const moving = call(victim, 'folderRename', fields).catch(() => undefined);
        await expect.poll(() => proxy.counts()['MOVE'] ?? 0).toBe(1);
        await expect.poll(() => below(join(folder, 'g'))).toEqual(there);
        await victim.kill();
        await moving;
        proxy.reset();
        expect(await below(join(folder, 'f'))).toEqual(here);
        // What stands for the name is old by now.
        const long = new Date(Date.now() - 600_000);
        for (const name of await readdir(folder))
          if (name.endsWith('.tmp')) await utimes(join(folder, name), long, long);
      }
      const finisher = instanceAt(0);
      // The server had done it: nothing is left to move.
      expect(await call(finisher, 'folderRename', fields)).toMatchObject({ data: { code: 404 } });
      expect(await call(finisher, 'folderRename', { source, name: 'g', newname: 'h' })).toMatchObject({
        success: true,
      });
      expect(await below(join(folder, 'h'))).toEqual(whole);
      for (const name of names) expect(await readFile(join(folder, 'h', name), 'utf8')).toBe(name);
    }, 60_000);

    it.runIf(runsEverything)(
      'uploads into a folder that another process moves away and makes anew are lost nowhere',
      async () => {
        const folder = await makeRoot('racing');
        await mkdir(join(folder, 'f'));
        await chmod(join(folder, 'f'), 0o777);
        const source = 'racing';
        const mover = instanceAt(0);
        let isDone = false;
        let moves = 0;
        const moving = async (): Promise<void> => {
          // New names each time: an upload that comes in between may have made the folder again.
          for (let round = 0; !isDone; round += 1) {
            const { success } = await call(mover, 'folderRename', {
              source,
              name: 'f',
              newname: `g${String(round)}`,
            });
            if (success) moves += 1;
            await call(mover, 'folderCreate', { source, name: 'f' });
          }
        };
        const uploading = async (): Promise<readonly (readonly [string, string])[]> => {
          const stored: (readonly [string, string])[] = [];
          for (let index = 0; stored.length < 20 || moves < 4; index += 1) {
            const path = await upload(instanceAt(1 + (index % 2)), 'a.txt', contentOf(index), {
              source,
              path: 'f',
            });
            if (path?.endsWith('.txt') === true) stored.push([path, contentOf(index)]);
          }
          isDone = true;
          return stored;
        };
        const [stored] = await Promise.all([uploading(), moving()]);
        const contents = new Map<string, number>();
        for (const name of await below(folder)) {
          if (!name.endsWith('.txt')) continue;
          const text = await readFile(join(folder, name), 'utf8');
          contents.set(text, (contents.get(text) ?? 0) + 1);
        }
        // Each acknowledged upload is somewhere, whole and once.
        for (const [path, text] of stored) expect([path, contents.get(text)]).toEqual([path, 1]);
      },
      60_000,
    );

    it.runIf(runsEverything)(
      'a process killed during uploads leaves only whole files under names that anybody sees',
      async () => {
        const folder = await makeRoot('storm');
        const source = 'storm';
        const victim = await startInstance(configFor({ [source]: server.url }));
        const uploads = Array.from({ length: 45 }, (_, index) =>
          upload(index % 3 === 0 ? victim : instanceAt(index), 'a.txt', contentOf(index), { source }),
        );
        await Promise.any(uploads.filter((_, index) => index % 3 === 0));
        await victim.kill();
        const paths = await Promise.all(uploads);
        const visible = (await readdir(folder)).filter((name) => name.endsWith('.txt'));
        const expected = new Set(Array.from({ length: 45 }, (_, index) => contentOf(index)));
        for (const name of visible)
          expect(expected.delete(await readFile(join(folder, name), 'utf8'))).toBe(true);
        for (const [index, path] of paths.entries()) {
          if (index % 3 !== 0) expect(path).toMatch(/^a(?:-\d+)?\.txt$/u);
          if (path?.endsWith('.txt') === true)
            expect(await readFile(join(folder, path), 'utf8')).toBe(contentOf(index));
        }
      },
      60_000,
    );
  },
);
