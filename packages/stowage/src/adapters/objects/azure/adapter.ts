import { Spellings } from '../../support/spellings.ts';
import { ObjectStoreAdapter } from '../core/adapter.ts';
import { createKeys, partsOf, type Keys } from '../core/keys.ts';
import type { StoreIdentity, TemporaryUrlOptions } from '../../../storage/adapter.ts';
import type { SourcePath } from '../../../storage/source-path.ts';
import { Connection } from './connection.ts';
import { AzureObjects } from './objects.ts';
import type { AzureOptions } from './options.ts';
import { SignedUrls } from './signed-urls.ts';

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
