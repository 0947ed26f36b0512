import type { ContainerClient, ContainerListBlobHierarchySegmentResponse } from '@azure/storage-blob';
import * as errors from '../../../errors/errors.ts';
import type { Http, Service } from '../core/requests.ts';
import { strongEtag } from '../../remote/core/http.ts';
import { keptOf, type KeptAttributes, type Listing, type ObjectFacts } from '../core/objects.ts';

const byCode = errors.errorsByCode(
  [errors.NotFoundError, 'BlobNotFound', 'ResourceNotFound'],
  // Not "not found": the root of a source always exists, so a missing container is a configuration error.
  // ConditionNotMet for the source of a copy has a code of its own.
  [errors.StorageUnavailableError, 'ContainerNotFound', 'ContainerBeingDeleted', 'ContainerDisabled'],
  [errors.StorageUnavailableError, 'ENOTFOUND'],
  [errors.StorageDeniedError, 'AuthenticationFailed', 'AuthenticationError', 'AggregateAuthenticationError'],
  [errors.StorageDeniedError, 'AuthorizationFailure', 'AuthorizationPermissionMismatch'],
  [errors.StorageDeniedError, 'InsufficientAccountPermissions', 'CredentialUnavailableError'],
  [errors.StorageDeniedError, 'LeaseIdMissing', 'SnapshotsPresent', 'BlobArchived', 'BlobBeingRehydrated'],
  [errors.StorageDeniedError, 'BlobImmutableDueToPolicy', 'BlobImmutableDueToLegalHold'],
  [errors.StorageFullError, 'RequestBodyTooLarge', 'BlockCountExceedsLimit'],
  [errors.StorageTimeoutError, 'OperationTimedOut', 'ETIMEDOUT'],
  // Another client that completed an upload under the same name has dropped the blocks of this one.
  [errors.BusyError, 'ServerBusy', 'InvalidBlockList', 'InvalidBlobOrBlock', 'PendingCopyOperation'],
  [errors.ChangedMeanwhileError, 'ConditionNotMet', 'SourceConditionNotMet', 'TargetConditionNotMet'],
  [errors.ChangedMeanwhileError, 'BlobAlreadyExists', 'InvalidRange'],
  [errors.UnsafeNameError, 'InvalidResourceName', 'InvalidUri'],
  [errors.CorruptError, 'PARSE_ERROR', 'Md5Mismatch', 'Crc64Mismatch'],
);

interface SdkError {
  readonly name?: unknown;
  readonly code?: unknown;
  readonly statusCode?: unknown;
  readonly details?: { readonly errorCode?: unknown } | undefined;
  readonly response?: { readonly headers?: { get?(name: string): unknown } };
}

/** The code of the service, else that of the system, else the name of the error. */
const codeOf = ({ name, code, details }: SdkError): string | undefined =>
  [details?.errorCode, code, name].find((value): value is string => typeof value === 'string');

/** Converts errors of the SDK. Their texts are dropped: they contain the account's URL and signed data. */
export const azureFailures: Pick<Service<unknown>, 'failureOf' | 'meanings'> = {
  meanings: byCode,
  failureOf: (error) => {
    const failed: SdkError = typeof error === 'object' && error !== null ? error : {};
    const status = typeof failed.statusCode === 'number' ? failed.statusCode : undefined;
    const asked = failed.response?.headers?.get?.('retry-after');
    return {
      message: 'the service or its library has refused',
      status,
      code: codeOf(failed),
      retryAfter: typeof asked === 'string' ? asked : undefined,
    };
  },
};

/** The used properties of a blob, named as in responses and listings. */
interface Reported {
  readonly lastModified?: Date | undefined;
  readonly etag?: string | undefined;
  readonly accessTier?: string | undefined;
  readonly accessTierInferred?: boolean | undefined;
}

const factsOf = (
  { lastModified, etag, accessTier, accessTierInferred }: Reported,
  size: number | undefined,
): ObjectFacts => ({
  size,
  modifiedAt: lastModified?.getTime(),
  etag: strongEtag(etag),
  storageClass: accessTierInferred === true ? undefined : accessTier,
});

/** Metadata by which a write recognises its own blob after a lost response. */
export const WRITE_MARK = 'stowagewrite';

/** Of a response about one blob. */
export const fullFactsOf = (found: Reported & KeptAttributes, size: number | undefined): ObjectFacts => ({
  ...factsOf(found, size),
  kept: keptOf(found, WRITE_MARK),
});

type ListedPage = Pick<ContainerListBlobHierarchySegmentResponse, 'segment' | 'continuationToken'>;

export const listingOf = async (
  container: ContainerClient,
  { prefix, delimiter }: { readonly prefix: string; readonly delimiter: string | undefined },
  how: { readonly maxPageSize: number; readonly continuationToken?: string },
  http: Http,
): Promise<Listing> => {
  const asked = { prefix, ...http };
  const pages =
    delimiter === undefined
      ? container.listBlobsFlat(asked).byPage(how)
      : container.listBlobsByHierarchy(delimiter, asked).byPage(how);
  const { value: page } = (await pages.next()) as { readonly value?: ListedPage };
  return {
    objects: (page?.segment.blobItems ?? []).map(({ name, properties }) => ({
      key: name,
      ...factsOf(properties, properties.contentLength),
    })),
    prefixes: (page?.segment.blobPrefixes ?? []).map(({ name }) => name),
    next: page?.continuationToken === '' ? undefined : page?.continuationToken,
  };
};
