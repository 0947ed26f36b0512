import type { HeadObjectCommandOutput, ListObjectsV2CommandOutput, S3 } from '@aws-sdk/client-s3';
import { CorruptError, orUndefined } from '../../../errors/errors.ts';
import { strongEtag } from '../../remote/core/http.ts';
import {
  pagesOf,
  type Listing,
  type ObjectFacts,
  type ObjectPage,
  type PageOptions,
} from '../core/objects.ts';
import type { OperationOptions } from '../../../storage/adapter.ts';
import type { Requests } from '../core/requests.ts';
import { serviceTime } from './connection.ts';
import { reservedOf } from './known-services.ts';

/** Decodes a key. Some services declare an encoding that they have not applied. */
const decoded = (text: string, encoding: string | undefined): string =>
  encoding === 'url' ? (orUndefined(() => decodeURIComponent(text.replaceAll('+', ' '))) ?? text) : text;

/** @throws CorruptError for a listing that ends early, or is none, which would look like an empty one */
const listingIn = (output: ListObjectsV2CommandOutput, next: string | undefined, now: number): Listing => {
  const { Name, MaxKeys, KeyCount, IsTruncated, EncodingType, Contents = [], CommonPrefixes = [] } = output;
  const parts = [Name, MaxKeys, KeyCount, IsTruncated, output.Contents, output.CommonPrefixes];
  if (parts.every((part) => part === undefined))
    throw new CorruptError({ detail: 'no listing came back: is endpoint the address of an S3 service?' });
  if (IsTruncated === true && next === undefined)
    throw new CorruptError({ detail: 'the service does not report how the listing continues' });
  return {
    objects: Contents.flatMap((object) =>
      object.Key === undefined
        ? []
        : { key: decoded(object.Key, EncodingType), ...factsOf(object, object.Size, now) },
    ),
    prefixes: CommonPrefixes.flatMap(({ Prefix }) =>
      Prefix === undefined ? [] : decoded(Prefix, EncodingType),
    ),
    next: IsTruncated === true ? next : undefined,
  };
};

/** `now`: by the clock of the service. */
export const factsOf = (
  head: Partial<
    Pick<HeadObjectCommandOutput, 'LastModified' | 'ETag'> & { StorageClass: string | undefined }
  >,
  size: number | undefined,
  now = 0,
): ObjectFacts => {
  const etag = strongEtag(head.ETag);
  const modifiedAt = head.LastModified?.getTime();
  const reserved = reservedOf(etag, now - (modifiedAt ?? now));
  return { size, modifiedAt, etag, storageClass: head.StorageClass, reserved };
};

/** @see Objects.pages */
export const createListings = (name: string, requests: Requests<S3>) => {
  /** The service responds to ListObjectsV2 as to ListObjects, as Huawei OBS does. */
  let hasOnlyMarkers = false;
  return (
    prefix: string,
    { signal }: OperationOptions,
    { delimiter, size = 1000, after }: PageOptions = {},
  ): AsyncIterable<ObjectPage> => {
    const where = { Bucket: name, Prefix: prefix, Delimiter: delimiter, MaxKeys: size };
    const asked = { ...where, EncodingType: 'url' as const };
    // Not changed within a listing: a token is no marker.
    let byMarker = hasOnlyMarkers;
    return pagesOf((token) =>
      requests.send(`ListObjectsV2 ${prefix}`, signal, async (s3, http) => {
        if (!byMarker) {
          const start = token === undefined ? { StartAfter: after } : { ContinuationToken: token };
          const output = await s3.listObjectsV2({ ...asked, ...start }, http);
          const next = output.NextContinuationToken;
          byMarker = output.IsTruncated === true && (next ?? token) === undefined;
          if (!byMarker) return listingIn(output, next, serviceTime(s3));
        }
        const output = await s3.listObjects({ ...asked, Marker: token ?? after }, http);
        const marker = output.NextMarker ?? (delimiter ? undefined : output.Contents?.at(-1)?.Key);
        hasOnlyMarkers ||= marker !== undefined;
        return listingIn(output, marker && decoded(marker, output.EncodingType), serviceTime(s3));
      }),
    );
  };
};
