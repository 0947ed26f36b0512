import { describe, expect, it, vi } from 'vitest';
import { TenantCache } from '../../dist/internals.js';
import type { SourceGroup } from '../../dist/sources/source-group.js';

interface Probe extends SourceGroup {
  closed: number;
}

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
    const first = cache.acquire('a', build);
    const second = cache.acquire('a', build);
    expect(second.sources).toBe(first.sources);
    expect(build).toHaveBeenCalledTimes(1);
    await cache.close();
  });

  it('closes an evicted tenant when the last request has given it back, and only once', async () => {
    const cache = new TenantCache({ max: 1, ttlMs: 60_000 });
    const a = group();
    const one = cache.acquire('a', () => a);
    const two = cache.acquire('a', () => a);
    cache.acquire('b', group).release();
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
    cache.acquire('a', () => old).release();
    await vi.waitFor(() => {
      cache.acquire('a', group).release();
      expect(old.closed).toBe(1);
    });
    await cache.close();
  });

  it('does not remember a failed build', async () => {
    const cache = new TenantCache({ max: 5, ttlMs: 60_000 });
    expect(() =>
      cache.acquire('a', () => {
        throw new Error('bad settings');
      }),
    ).toThrow('bad settings');
    const good = group();
    expect(cache.acquire('a', () => good).sources).toBe(good);
    await cache.close();
    expect(good.closed).toBe(1);
  });

  it('closes every tenant with the connector, also one that was evicted in use', async () => {
    const cache = new TenantCache({ max: 1, ttlMs: 60_000 });
    const a = group();
    const b = group();
    cache.acquire('a', () => a);
    cache.acquire('b', () => b);
    await cache.close();
    expect([a.closed, b.closed]).toEqual([1, 1]);
  });
});
