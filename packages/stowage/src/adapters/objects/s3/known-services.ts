import type { S3 } from '@aws-sdk/client-s3';
import { LRUCache } from 'lru-cache';
import { type Agents, createAgents } from '../../remote/core/http.ts';
import type { ObjectFacts } from '../core/objects.ts';

/** The conditional requests that a service supports. */
export interface Support {
  /** PutObject with `If-None-Match: *` rejects a taken key. */
  readonly create: boolean;
  /** The form of the ETag in `If-Match` that PutObject supports: quoted, bare (Ceph), or none. */
  readonly match: 'quoted' | 'bare' | undefined;
  /** CompleteMultipartUpload supports both conditions. Others may ignore them: only AWS is trusted. */
  readonly complete: boolean;
  /** CopyObject supports `If-None-Match: *`. Most services ignore it. */
  readonly copy: boolean;
  /** A key can be reserved: PutObject supports both conditions, and an ETag is the MD5 of the content. */
  readonly reserve?: boolean;
  /** DeleteObject and DeleteObjects remove only the given version. Only AWS is trusted. */
  readonly remove: boolean;
}

/** Assumed for a service that has not been tested. */
export const NOTHING: Support = {
  create: false,
  match: undefined,
  complete: false,
  copy: false,
  remove: false,
};
export const AWS: Support = { create: true, match: 'quoted', complete: true, copy: true, remove: true };
const MAX_SERVICES = 200;
/** Limits refreshes: the credential chain may start a program or contact a server. */
const RENEWED_EVERY_MS = 10_000;

/** Kept connections. A store releases them when it is closed. */
export type SharedAgents = Pick<Agents, 'http' | 'https'> & { readonly release: () => void };

/**
 * State shared by the stores of one connector, so that a tenant's new store need not test or connect again:
 * capabilities of services (bounded), the default credential chain, and connections.
 */
export class KnownServices {
  credentials: S3['config']['credentials'] | undefined;
  #renewing: Promise<unknown> = Promise.resolve();
  #renewedAt = Number.NEGATIVE_INFINITY;
  readonly #supports = new LRUCache<string, Support>({ max: MAX_SERVICES });
  readonly #pools = new Map<string, { readonly agents: Agents; users: number }>();

  /**
   * Refreshes the credential chain, which caches keys without an expiry forever: another program may have
   * replaced them in a shared file. Never rejects: the next request reports the failure.
   */
  async renewCredentials(): Promise<void> {
    const now = performance.now();
    if (now - this.#renewedAt > RENEWED_EVERY_MS) {
      this.#renewedAt = now;
      this.#renewing = this.credentials?.({ forceRefresh: true }).catch(() => undefined) ?? this.#renewing;
    }
    await this.#renewing;
  }

  get(service: string): Support | undefined {
    return this.#supports.get(service);
  }

  set(service: string, support: Support): void {
    this.#supports.set(service, support);
  }

  /** Shared by the stores with the same certificate authorities, and closed with the last of them. */
  takeAgents(ca: string | undefined): SharedAgents {
    const key = ca ?? '';
    const pool = this.#pools.get(key) ?? { agents: createAgents({ keepAlive: true }, { ca }), users: 0 };
    this.#pools.set(key, pool);
    pool.users += 1;
    let isReleased = false;
    const release = (): void => {
      if (isReleased) return;
      isReleased = true;
      pool.users -= 1;
      if (pool.users > 0) return;
      this.#pools.delete(key);
      pool.agents.destroy();
    };
    return { http: pool.agents.http, https: pool.agents.https, release };
  }
}

/** ETags of the two contents of reservations. A new one replaces the other, so that only one process can. */
const RESERVATIONS: readonly (string | undefined)[] = [
  '"f3170f51f96525760ce9929da5c61b64"',
  '"89f40ae13f77db1af71ca52183d6d13d"',
];

/** Age, by the clock of the service, at which a reservation is left by a killed process. */
export const LEFT_AFTER_MS = 600_000;

/** Whether an object is not a file, but reserves its key for a copy. */
export const isReservation = (etag: string | undefined): boolean =>
  etag !== undefined && RESERVATIONS.includes(etag);

/** @see ObjectFacts.reserved */
export const reservedOf = (etag: string | undefined, ageMs = 0): ObjectFacts['reserved'] => {
  if (!isReservation(etag)) return undefined;
  return ageMs >= LEFT_AFTER_MS ? 'left' : 'in use';
};

/** Content of a reservation that replaces the one with this ETag. */
export const reservation = (left?: string): Buffer => {
  const number = left === RESERVATIONS[0] ? 1 : 0;
  return Buffer.from(
    `Stowage reserves this name for a copy (314518ec-a4bd-4b96-a89c-8dfcf2fefbd6, ${number})\n`,
  );
};

export const writtenVersion = (etag: string, { match }: Support): string =>
  match === 'bare' ? etag.replace(/^"(.*)"$/u, '$1') : etag;
