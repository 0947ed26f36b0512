import { Agent } from 'node:http';
import { Agent as SecureAgent } from 'node:https';
import type { S3 } from '@aws-sdk/client-s3';

/** Which writes the service decides by itself. */
export interface Support {
  /** PutObject with `If-None-Match: *` refuses a key that is taken. */
  readonly create: boolean;
  /** How PutObject takes a version in `If-Match`: with quotes, bare (Ceph), or not at all. */
  readonly match: 'quoted' | 'bare' | undefined;
  /** CompleteMultipartUpload obeys both. Other services may ignore it here, so only AWS is trusted. */
  readonly complete: boolean;
  /** CopyObject obeys `If-None-Match: *`. Most services ignore it, so only AWS is trusted. */
  readonly copy: boolean;
  /** DeleteObject and DeleteObjects remove only the version that is named. Only AWS is trusted. */
  readonly remove: boolean;
}

/** What is promised of a service that has not been asked. */
export const NOTHING: Support = {
  create: false,
  match: undefined,
  complete: false,
  copy: false,
  remove: false,
};
/** What AWS decides by itself. */
export const AWS: Support = { create: true, match: 'quoted', complete: true, copy: true, remove: true };
const MAX_SERVICES = 200;
/** The chain may start a program, or ask a server, for its keys. */
const RENEWED_EVERY_MS = 10_000;

/** Kept connections. A store releases them when it is closed. */
export interface Agents {
  readonly http: Agent;
  readonly https: SecureAgent;
  readonly release: () => void;
}

/**
 * What the stores of one connector share, so that a tenant's new store neither asks nor connects again: what
 * was learnt of services (bounded), the standard chain of credentials, and connections.
 */
export class KnownServices {
  credentials: S3['config']['credentials'] | undefined;
  #renewing: Promise<unknown> = Promise.resolve();
  #renewedAt = Number.NEGATIVE_INFINITY;
  readonly #supports = new Map<string, Support>();
  readonly #agents = new Map<string, { readonly http: Agent; readonly https: SecureAgent; users: number }>();

  /**
   * Has the chain look for keys again, which keeps those without an expiry for ever: another program may have
   * replaced them in a shared file. Never rejects: the next request fails as this would.
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
    const [oldest] = this.#supports.keys();
    if (this.#supports.size > MAX_SERVICES && oldest !== undefined) this.#supports.delete(oldest);
  }

  /** Shared by the stores that trust the same authorities, and closed with the last of them. */
  takeAgents(ca: string | undefined): Agents {
    const key = ca ?? '';
    const pool = this.#agents.get(key) ?? {
      http: new Agent({ keepAlive: true }),
      https: new SecureAgent({ keepAlive: true, ca }),
      users: 0,
    };
    this.#agents.set(key, pool);
    pool.users += 1;
    let isReleased = false;
    const release = (): void => {
      if (isReleased) return;
      isReleased = true;
      pool.users -= 1;
      if (pool.users > 0) return;
      this.#agents.delete(key);
      pool.http.destroy();
      pool.https.destroy();
    };
    return { http: pool.http, https: pool.https, release };
  }
}

/** How a version is written in `If-Match`. */
export const writtenVersion = (etag: string, { match }: Support): string =>
  match === 'bare' ? etag.replace(/^"(.*)"$/u, '$1') : etag;
