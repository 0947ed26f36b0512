import type { UserDelegationKey } from '@azure/storage-blob';
import { StorageDeniedError } from '../../../errors/errors.ts';
import type { TemporaryUrlOptions, StoreIdentity } from '../../../storage/adapter.ts';
import { Connection, type AzureClient } from './connection.ts';
import { Spellings } from '../../support/spellings.ts';
import { ObjectStoreAdapter } from '../core/adapter.ts';
import { createKeys, partsOf, type Keys } from '../core/keys.ts';
import type { SourcePath } from '../../../storage/source-path.ts';
import { AzureObjects } from './objects.ts';
import type { AzureOptions } from './options.ts';

/** Keys for signing are asked for rarely: each is good for an hour. */
const KEY_MS = 3_600_000;
/** The service's clock may be behind ours. */
const SKEW_MS = 300_000;
/** An account that may not sign is not asked about it for every file. */
const REFUSED_MS = 60_000;

/** URLs by which anybody reads a blob for a while. */
export class SignedUrls {
  readonly #connection: Connection;
  #refusedUntil = 0;
  #key: { readonly value: Promise<UserDelegationKey>; readonly until: number } | undefined;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /**
   * Signed with the account's key; with a login of Entra ID by a key that the service hands out, which costs
   * a request an hour. Undefined without the right to that, and with a shared access signature.
   */
  async of(
    key: string,
    { lifetime, contentType, disposition, signal }: TemporaryUrlOptions,
  ): Promise<string | undefined> {
    if (Date.now() < this.#refusedUntil) return undefined;
    const sign = this.#connection.send(`Sign ${key}`, signal, async (client) => {
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
    return sign.catch((error: unknown) => {
      if (!(error instanceof StorageDeniedError)) throw error;
      this.#refusedUntil = Date.now() + REFUSED_MS;
      return undefined;
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

const endpointIn = (connectionString: string): string => {
  const value = (name: string): string | undefined =>
    new RegExp(`(?:^|;)\\s*${name}\\s*=\\s*([^;]*)`, 'iu').exec(connectionString)?.[1]?.trim();
  const suffix = value('EndpointSuffix') ?? 'core.windows.net';
  return value('BlobEndpoint') ?? `${value('AccountName') ?? ''}.blob.${suffix}`;
};

/** Where the root of a source lies: the account with the container, and the parts of the prefixes. */
const identityOf = (
  { accountUrl, connectionString = '', container, prefix }: AzureOptions,
  root: string | undefined,
): StoreIdentity => {
  const account = (accountUrl ?? endpointIn(connectionString))
    .replace(/^https?:\/\//u, '')
    .replace(/\/+$/u, '');
  return { backend: `azure:${account}/${container}`, root: partsOf(prefix, root) };
};

/** A container of Azure Blob Storage as a source. */
export class AzureAdapter extends ObjectStoreAdapter {
  readonly #keys: Keys;
  readonly #urls: SignedUrls;

  constructor(options: AzureOptions, root?: string) {
    const spellings = new Spellings();
    const keys = createKeys(options.prefix, root, spellings);
    const connection = new Connection(options);
    const objects = new AzureObjects(options, connection);
    super({ objects, keys, spellings, identity: identityOf(options, root) });
    this.#keys = keys;
    this.#urls = new SignedUrls(connection);
  }

  /** Undefined where the credentials cannot sign: with a shared access signature. */
  temporaryUrl(path: SourcePath, options: TemporaryUrlOptions): Promise<string | undefined> {
    return this.#urls.of(this.#keys.of(path), options);
  }
}
