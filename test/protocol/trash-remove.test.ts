import { type AccessRule, createRouter } from 'stowage';
import { NotFoundError, type SourcePath } from 'stowage/storage';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { MemoryAdapter } from '#internals';
import { put } from '../pictures/gallery.ts';
import { replacing } from './changing-store.ts';
import { silent, startService, type Service } from './service.ts';

const accessControl = [
  { role: 'guest', path: 'kept', TRASH_REMOVE: false, TRASH_EMPTY: false },
  { role: 'guest', path: 'secret', FILES: false },
];

/** Work in the background, on a busy machine. */
const SOON = { timeout: 20_000 };

const start = async (more: readonly AccessRule[] = []): Promise<Service> => {
  const service = await startService(
    { trash: {}, createThumb: false, accessControl: [...accessControl, ...more] },
    { checkAuthentication: ({ headers }) => headers['x-role'] ?? 'admin' },
  );
  await service.source('files').put({ 'a.txt': 'a', 'f/b.txt': 'b', 'kept/c.txt': 'c', 'secret/d.txt': 'd' });
  await service.call('fileRemove', { name: 'a.txt' });
  await service.call('folderRemove', { name: 'f' });
  await service.call('fileRemove', { path: 'kept', name: 'c.txt' });
  await service.call('fileRemove', { path: 'secret', name: 'd.txt' });
  return service;
};

const contents = async (service: Service): Promise<Map<string, string>> => {
  const items = (await service.call('trashList')).data['items'] as { id: string; name: string }[];
  return new Map(items.map(({ id, name }) => [name, id]));
};

const asGuest = async (service: Service, action: string, id = ''): Promise<Response> =>
  fetch(`${service.url}/${action}?id=${encodeURIComponent(id)}`, { headers: { 'x-role': 'guest' } });

describe('trashRemove', () => {
  it('removes one item for good', async () => {
    const service = await start();
    const ids = await contents(service);
    expect((await service.call('trashRemove', { id: ids.get('f') ?? '' })).data).toEqual({ code: 220 });
    expect([...(await contents(service)).keys()].sort()).toEqual(['a.txt', 'c.txt', 'd.txt']);
    expect((await service.source('files').paths()).some((path) => path.endsWith('b.txt'))).toBe(false);
    expect((await service.call('trashRemove', { id: ids.get('f') ?? '' })).status).toBe(404);
  });

  it.each([
    ['no id', {}, 400],
    ['a forged id', { id: '..' }, 404],
    ['an unknown id', { id: `000000000-${'0'.repeat(32)}` }, 404],
    ['an unknown source', { id: 'x', source: 'nowhere' }, 404],
  ])('refuses %s', async (_what, fields, status) => {
    const service = await start();
    expect((await service.call('trashRemove', fields)).status).toBe(status);
    expect((await contents(service)).size).toBe(4);
  });

  it('obeys the rules of where the item was', async () => {
    const service = await start();
    const ids = await contents(service);
    expect((await asGuest(service, 'trashRemove', ids.get('c.txt'))).status).toBe(403);
    expect((await asGuest(service, 'trashRemove', ids.get('d.txt'))).status).toBe(404);
    expect((await asGuest(service, 'trashRemove', ids.get('a.txt'))).status).toBe(200);
  });

  it('and a restore at the same moment: one of them wins', async () => {
    const service = await start();
    const id = (await contents(service)).get('a.txt') ?? '';
    const answers = await Promise.all([
      service.call('trashRestore', { id }),
      service.call('trashRemove', { id }),
    ]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 404]);
    expect((await service.source('files').paths()).includes('a.txt')).toBe(answers[0].status === 200);
  });
});

describe('trashEmpty', () => {
  it('removes everything for good', async () => {
    const service = await start();
    expect((await service.call('trashEmpty')).data).toEqual({ code: 220, removed: 4 });
    expect((await contents(service)).size).toBe(0);
    await vi.waitFor(async () => expect(await service.source('files').paths()).toEqual(['kept/', 'secret/']));
    expect((await service.call('trashEmpty')).data).toEqual({ code: 220, removed: 0 });
    expect((await service.call('trashEmpty', { source: 'nowhere' })).status).toBe(404);
  });

  it('and trashRemove take the right to remove, for every part', async () => {
    const service = await start([{ role: 'guest', path: 'f', extensions: 'txt', FILE_REMOVE: false }]);
    const id = (await contents(service)).get('f') ?? '';
    expect((await asGuest(service, 'trashRemove', id)).status).toBe(403);
    expect(await (await asGuest(service, 'trashEmpty')).json()).toMatchObject({ data: { removed: 1 } });
    expect([...(await contents(service)).keys()].sort()).toEqual(['c.txt', 'd.txt', 'f']);
    const denied = await start([{ role: 'guest', FOLDER_REMOVE: false, FILE_REMOVE: false }]);
    expect((await asGuest(denied, 'trashEmpty')).status).toBe(403);
    expect((await contents(denied)).size).toBe(4);
  });

  it('leaves what the role may not see or remove', async () => {
    const service = await start();
    expect(await (await asGuest(service, 'trashEmpty')).json()).toMatchObject({ data: { removed: 2 } });
    expect([...(await contents(service)).keys()].sort()).toEqual(['c.txt', 'd.txt']);
  });

  it('takes nothing with it that is removed meanwhile', async () => {
    const service = await start();
    const names = Array.from({ length: 40 }, (_, index) => `later-${String(index)}.txt`);
    await service.source('files').put(Object.fromEntries(names.map((name) => [name, name])));
    const removed: string[] = [];
    const emptying = delay(5).then(() => service.call('trashEmpty'));
    for (const name of names) {
      expect((await service.call('fileRemove', { name })).status).toBe(200);
      if ((await Promise.race([emptying, delay(0)])) !== undefined) removed.push(name);
    }
    expect((await emptying).status).toBe(200);
    const left = await contents(service);
    // Of those that were removed before the answer, some are erased.
    for (const name of removed.slice(1)) expect([...left.keys()]).toContain(name);
    for (const [name, id] of left) {
      expect((await service.call('trashRestore', { id })).status).toBe(200);
      expect(await service.source('files').text(name)).toBe(name);
    }
  });

  it.each(['write', 'moveFile'] as const)(
    'lets a removal go on whose %s finds no trash any more',
    async (step) => {
      const inner = new MemoryAdapter();
      await put(inner, 'a.txt', 'a');
      let isTaken = false;
      const takeOnce = (target: SourcePath): void => {
        if (isTaken || target.segments[0] !== '.stowage-trash') return;
        isTaken = true;
        throw new NotFoundError();
      };
      const store = replacing(inner, {
        write: async (...given) => {
          if (step === 'write') takeOnce(given[0]);
          return inner.write(...given);
        },
        moveFile: async (...given) => {
          if (step === 'moveFile') takeOnce(given[1]);
          return inner.moveFile(...given);
        },
      });
      const files = { title: 'Files', baseurl: 'https://files.example/', storageAdapter: 'own', trash: {} };
      const router = createRouter(
        { sources: { files } },
        {},
        { logger: silent, storageAdapters: { own: { create: () => store } } },
      );
      onTestFinished(() => router.close());
      const answerOf = async (asked: string) => {
        const answer = await router.fetch(new Request(`https://site.test/${asked}`));
        return [answer.status, ((await answer.json()) as { data: { items?: unknown } }).data.items];
      };
      expect(await answerOf('fileRemove?name=a.txt')).toEqual([200, undefined]);
      expect(isTaken).toBe(true);
      expect(await answerOf('trashList')).toMatchObject([200, [{ name: 'a.txt' }]]);
      expect(await answerOf('fileRemove?name=a.txt')).toEqual([404, undefined]);
    },
  );

  it.each([
    ['erases at the next start what a kill has left', 'doomed', Date.now(), []],
    [
      'brings back at the next start what a kill has left unchecked',
      'taken',
      Date.now() - 7_200_000,
      ['a.txt'],
    ],
  ])('%s', async (_what, state, time, expected) => {
    const service = await startService({ trash: {}, createThumb: false });
    const idOf = (at: number): string => `${at.toString(36).padStart(9, '0')}-${'a'.repeat(32)}`;
    const item = `.stowage-emptied/${state}-${idOf(time)}/${idOf(Date.now())}`;
    const record = { path: 'a.txt', kind: 'file', bytes: 1, role: 'admin' };
    await service
      .source('files')
      .put({ [`${item}/record.json`]: JSON.stringify(record), [`${item}/item/a.txt`]: 'a' });
    await service.call('trashList');
    await vi.waitFor(async () => {
      const paths = await service.source('files').paths();
      expect(paths.filter((path) => path.startsWith('.stowage-emptied'))).toEqual([]);
      expect([...(await contents(service)).keys()]).toEqual(expected);
    }, SOON);
  });
});
