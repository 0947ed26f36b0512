import type { BlobItem, BlobPrefix, ContainerClient } from '@azure/storage-blob';
import type { ObjectFacts, ObjectPage } from '../core/objects.ts';
import { strongEtag } from '../../remote/core/http.ts';

/** The properties of a blob that are read here, as answers and listings name them. */
interface Reported {
  readonly lastModified?: Date | undefined;
  readonly etag?: string | undefined;
  readonly accessTier?: string | undefined;
  readonly accessTierInferred?: boolean | undefined;
}

/** What an answer or a listing says of a blob. */
export const factsOf = (
  { lastModified, etag, accessTier, accessTierInferred }: Reported,
  size: number | undefined,
): ObjectFacts => ({
  size,
  modifiedAt: lastModified?.getTime(),
  etag: strongEtag(etag),
  storageClass: accessTierInferred === true ? undefined : accessTier,
});

const pageIn = (
  items: readonly BlobItem[],
  prefixes: readonly BlobPrefix[],
  token: string | undefined,
): ListedPage => ({
  objects: items.map(({ name, properties }) => ({
    key: name,
    ...factsOf(properties, properties.contentLength),
  })),
  prefixes: prefixes.map(({ name }) => name),
  next: token === '' ? undefined : token,
});

/** A page, and where the next begins. */
type ListedPage = ObjectPage & { readonly next: string | undefined };

/** One page of a listing, and where the next begins. */
export const pageOf = async (
  container: ContainerClient,
  { prefix, delimiter }: { readonly prefix: string; readonly delimiter: string | undefined },
  how: { readonly maxPageSize: number; readonly continuationToken?: string },
  http: { readonly abortSignal?: AbortSignal },
): Promise<ListedPage> => {
  if (delimiter === undefined) {
    for await (const page of container.listBlobsFlat({ prefix, ...http }).byPage(how))
      return pageIn(page.segment.blobItems, [], page.continuationToken);
  } else {
    for await (const page of container.listBlobsByHierarchy(delimiter, { prefix, ...http }).byPage(how))
      return pageIn(page.segment.blobItems, page.segment.blobPrefixes ?? [], page.continuationToken);
  }
  return pageIn([], [], undefined);
};
