import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createApp, type Logger } from 'stowage';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { TenantCache } from '#internals';
import type { SourceGroup } from '../../packages/stowage/dist/sources/source.js';

interface Probe extends SourceGroup {
  closed: number;
}

const settings = { photos: { title: 'Photos', root: '/srv/a' } };

const group = (): Probe => {
  const probe: Probe = {
    all: [],
    find: () => undefined,
    closed: 0,
    close: async () => {
      probe.closed += 1;
    },
  };
  return probe;
};

describe('the tenant cache', () => {
  it('builds a tenant once and lends it to many requests', async () => {
    const cache = new TenantCache({ max: 2, ttlMs: 60_000 });
    const build = vi.fn(group);
    const first = cache.acquire('a', settings, build);
    const second = cache.acquire('a', settings, build);
    expect(second.sources).toBe(first.sources);
    expect(build).toHaveBeenCalledTimes(1);
    await cache.close();
  });

  it('closes an evicted tenant when the last request has given it back, and only once', async () => {
    const cache = new TenantCache({ max: 1, ttlMs: 60_000 });
    const a = group();
    const one = cache.acquire('a', settings, () => a);
    const two = cache.acquire('a', settings, () => a);
    cache.acquire('b', settings, group).release();
    expect(a.closed).toBe(0);
    one.release();
    one.release();
    expect(a.closed).toBe(0);
    two.release();
    await vi.waitFor(() => {
      expect(a.closed).toBe(1);
    });
    await cache.close();
    expect(a.closed).toBe(1);
  });

  it('forgets a tenant after its lifetime, counted from the build', async () => {
    const cache = new TenantCache({ max: 5, ttlMs: 30 });
    const old = group();
    cache.acquire('a', settings, () => old).release();
    await vi.waitFor(() => {
      cache.acquire('a', settings, group).release();
      expect(old.closed).toBe(1);
    });
    await cache.close();
  });

  it('does not remember a failed build', async () => {
    const cache = new TenantCache({ max: 5, ttlMs: 60_000 });
    expect(() =>
      cache.acquire('a', settings, () => {
        throw new Error('bad settings');
      }),
    ).toThrow('bad settings');
    const good = group();
    expect(cache.acquire('a', settings, () => good).sources).toBe(good);
    await cache.close();
    expect(good.closed).toBe(1);
  });

  it('closes every tenant with the connector, also one that was evicted in use', async () => {
    const cache = new TenantCache({ max: 1, ttlMs: 60_000 });
    const a = group();
    const b = group();
    cache.acquire('a', settings, () => a);
    cache.acquire('b', settings, () => b);
    await cache.close();
    expect([a.closed, b.closed]).toEqual([1, 1]);
  });

  it('gives other settings sources of their own, also those of one id, and reports the id once', async () => {
    const reported: string[] = [];
    const cache = new TenantCache({ max: 5, ttlMs: 60_000 }, (id) => reported.push(id));
    const [one, two] = [group(), group()];
    const other = { photos: { title: 'Photos', root: '/srv/b' } };
    const acquire = (of: object, built: Probe): unknown => {
      const lease = cache.acquire('a', of, () => built);
      lease.release();
      return lease.sources;
    };
    expect(acquire(settings, one)).toBe(one);
    expect(reported).toEqual([]);
    expect(acquire(other, two)).toBe(two);
    expect(acquire(settings, group())).toBe(one);
    expect(acquire(other, group())).toBe(two);
    expect(reported).toEqual(['a']);
    expect([one.closed, two.closed]).toEqual([0, 0]);
    await cache.close();
  });

  it.each([
    ['the order of keys', { root: '/a', title: 'A' }, { title: 'A', root: '/a' }],
    ['null for a default', { title: 'A', quality: null }, { title: 'A' }],
    ['functions', { s3: { credentials: () => 1 } }, { s3: { credentials: () => 2 } }],
    ['clients', { client: new Map() }, { client: new Map() }],
    ['lists', { extensions: ['png'] }, { extensions: ['png'] }],
  ])('takes settings for the same whatever %s: one build', async (_case, one, other) => {
    const cache = new TenantCache({ max: 5, ttlMs: 60_000 });
    const build = vi.fn(group);
    cache.acquire('a', { photos: one }, build);
    cache.acquire('a', { photos: other }, build);
    expect(build).toHaveBeenCalledTimes(1);
    await cache.close();
  });

  it.each([
    ['a secret', { s3: { secretAccessKey: 'one' } }, { s3: { secretAccessKey: 'two' } }],
    ['an address', { at: new URL('https://a.example') }, { at: new URL('https://b.example') }],
    ['a time', { since: new Date(1) }, { since: new Date(2) }],
    ['bytes', { ca: Buffer.from('one') }, { ca: Buffer.from('two') }],
    ['a number as text', { quality: 1 }, { quality: '1' }],
    ['a shorter list', { a: ['b'], c: ['d'] }, { a: ['b', 'c', 'd'] }],
  ])('takes settings for others because of %s', async (_case, one, other) => {
    const cache = new TenantCache({ max: 5, ttlMs: 60_000 });
    const build = vi.fn(group);
    cache.acquire('a', { photos: one }, build);
    cache.acquire('a', { photos: other }, build);
    expect(build).toHaveBeenCalledTimes(2);
    await cache.close();
  });

  it('tells the order of sources: the first one serves requests that name none', async () => {
    const cache = new TenantCache({ max: 5, ttlMs: 60_000 });
    const build = vi.fn(group);
    cache.acquire('a', { one: {}, two: {} }, build);
    cache.acquire('a', { two: {}, one: {} }, build);
    expect(build).toHaveBeenCalledTimes(2);
    await cache.close();
  });
});

describe('resolveSources with one id for several users', () => {
  it('shows each user the own files, of requests at one time too, and says so in the log', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'stowage-tenants-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    for (const user of ['ann', 'bob']) {
      await mkdir(join(folder, user));
      await writeFile(join(folder, user, `${user}-private.txt`), user);
    }
    const errors: unknown[][] = [];
    const ignore = (): void => undefined;
    const logger: Logger = {
      debug: ignore,
      info: ignore,
      warn: ignore,
      error: (...line) => void errors.push(line),
    };
    const app = createApp(
      { extensions: ['txt'] },
      {
        checkAuthentication: () => 'member',
        resolveSources: ({ headers }) => ({
          id: 'tenant',
          sources: { own: { title: 'Own', root: join(folder, headers['x-user'] ?? ''), serve: 'protected' } },
        }),
      },
      { logger },
    );
    onTestFinished(() => app.close());
    const shownTo = async (user: string): Promise<unknown> => {
      const answer = await app.fetch(
        new Request('http://service/files?source=own', { headers: { 'x-user': user } }),
      );
      return ((await answer.json()) as { data: { sources: { files: { name: string }[] }[] } }).data.sources[0]
        ?.files;
    };
    const users = ['ann', 'bob', 'ann', 'bob', 'bob', 'ann'];
    for (const [index, files] of (await Promise.all(users.map(shownTo))).entries())
      expect(files).toMatchObject([{ name: `${users[index] ?? ''}-private.txt` }]);
    for (const user of users) expect(await shownTo(user)).toMatchObject([{ name: `${user}-private.txt` }]);
    expect(errors).toHaveLength(1);
    expect(errors[0]).toMatchObject([
      expect.stringMatching(/different sources for one id/u),
      { id: 'tenant' },
    ]);
    expect(JSON.stringify(errors)).not.toContain(folder);
  });
});
