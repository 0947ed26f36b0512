import type { UserDelegationKey } from '@azure/storage-blob';
import type { TemporaryUrlOptions } from '../../../storage/adapter.ts';
import type { Requests } from '../core/requests.ts';
import type { AzureClient } from './connection.ts';

/** Keys for signing are asked for rarely: each is good for an hour. */
const KEY_MS = 3_600_000;
/** The service's clock may be behind ours. */
const SKEW_MS = 300_000;

/** URLs by which anybody reads a blob for a while. */
export class SignedUrls {
  readonly #requests: Requests<AzureClient>;
  #key: { readonly value: Promise<UserDelegationKey>; readonly until: number } | undefined;

  constructor(requests: Requests<AzureClient>) {
    this.#requests = requests;
  }

  /**
   * Signed with the account's key; with a login of Entra ID by a key that the service hands out, which costs
   * a request an hour. Undefined with a shared access signature. @throws StorageDeniedError without the right to that
   */
  of(
    key: string,
    { lifetime, contentType, disposition, signal }: TemporaryUrlOptions,
  ): Promise<string | undefined> {
    return this.#requests.send(`Sign ${key}`, signal, async (client) => {
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
      return credential instanceof sdk.StorageSharedKeyCredential
        ? blob.generateSasUrl(how)
        : blob.generateUserDelegationSasUrl(how, await this.#keyFor(client, how.expiresOn.getTime()));
    });
  }

  #keyFor({ service }: AzureClient, expires: number): Promise<UserDelegationKey> {
    if (this.#key !== undefined && this.#key.until > expires) return this.#key.value;
    const until = Math.max(Date.now() + KEY_MS, expires + SKEW_MS);
    const value = service.getUserDelegationKey(new Date(Date.now() - SKEW_MS), new Date(until));
    const made = { value, until };
    this.#key = made;
    value.catch(() => {
      if (this.#key === made) this.#key = undefined;
    });
    return value;
  }
}
