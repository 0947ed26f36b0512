import { randomUUID } from 'node:crypto';
import { ChangedMeanwhileError, StowageError } from '../../errors/errors.ts';
import type { OperationOptions } from '../../storage/adapter.ts';
import { orAborted } from '../../storage/or-aborted.ts';
import { strongEtag, type Bucket, type Condition } from './bucket.ts';
import { statusOf } from './errors.ts';
import { HIDDEN_FOLDER } from './keys.ts';

/** Which writes the service decides by itself. */
export interface Support {
  /** PutObject with `If-None-Match: *` refuses a key that is taken. */
  readonly create: boolean;
  /** PutObject with `If-Match` takes the version that is there and refuses any other: written with quotes, bare (Ceph), or not at all. */
  readonly match: 'quoted' | 'bare' | undefined;
  /** CompleteMultipartUpload obeys both. Services that have the others may ignore it here, so only AWS is trusted. */
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
const AWS: Support = { create: true, match: 'quoted', complete: true, copy: true, remove: true };
const MAX_SITES = 200;

/** What has been learnt of services, shared by the stores of one connector, so that a tenant's new store need not ask again. Bounded. */
export class KnownServices {
  readonly #bySite = new Map<string, Support>();

  get(site: string): Support | undefined {
    return this.#bySite.get(site);
  }

  set(site: string, support: Support): void {
    this.#bySite.set(site, support);
    const [oldest] = this.#bySite.keys();
    if (this.#bySite.size > MAX_SITES && oldest !== undefined) this.#bySite.delete(oldest);
  }
}

/** How a version is written in `If-Match`. */
export const writtenVersion = (etag: string, { match }: Support): string =>
  match === 'bare' ? etag.replace(/^"(.*)"$/u, '$1') : etag;

// What services answer to a header that they do not have.
const NOT_KNOWN_THERE: ReadonlySet<number | undefined> = new Set([400, 405, 501]);

type Verdict = 'stored' | 'refused' | 'unknown header';

/**
 * Learns once what conditional writes the service has: some obey them, some refuse them (501), some ignore them, which only a trial shows.
 * AWS is known. Any other service is asked at the first conditional write, with an empty object in the hidden folder that is removed again
 * (at most seven small requests); a failed try is not remembered.
 */
export class ConditionalWrites {
  readonly #bucket: Bucket;
  readonly #root: string;
  readonly #known: () => Support | undefined;
  readonly #remember: (support: Support) => void;
  #learning: Promise<Support> | undefined;

  constructor(bucket: Bucket, root: string, endpoint: string | undefined, services: KnownServices) {
    this.#bucket = bucket;
    this.#root = root;
    const site = `${endpoint} ${bucket.name}`;
    this.#known = () => (endpoint === undefined ? AWS : services.get(site));
    this.#remember = (support) => services.set(site, support);
  }

  /** What is known by now; nothing is promised before it has been tried. */
  get known(): Support {
    return this.#known() ?? NOTHING;
  }

  /** What the service has, after asking it where that is not known. Errors are those of writing. */
  async learn({ signal }: OperationOptions): Promise<Support> {
    signal?.throwIfAborted();
    const known = this.#known();
    if (known !== undefined) return known;
    // Shared by all who ask, so that the signal of one does not end it for the others.
    this.#learning ??= this.#try().finally(() => {
      this.#learning = undefined;
    });
    return orAborted(this.#learning, signal);
  }

  async #try(): Promise<Support> {
    const key = `${this.#root}${HIDDEN_FOLDER}/probe-${randomUUID()}`;
    try {
      const first = await this.#put(key, { IfNoneMatch: '*' });
      const create =
        // Refused at first: the answer to an attempt was lost, and a later one met its object.
        first !== 'unknown header' &&
        (first === 'refused' || (await this.#put(key, { IfNoneMatch: '*' })) === 'refused');
      const support = { ...NOTHING, create, match: create ? await this.#tryMatch(key) : undefined };
      this.#remember(support);
      return support;
    } finally {
      await this.#bucket.remove(key, {}).catch(() => undefined);
    }
  }

  async #tryMatch(key: string): Promise<Support['match']> {
    const wrong = await this.#put(key, { IfMatch: '"00000000000000000000000000000000"' });
    if (wrong !== 'refused') return undefined;
    const etag = strongEtag((await this.#bucket.find(key, {}))?.ETag);
    if (etag === undefined) return undefined;
    for (const match of ['quoted', 'bare'] as const) {
      const IfMatch = writtenVersion(etag, { ...NOTHING, match });
      if ((await this.#put(key, { IfMatch })) === 'stored') return match;
    }
    return undefined;
  }

  async #put(key: string, condition: Condition): Promise<Verdict> {
    try {
      await this.#bucket.put(key, Buffer.alloc(0), condition, {});
      return 'stored';
    } catch (error) {
      if (error instanceof ChangedMeanwhileError) return 'refused';
      if (error instanceof StowageError && NOT_KNOWN_THERE.has(statusOf(error.cause)))
        return 'unknown header';
      throw error;
    }
  }
}
