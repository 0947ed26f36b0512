import { inspect } from 'node:util';
import { HttpError, type AccessRule, type ConnectorHooks, type UsedFile } from 'stowage';
import { describe, expect, it } from 'vitest';
import { startService, silent, type Service, type ServiceOptions } from './service.ts';

const page = { title: 'Our trip', url: 'https://www.example.com/trip' };

const start = async (
  findUses: ConnectorHooks['findUses'],
  options: ServiceOptions = {},
): Promise<{ service: Service; logged: unknown[] }> => {
  const logged: unknown[] = [];
  const logger = { ...silent, error: (...line: unknown[]) => void logged.push(line) };
  const service = await startService(options, { ...(findUses && { findUses }) }, logger);
  await service.source('files').put({ 'sub/cat.png': 'x', 'sub/deep/': '' });
  return { service, logged };
};

const ask = (service: Service, name: string, path = 'sub') => service.call('fileUses', { path, name });
const flagOf = async (service: Service, path = 'sub'): Promise<unknown> => {
  const { data } = await service.call('permissions', { path });
  return (data['permissions'] as Record<string, unknown>)['allowFileUses'];
};

describe('fileUses', () => {
  it('answers what the host knows of a file that is there', async () => {
    const asked: UsedFile[] = [];
    const { service } = await start((file) => {
      asked.push(file);
      return [{ ...page, secret: 1 } as typeof page];
    });
    const { status, data } = await ask(service, 'cat.png');
    expect([status, data['uses']]).toEqual([200, [page]]);
    expect(asked).toEqual([{ source: 'files', path: 'sub/cat.png' }]);
    expect(await flagOf(service)).toBe(true);
    const missing = [await ask(service, 'dog.png'), await ask(service, 'cat.exe')];
    expect(missing.map((answer) => answer.status)).toEqual([404, 404]);
    expect((await ask(service, 'deep')).success).toBe(false);
    expect((await ask(service, '../cat.png')).success).toBe(false);
    expect((await ask(service, '')).status).toBe(400);
    expect(asked).toHaveLength(1);
  });

  it.each([[undefined], [null], [[]]])('answers an empty list for %j', async (nothing) => {
    const { service } = await start(() => Promise.resolve(nothing as undefined));
    expect((await ask(service, 'cat.png')).data['uses']).toEqual([]);
  });

  it('is not there without the hook', async () => {
    const { service } = await start(undefined);
    expect((await ask(service, 'cat.png')).status).toBe(501);
    expect(await flagOf(service)).toBe(false);
  });

  it('does not call the hook for roles that may not see the file, or may not use the action', async () => {
    for (const key of ['FILE_USES', 'FILES', 'READ'] as const) {
      let isAsked = false;
      const { service } = await start(
        () => {
          isAsked = true;
          return [page];
        },
        { accessControl: [{ path: '/sub', [key]: false } as AccessRule] },
      );
      const [there, missing] = [await ask(service, 'cat.png'), await ask(service, 'dog.png')];
      expect([key, there.status, missing.status, isAsked]).toEqual([key, 403, 403, false]);
      expect([await flagOf(service), await flagOf(service, '')]).toEqual([false, true]);
    }
  });

  it('responds with 500 where the hook returns no list of pages, with the reason in the log alone', async () => {
    const wrong: readonly unknown[] = [
      'page',
      { title: 'x' },
      [{ title: 'x' }],
      [page, { title: 1, url: '/x' }],
      [{ title: 'x', url: '' }],
      [{ title: 'x'.repeat(3000), url: '/' }],
    ];
    for (const answer of wrong) {
      const { service, logged } = await start(() => answer as []);
      const { status, messages } = await ask(service, 'cat.png');
      expect(status).toBe(500);
      expect(messages.join()).not.toContain('findUses');
      expect(inspect(logged, { depth: 8 })).toContain('findUses');
    }
  });

  it('hands on an HttpError of the host, and no other reason', async () => {
    const { service } = await start(() => {
      throw new HttpError(409, 'Not now.');
    });
    expect((await ask(service, 'cat.png')).messages).toEqual(['Not now.']);
    const { service: broken } = await start(() => Promise.reject(new Error('secret')));
    const { status, messages } = await ask(broken, 'cat.png');
    expect([status, messages.join().includes('secret')]).toEqual([500, false]);
  });

  it('answers the first thousand', async () => {
    const { service } = await start(() => Array.from({ length: 1500 }, () => page));
    expect((await ask(service, 'cat.png')).data['uses']).toHaveLength(1000);
  });
});
