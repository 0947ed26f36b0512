import { LRUCache } from 'lru-cache';
import { createHash } from 'node:crypto';
import { type PlainObject, isPlainObject } from '../config/values.ts';
import type { SourceGroup, SourceSet } from './source.ts';

/** Larger settings have no fingerprint; their sources are built anew for every request. */
const MOST_PARTS = 1_000_000;

/** Null means the default, like a missing key. */
const keysOf = (value: PlainObject, skips: RegExp | undefined): string[] =>
  Object.keys(value).filter(
    (key) => value[key] !== null && value[key] !== undefined && skips?.test(key) !== true,
  );

/**
 * A short hash of settings that reveals none of them; undefined for settings of more than a million parts.
 * The order of sources matters, because the first one serves requests that name none; the order of other keys
 * does not. All functions count as equal, as do instances of one class: hosts create them anew for every
 * request. Ignores keys that match `skips`. Costs one walk through the settings.
 */
export const fingerprintOf = (sources: object, skips?: RegExp): string | undefined => {
  const hash = createHash('sha256');
  let parts = 0;
  const add = (value: unknown, isOrdered: boolean): void => {
    parts += 1;
    if (parts > MOST_PARTS) return;
    if (Array.isArray(value)) {
      hash.update('[');
      for (const inner of value) add(inner, false);
      hash.update(']');
    } else if (isPlainObject(value)) {
      hash.update('{');
      const keys = keysOf(value, skips);
      for (const key of isOrdered ? keys : keys.sort()) {
        hash.update(JSON.stringify(key));
        add(value[key], false);
      }
      hash.update('}');
    } else if (value instanceof Uint8Array) hash.update('bytes').update(value);
    else if (typeof value === 'string') hash.update(JSON.stringify(value));
    else if (value instanceof URL || value instanceof Date) hash.update(JSON.stringify(value));
    else if (typeof value === 'function') hash.update('function');
    else if (typeof value === 'object' && value !== null) hash.update(Object.prototype.toString.call(value));
    else hash.update(`${typeof value} ${String(value)}`);
    hash.update(',');
  };
  add(sources, true);
  return parts > MOST_PARTS ? undefined : hash.digest('base64');
};

/** Sources in use by one request. */
export interface SourceLease {
  readonly sources: SourceSet;
  /** Keeps the sources open beyond the end of the request. */
  extend(): SourceLease;
  /** Releases the sources; call exactly once, when the request has ended. */
  release(): void;
}

/** A tenant in use: closed after it has left the cache and the last request has released it. */
const createTenant = (group: SourceGroup, onClosed: () => void) => {
  let [leases, isRetired] = [0, false];
  let closed: Promise<void> | undefined;
  const close = (): Promise<void> => (closed ??= group.close().finally(onClosed));
  const closeIfIdle = (): void => {
    if (isRetired && leases === 0) void close();
  };
  const lease = (): SourceLease => {
    leases += 1;
    let isOpen = true;
    return {
      sources: group,
      extend: lease,
      release: () => {
        if (!isOpen) return;
        isOpen = false;
        leases -= 1;
        closeIfIdle();
      },
    };
  };
  const retire = (): void => {
    isRetired = true;
    closeIfIdle();
  };
  return { lease, retire, close };
};

type Tenant = ReturnType<typeof createTenant>;

/**
 * The tenants of `resolveSources`, by id and settings: at most `max`, evicting the least recently used, each
 * for `ttlMs` after it was built. An evicted tenant is closed when the last request that uses it ends. Failed
 * builds are not cached. The same id with other settings gets its own sources.
 */
export class TenantCache {
  readonly #tenants: LRUCache<string, Tenant>;
  /** The settings that each id had first, and whether a conflict has been reported. */
  readonly #ids: LRUCache<string, { readonly fingerprint: string | undefined; isReported: boolean }>;
  readonly #living = new Set<Tenant>();
  readonly #onConflict: (id: string) => void;

  /** `onConflict` gets an id that is used with different settings: once in the lifetime of a tenant. */
  constructor(
    { max, ttlMs }: { readonly max: number; readonly ttlMs: number },
    onConflict: (id: string) => void = () => undefined,
  ) {
    this.#tenants = new LRUCache({
      max,
      ttl: ttlMs,
      ttlAutopurge: true,
      dispose: (tenant) => tenant.retire(),
    });
    this.#ids = new LRUCache({ max, ttl: ttlMs });
    this.#onConflict = onConflict;
  }

  /** The tenant's sources, cached by id and settings. `build` is synchronous: stores open when used. */
  acquire(id: string, settings: object, build: () => SourceGroup): SourceLease {
    const fingerprint = fingerprintOf(settings);
    this.#compare(id, fingerprint);
    const key = JSON.stringify([id, fingerprint]);
    const known = fingerprint === undefined ? undefined : this.#tenants.get(key);
    if (known !== undefined) return known.lease();
    const tenant: Tenant = createTenant(build(), () => this.#living.delete(tenant));
    const lease = tenant.lease();
    this.#living.add(tenant);
    this.#tenants.set(key, tenant);
    return lease;
  }

  /** Closes every tenant, including those in use. */
  async close(): Promise<void> {
    const tenants = [...this.#living];
    this.#tenants.clear();
    await Promise.all(tenants.map((tenant) => tenant.close()));
  }

  #compare(id: string, fingerprint: string | undefined): void {
    const first = this.#ids.get(id);
    if (first === undefined) this.#ids.set(id, { fingerprint, isReported: false });
    else if (first.fingerprint !== fingerprint && !first.isReported) {
      first.isReported = true;
      this.#onConflict(id);
    }
  }
}
