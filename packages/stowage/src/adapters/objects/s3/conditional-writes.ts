import { randomUUID } from 'node:crypto';
import { orAborted } from '../../../basics/concurrency/abort.ts';
import { ChangedMeanwhileError } from '../../../errors/errors.ts';
import { HIDDEN_FOLDER } from '../core/keys.ts';
import type { OperationOptions } from '../../../storage/adapter.ts';
import type { Bucket, Condition } from './requests.ts';
import { failedRequest } from '../core/requests.ts';
import { isAws, type S3Options } from './options.ts';
import { AWS, NOTHING, writtenVersion, type KnownServices, type Support } from './known-services.ts';

/** Whether a service has responded, in one of several ways, that it does not support a condition. */
export const isUnknownCondition = (error: unknown): boolean => {
  const { status, code = '' } = failedRequest(error) ?? {};
  return status === 501 || code === 'NotImplemented' || code === 'InvalidArgument';
};

/**
 * Detects once which conditional writes the service supports: some support them, some reject them (501), some
 * ignore them, which only a trial shows. AWS is known. Other services are tested before the first conditional
 * write, with an empty object in the hidden folder that is removed again (at most seven small requests). A
 * trial that fails for another reason is repeated.
 */
export class ConditionalWrites {
  readonly #bucket: Bucket;
  readonly #root: string;
  readonly #known: () => Support | undefined;
  readonly #remember: (support: Support) => void;
  #learning: Promise<Support> | undefined;

  constructor(bucket: Bucket, root: string, options: S3Options, services: KnownServices) {
    this.#bucket = bucket;
    this.#root = root;
    const service = `${options.endpoint} ${bucket.name}`;
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

  async #try(): Promise<Support> {
    const key = `${this.#root}${HIDDEN_FOLDER}/probe-${randomUUID()}`;
    try {
      const isKnown = (await this.#put(key, { IfNoneMatch: '*' })) === 'stored';
      const create = isKnown && (await this.#put(key, { IfNoneMatch: '*' })) === 'refused';
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
    const etag = (await this.#bucket.find(key, {}))?.etag;
    if (etag === undefined) return undefined;
    for (const match of ['quoted', 'bare'] as const) {
      const IfMatch = writtenVersion(etag, { ...NOTHING, match });
      if ((await this.#put(key, { IfMatch })) === 'stored') return match;
    }
    return undefined;
  }

  async #put(key: string, condition: Condition): Promise<'stored' | 'refused' | 'unknown'> {
    try {
      await this.#bucket.put(key, Buffer.alloc(0), condition, {});
      return 'stored';
    } catch (error) {
      if (error instanceof ChangedMeanwhileError) return 'refused';
      if (isUnknownCondition(error)) return 'unknown';
      throw error;
    }
  }
}
