import { createHash } from 'node:crypto';
import type { HeadObjectCommandOutput } from '@aws-sdk/client-s3';
import { strongEtag, type ListedObject } from './bucket.ts';

/** Twelve characters for a version, so that a million objects take some 60 MB. */
const digestOf = (...parts: readonly unknown[]): string =>
  createHash('sha256').update(parts.join('\n')).digest('base64').slice(0, 12);

/** What one transfer of a folder remembers of the objects that it has dealt with. */
export class TransferredObjects {
  readonly #sources = new Set<string>();
  readonly #copies = new Set<string>();
  readonly #doubtful = new Map<string, number | undefined>();

  /** Notes that this version of a source object has its copy. */
  noteSource({ key, size, etag, modifiedAt }: ListedObject): void {
    this.#sources.add(digestOf(key, size, etag, modifiedAt));
  }

  /** Whether this very version has its copy. */
  hasSource({ key, size, etag, modifiedAt }: ListedObject): boolean {
    return this.#sources.has(digestOf(key, size, etag, modifiedAt));
  }

  /** Notes a copy that was made, in this version. */
  noteCopy(key: string, etag: string | undefined): void {
    this.#copies.add(digestOf(key, etag));
  }

  /** Whether what lies under the key is a copy of this transfer, and nothing that others have put there. */
  hasCopy(key: string, etag: string | undefined): boolean {
    return this.#copies.has(digestOf(key, etag));
  }

  /** Notes a free key whose copy failed: it may be there all the same. Only the few that run when a transfer fails. */
  noteDoubt(key: string, size: number | undefined): void {
    this.#doubtful.set(key, size);
  }

  get doubtful(): ReadonlyMap<string, number | undefined> {
    return this.#doubtful;
  }
}

const wholeSeconds = (ms: number | undefined): number => Math.floor((ms ?? 0) / 1000);

/** Whether the version is a digest of the content: not where it was stored in parts or under a key of a key service. */
const isDigest = (etag: string | undefined): boolean => etag !== undefined && /^"[\da-f]{32}"$/iu.test(etag);

/**
 * Whether a move that was cut off has put a copy of this version there already. Versions decide where they are digests of the content; else
 * the same size and a time that is not before the source's.
 */
export const isCopyOf = (object: ListedObject, found: HeadObjectCommandOutput): boolean => {
  const etag = strongEtag(found.ETag);
  if (found.ContentLength !== object.size) return false;
  if (etag === object.etag && etag !== undefined) return true;
  const isSealed = found.ServerSideEncryption?.startsWith('aws:kms') === true;
  if (isDigest(etag) && isDigest(object.etag) && !isSealed) return false;
  return wholeSeconds(found.LastModified?.getTime()) >= wholeSeconds(object.modifiedAt);
};
