import * as errors from '../../../errors/errors.ts';
import type { Service } from '../core/requests.ts';
import type { ObjectFacts } from '../core/objects.ts';
import { timeOf } from '../../remote/core/http.ts';

/** Codes of the system when the file with the key cannot be read. */
const KEY_UNREADABLE: readonly string[] = ['ENOENT', 'EACCES'];

const byReason = errors.errorsByCode(
  [errors.BusyError, 'rateLimitExceeded', 'userRateLimitExceeded'],
  [errors.NotFoundError, 'notFound'],
  [errors.StorageFullError, 'uploadTooLarge'],
  [errors.UnsafeNameError, 'invalidObjectName'],
  [errors.StorageTimeoutError, 'ETIMEDOUT'],
  [errors.StorageDeniedError, ...KEY_UNREADABLE, 'NoCredentials'],
);

/** A response with an error status. */
export class Refusal extends Error {
  readonly status: number;
  readonly code: string | undefined;
  /** Value of `Retry-After`. */
  readonly retryAfter: string | undefined;

  constructor(status: number, text: string, retryAfter?: string) {
    super('the service has refused');
    this.status = status;
    this.code = reasonIn(text);
    this.retryAfter = retryAfter;
  }
}

/** The first reason in an error of the JSON API. */
const reasonIn = (text: string): string | undefined => {
  type Answer = { readonly error?: { readonly errors?: readonly { readonly reason?: unknown }[] } };
  const reason = errors.orUndefined(() => (JSON.parse(text) as Answer).error?.errors?.[0]?.reason);
  return typeof reason === 'string' ? reason : undefined;
};

/** Converts a Refusal or system error. Their texts are dropped: they contain the bucket and the login. */
export const gcsFailures: Pick<Service<unknown>, 'failureOf' | 'meanings'> = {
  meanings: byReason,
  failureOf: (error) => {
    const failed: { readonly status?: unknown; readonly code?: unknown } =
      typeof error === 'object' && error !== null ? error : {};
    const status = typeof failed.status === 'number' ? failed.status : undefined;
    const code = typeof failed.code === 'string' ? failed.code : undefined;
    const retryAfter = error instanceof Refusal ? error.retryAfter : undefined;
    const isKey = code !== undefined && KEY_UNREADABLE.includes(code);
    const message = isKey ? 'the file with the key cannot be read' : 'the service has refused';
    return { message, status, code, retryAfter };
  },
};

/** The requested fields of an object in the JSON API. */
export interface Resource {
  readonly name: string;
  readonly size?: string;
  readonly timeCreated?: string;
  readonly generation?: string;
  readonly storageClass?: string;
  readonly cacheControl?: string;
  readonly contentDisposition?: string;
  readonly contentLanguage?: string;
  readonly metadata?: Readonly<Record<string, string>>;
}

export interface ListResult {
  readonly kind?: string;
  readonly items?: readonly Resource[];
  readonly prefixes?: readonly string[];
  readonly nextPageToken?: string;
}

/** The ETag of an object: its generation, which the service never reuses. */
export const versionOf = (generation: string | undefined): string | undefined =>
  generation === undefined ? undefined : `"${generation}"`;

/** The generation in an ETag. @throws ChangedMeanwhileError for one that this store never returned */
export const generationOf = (etag: string): string => {
  const generation = /^"(\d{1,19})"$/u.exec(etag)?.[1];
  if (generation === undefined) throw new errors.ChangedMeanwhileError();
  return generation;
};

export const factsOf = ({ size, timeCreated, generation, storageClass }: Resource): ObjectFacts => ({
  size: size === undefined ? undefined : Number(size),
  modifiedAt: timeOf(timeCreated),
  etag: versionOf(generation),
  storageClass,
});
