import { Spellings } from '../../support/spellings.ts';
import { orAborted } from '../../../basics/concurrency/or-aborted.ts';
import { StorageDeniedError } from '../../../errors/errors.ts';
import { ObjectStoreAdapter } from '../core/adapter.ts';
import { createKeys, partsOf, type Keys } from '../core/keys.ts';
import type { TemporaryUrlOptions } from '../../../storage/adapter.ts';
import type { SourcePath } from '../../../storage/source-path.ts';
import type { TreeWalkOptions, WalkPage } from '../../../storage/tree-walk.ts';
import { GcsClient } from './client.ts';
import { fromGcsError } from './errors.ts';
import { GcsObjects } from './objects.ts';
import type { GcsOptions } from './options.ts';
import { signedUrlOf } from './signed-urls.ts';

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
