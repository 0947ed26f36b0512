import type { UserDelegationKey } from '@azure/storage-blob';
import type { TemporaryUrlOptions } from '../../../storage/adapter.ts';
import type { Requests } from '../core/requests.ts';
import type { AzureClient } from './connection.ts';

/** Lifetime of a key for signing, which limits the requests for new ones. */
const KEY_MS = 3_600_000;
/** Tolerance for the service's clock being behind. */
const SKEW_MS = 300_000;

/**
 * Creates temporary URLs for reading blobs, signed with the account's key; with a login of Entra ID with a key
 * from the service, which costs one request an hour. Undefined with a shared access signature, and for a login
 * of Entra ID where the address does not contain the account. They reject with StorageDeniedError without the
 * permission for that.
 * @param account name of the account, if its address contains it
 */
export const createSignedUrls = (
  requests: Requests<AzureClient>,
  account: string | undefined,
): ((key: string, options: TemporaryUrlOptions) => Promise<string | undefined>) => {
  let known: { readonly value: Promise<UserDelegationKey>; readonly until: number } | undefined;
  const keyFor = ({ service }: AzureClient, expires: number): Promise<UserDelegationKey> => {
    if (known !== undefined && known.until > expires) return known.value;
    const until = Math.max(Date.now() + KEY_MS, expires + SKEW_MS);
    const value = service.getUserDelegationKey(new Date(Date.now() - SKEW_MS), new Date(until));
    const made = { value, until };
    known = made;
    value.catch(() => {
      if (known === made) known = undefined;
    });
    return value;
  };
  return (key, { lifetime, contentType, disposition, signal }) =>
    requests.send(`Sign ${key}`, signal, async (client) => {
      const { sdk, container } = client;
      const { credential } = container;
      if (credential instanceof sdk.AnonymousCredential) return undefined;
      const blob = container.getBlobClient(key);
      const how = {
        permissions: sdk.BlobSASPermissions.parse('r'),
        expiresOn: new Date(Date.now() + lifetime * 1000),
        contentType,
        contentDisposition: disposition,
      };
      if (credential instanceof sdk.StorageSharedKeyCredential) return blob.generateSasUrl(how);
      // The SDK would sign for an empty name where it does not recognise the account in the address.
      if (account === undefined) return undefined;
      const signer = await keyFor(client, how.expiresOn.getTime());
      const what = { ...how, containerName: container.containerName, blobName: key };
      return `${blob.url}?${sdk.generateBlobSASQueryParameters(what, signer, account).toString()}`;
    });
};
