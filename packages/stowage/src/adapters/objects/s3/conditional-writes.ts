import { randomUUID } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { orAborted } from '../../../basics/concurrency/abort.ts';
import { AlreadyExistsError, ChangedMeanwhileError, StorageTimeoutError } from '../../../errors/errors.ts';
import { HIDDEN_FOLDER } from '../core/keys.ts';
import type { OperationOptions } from '../../../storage/adapter.ts';
import { strongEtag } from '../../remote/core/http.ts';
import { serviceTime } from './connection.ts';
import { factsOf } from './list.ts';
import { sourceOf, type Bucket, type Condition } from './requests.ts';
import { failedRequest } from '../core/requests.ts';
import { isAws, type S3Options } from './options.ts';
import {
  AWS,
  isReservation,
  type KnownServices,
  LEFT_AFTER_MS,
  NOTHING,
  reservation,
  type Support,
  writtenVersion,
} from './known-services.ts';

const MOST_UNFREED = 1000;
/** Metadata by which a process recognises its own reservation: their ETags are equal. */
const HOLDER = 'stowage-reservation';

/** Whether a service has responded, in one of several ways, that it does not support a condition. */
export const isUnknownCondition = (error: unknown): boolean => {
  const { status, code = '' } = failedRequest(error) ?? {};
  return status === 501 || code === 'NotImplemented' || code === 'InvalidArgument';
};

const outcomeOf = async (work: () => Promise<unknown>): Promise<'stored' | 'refused' | 'unknown'> => {
  try {
    await work();
    return 'stored';
  } catch (error) {
    if (error instanceof ChangedMeanwhileError) return 'refused';
    if (isUnknownCondition(error)) return 'unknown';
    throw error;
  }
};

/** Whether a create-only write succeeds once, and only once. */
const isObeyed = async (write: () => Promise<unknown>): Promise<boolean> =>
  (await outcomeOf(write)) === 'stored' && (await outcomeOf(write)) === 'refused';

const matchOf = async (etag: string, put: (condition: Condition) => Promise<unknown>) => {
  const stores = async (IfMatch: string): Promise<string> => outcomeOf(() => put({ IfMatch }));
  if ((await stores('"00000000000000000000000000000000"')) !== 'refused') return undefined;
  for (const match of ['quoted', 'bare'] as const)
    if ((await stores(writtenVersion(etag, { ...NOTHING, match }))) === 'stored') return match;
  return undefined;
};

/** Frees a reserved key after this failure. Never rejects. */
export type Free = (failure: unknown) => Promise<void>;

/**
 * Detects once which conditional writes the service supports: some support them, some reject them (501), some
 * ignore them, which only a trial shows. AWS is known. Other services are tested before the first conditional
 * write, with two small objects in the hidden folder that are removed again (at most nine requests). A trial
 * that fails for another reason is repeated.
 *
 * Where only PutObject has conditions, exactly one process creates a key by another request: it first reserves
 * the key with a small object, which listings and lookups hide. That of a killed process blocks the key for
 * ten minutes by the clock of the service.
 */
export class ConditionalWrites {
  readonly #bucket: Bucket;
  readonly #root: string;
  readonly #known: () => Support | undefined;
  readonly #remember: (support: Support) => void;
  #learning: Promise<Support> | undefined;
  /** Holders of reservations that this process could not remove, by key, while no other may replace them. */
  readonly #unfreed = new LRUCache<string, string>({ max: MOST_UNFREED, ttl: LEFT_AFTER_MS });

  constructor(bucket: Bucket, root: string, options: S3Options, services: KnownServices) {
    this.#bucket = bucket;
    this.#root = root;
    // Encryption may decide what an ETag is.
    const service = [options.endpoint, bucket.name, options.serverSideEncryption].filter(Boolean).join(' ');
    this.#known = () => (isAws(options) ? AWS : services.get(service));
    this.#remember = (support) => services.set(service, support);
  }

  /** The capabilities known so far; none before the trial. */
  get known(): Support {
    return this.#known() ?? NOTHING;
  }

  /** The capabilities of the service, after a trial where they are unknown. Errors are those of writing. */
  async learn({ signal }: OperationOptions): Promise<Support> {
    signal?.throwIfAborted();
    const known = this.#known();
    if (known !== undefined) return known;
    // Shared by all callers, so that the signal of one does not abort it for the others.
    this.#learning ??= this.#try().finally(() => {
      this.#learning = undefined;
    });
    return orAborted(this.#learning, signal);
  }

  /**
   * Runs a create-only `put`; once more where a reservation is left, also by this process in an outage, with
   * the condition to replace exactly that one. @throws ChangedMeanwhileError
   */
  async create<T>(
    key: string,
    options: OperationOptions,
    put: (condition: Condition, left?: string) => Promise<T>,
  ): Promise<T> {
    try {
      return await put({ IfNoneMatch: '*' });
    } catch (error) {
      if (!(error instanceof ChangedMeanwhileError) || this.known.reserve !== true) throw error;
      const head = await this.#bucket.findHead(key, options);
      const now = await this.#bucket.requests.run('clock', undefined, async (s3) => serviceTime(s3));
      const { etag: left, reserved } = factsOf(head ?? {}, 0, now);
      const holder = reserved && head?.Metadata?.[HOLDER];
      const isOurs = holder !== undefined && holder === this.#unfreed.get(key);
      if (left === undefined || (reserved !== 'left' && !isOurs)) throw error;
      const made = await put({ IfMatch: writtenVersion(left, this.known) }, left);
      this.#unfreed.delete(key);
      return made;
    }
  }

  /** Reserves a key, where that is known to work. Returns how to free it. @throws AlreadyExistsError */
  async reserve(key: string, { signal }: OperationOptions): Promise<Free> {
    signal?.throwIfAborted();
    const start = performance.now();
    const holder = randomUUID();
    const how = { CacheControl: 'no-store', Metadata: { [HOLDER]: holder } };
    // Without the signal: an aborted request may still store the object. No cache may keep it.
    await this.create(key, {}, (condition, left) =>
      this.#bucket.put(key, reservation(left), { ...condition, ...how }, {}),
    ).catch((error: unknown) => {
      if (error instanceof ChangedMeanwhileError) throw new AlreadyExistsError({ cause: error });
      // It may be stored.
      if (!this.#unfreed.has(key)) this.#unfreed.set(key, holder, { start });
      throw error;
    });
    return async (failure) => {
      // The service may still make the copy, over a file that others store meanwhile.
      if (failure instanceof StorageTimeoutError) return;
      const found = await this.#bucket.findHead(key, {}).catch(() => 'unknown' as const);
      if (found === 'unknown') this.#unfreed.set(key, holder, { start });
      else if (found?.Metadata?.[HOLDER] === holder)
        await this.#bucket.remove(key, {}).catch(() => undefined);
    };
  }

  async #try(): Promise<Support> {
    const key = `${this.#root}${HIDDEN_FOLDER}/probe-${randomUUID()}`;
    const put = (condition: Condition) => this.#bucket.put(key, reservation(), condition, {});
    try {
      const create = await isObeyed(() => put({ IfNoneMatch: '*' }));
      const etag = create ? strongEtag((await this.#bucket.findHead(key, {}))?.ETag) : undefined;
      const match = etag === undefined ? undefined : await matchOf(etag, put);
      const reserve = match !== undefined && isReservation(etag);
      const support = { ...NOTHING, create, match, reserve, copy: create && (await this.#tryCopy(key)) };
      this.#remember(support);
      return support;
    } finally {
      await this.#bucket.remove(key, {}).catch(() => undefined);
    }
  }

  /** Never rejects: uploads need no right to copy. */
  async #tryCopy(key: string): Promise<boolean> {
    const [Bucket, Key, CopySource] = [this.#bucket.name, `${key}-copy`, sourceOf(this.#bucket, key)];
    const copy = () =>
      this.#bucket.requests.send(`CopyObject ${key}`, undefined, (s3) =>
        s3.copyObject({ Bucket, Key, CopySource, IfNoneMatch: '*' }),
      );
    const isKnown = await isObeyed(copy).catch(() => false);
    await this.#bucket.remove(Key, {}).catch(() => undefined);
    return isKnown;
  }
}
