import { LRUCache } from 'lru-cache';
import type { SourceGroup } from './source-group.ts';
import type { SourceSet } from './source.ts';

/** Sources lent to one request. */
export interface SourceLease {
  readonly sources: SourceSet;
  /** Keeps them open beyond the request. */
  extend(): SourceLease;
  /** Gives them back; call exactly once, when the request has ended. */
  release(): void;
}

/** A tenant in use: closed when it has left the cache and the last request has given it back. */
class Tenant {
  readonly #group: SourceGroup;
  readonly #onClosed: () => void;
  #leases = 0;
  #retired = false;
  #closed: Promise<void> | undefined;

  constructor(group: SourceGroup, onClosed: () => void) {
    this.#group = group;
    this.#onClosed = onClosed;
  }

  lease(): SourceLease {
    this.#leases += 1;
    let open = true;
    return {
      sources: this.#group,
      extend: () => this.lease(),
      release: () => {
        if (!open) return;
        open = false;
        this.#leases -= 1;
        this.#closeIfIdle();
      },
    };
  }

  retire(): void {
    this.#retired = true;
    this.#closeIfIdle();
  }

  close(): Promise<void> {
    this.#closed ??= this.#group.close().finally(this.#onClosed);
    return this.#closed;
  }

  #closeIfIdle(): void {
    if (this.#retired && this.#leases === 0) void this.close();
  }
}

/**
 * The tenants of `resolveSources`, by id: at most `max`, the least recently used leaves first, each for
 * `ttlMs` from its build. A tenant that leaves while requests use it is closed when the last of them ends.
 * Failed builds are not kept.
 */
export class TenantCache {
  readonly #tenants: LRUCache<string, Tenant>;
  readonly #living = new Set<Tenant>();

  constructor(limits: { readonly max: number; readonly ttlMs: number }) {
    this.#tenants = new LRUCache({
      max: limits.max,
      ttl: limits.ttlMs,
      ttlAutopurge: true,
      dispose: (tenant) => {
        tenant.retire();
      },
    });
  }

  /**
   * The tenant's sources, built by `build` when the cache has none. Building is synchronous: stores open at
   * their first use.
   */
  acquire(id: string, build: () => SourceGroup): SourceLease {
    const known = this.#tenants.get(id);
    if (known !== undefined) return known.lease();
    const tenant: Tenant = new Tenant(build(), () => this.#living.delete(tenant));
    const lease = tenant.lease();
    this.#living.add(tenant);
    this.#tenants.set(id, tenant);
    return lease;
  }

  /** Closes every tenant, also those in use. */
  async close(): Promise<void> {
    const tenants = [...this.#living];
    this.#tenants.clear();
    await Promise.all(tenants.map((tenant) => tenant.close()));
  }
}
