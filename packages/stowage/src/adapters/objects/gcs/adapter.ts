import { createHash } from 'node:crypto';
import type { TemporaryUrlOptions } from '../../../storage/adapter.ts';
import { GcsClient } from './connection.ts';
import type { GcsOptions } from './options.ts';
import { Spellings } from '../../support/spellings.ts';
import { orAborted } from '../../../basics/concurrency/abort.ts';
import { StorageDeniedError } from '../../../errors/errors.ts';
import { ObjectStoreAdapter } from '../core/adapter.ts';
import { createKeys, partsOf, type Keys } from '../core/keys.ts';
import type { SourcePath } from '../../../storage/source-path.ts';
import type { TreeWalkOptions, WalkPage } from '../../../storage/tree-walk.ts';
import { fromGcsError } from './errors.ts';
import { GcsObjects } from './objects.ts';

const encoded = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/gu, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`);

/**
 * A URL by which anybody reads the object for a while (V4 of the service's signatures). Undefined where the
 * login cannot sign. With the key of a service account it costs no request; other service accounts are asked
 * to sign, which needs the right to it.
 */
export const signedUrlOf = async (
  client: GcsClient,
  { endpoint, bucket, userProject }: GcsOptions,
  key: string,
  { lifetime, contentType, disposition }: TemporaryUrlOptions,
): Promise<string | undefined> => {
  const login = await client.login();
  const email = await login.email();
  if (email === undefined) return undefined;
  const { host, origin, pathname } = new URL(endpoint);
  const path = `${pathname.replace(/\/$/u, '')}/${[bucket, ...key.split('/')].map(encoded).join('/')}`;
  const time = new Date().toISOString().replace(/[-:]|\.\d+/gu, '');
  const scope = `${time.slice(0, 8)}/auto/storage/goog4_request`;
  const query = Object.entries({
    'X-Goog-Algorithm': 'GOOG4-RSA-SHA256',
    'X-Goog-Credential': `${email}/${scope}`,
    'X-Goog-Date': time,
    'X-Goog-Expires': String(lifetime),
    'X-Goog-SignedHeaders': 'host',
    'response-content-disposition': disposition,
    'response-content-type': contentType,
    ...(userProject === undefined ? {} : { userProject }),
  })
    .map(([name, value]) => `${encoded(name)}=${encoded(value)}`)
    .sort()
    .join('&');
  const canonical = ['GET', path, query, `host:${host}`, '', 'host', 'UNSIGNED-PAYLOAD'].join('\n');
  const digest = createHash('sha256').update(canonical).digest('hex');
  const signature = await login.sign(['GOOG4-RSA-SHA256', time, scope, digest].join('\n'));
  return `${origin}${path}?${query}&X-Goog-Signature=${signature.toString('hex')}`;
};

/** An account that may not sign is not asked about it for every file. */
const REFUSED_MS = 60_000;

/** A bucket of Google Cloud Storage as a source. */
export class GcsAdapter extends ObjectStoreAdapter {
  readonly #options: GcsOptions;
  readonly #client: GcsClient;
  readonly #keys: Keys;
  #refusedUntil = 0;

  constructor(options: GcsOptions, root?: string) {
    const spellings = new Spellings();
    const keys = createKeys(options.prefix, root, spellings);
    const client = new GcsClient(options);
    const identity = {
      backend: `gcs:${options.endpoint}/${options.bucket}`,
      root: partsOf(options.prefix, root),
    };
    super({ objects: new GcsObjects(options, client), keys, spellings, identity });
    this.#options = options;
    this.#client = client;
    this.#keys = keys;
  }

  /** Undefined where the login cannot sign. */
  async temporaryUrl(path: SourcePath, options: TemporaryUrlOptions): Promise<string | undefined> {
    const key = this.#keys.of(path);
    options.signal?.throwIfAborted();
    if (Date.now() < this.#refusedUntil) return undefined;
    try {
      return await orAborted(signedUrlOf(this.#client, this.#options, key, options), options.signal);
    } catch (error) {
      options.signal?.throwIfAborted();
      const failure = fromGcsError(error, `Sign ${key}`);
      if (!(failure instanceof StorageDeniedError)) throw failure;
      this.#refusedUntil = Date.now() + REFUSED_MS;
      return undefined;
    }
  }

  walk(folder: SourcePath, options: TreeWalkOptions): AsyncGenerator<WalkPage, void, undefined> {
    return this.walkKeys(folder, options);
  }
}
