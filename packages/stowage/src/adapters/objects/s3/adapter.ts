import { Spellings } from '../../support/spellings.ts';
import { ObjectStoreAdapter } from '../core/adapter.ts';
import { createKeys, type Keys } from '../core/keys.ts';
import type { TemporaryUrlOptions } from '../../../storage/adapter.ts';
import type { SourcePath } from '../../../storage/source-path.ts';
import type { TreeWalkOptions, WalkPage } from '../../../storage/tree-walk.ts';
import { identityOf, publicUrlOf, type S3Options } from './options.ts';
import { Bucket } from './requests.ts';
import { ConditionalWrites } from './conditional-writes.ts';
import { KnownServices } from './known-services.ts';
import { S3Objects } from './objects.ts';
import { signedUrlOf } from './connection.ts';

/** A bucket of S3 or of a service that speaks like it, as a source. */
export class S3Adapter extends ObjectStoreAdapter {
  readonly #options: S3Options;
  readonly #bucket: Bucket;
  readonly #keys: Keys;

  constructor(options: S3Options, root?: string, services = new KnownServices()) {
    const spellings = new Spellings();
    const keys = createKeys(options.prefix, root, spellings);
    const bucket = new Bucket(options, services);
    const conditional = new ConditionalWrites(bucket, keys.root, options.endpoint, services);
    const objects = new S3Objects(bucket, conditional);
    super({ objects, keys, spellings, identity: identityOf(options, root) });
    this.#options = options;
    this.#bucket = bucket;
    this.#keys = keys;
  }

  /** Where everybody can read the object, if the bucket lets them. Never signed. */
  publicUrl(path: SourcePath): string {
    return publicUrlOf(this.#options, this.#keys.of(path));
  }

  async temporaryUrl(
    path: SourcePath,
    { lifetime, contentType, disposition, signal }: TemporaryUrlOptions,
  ): Promise<string> {
    const { connection, name: Bucket } = this.#bucket;
    const Key = this.#keys.of(path);
    const as = { ResponseContentType: contentType, ResponseContentDisposition: disposition };
    return connection.locally(`sign ${Key}`, signal, (s3) =>
      signedUrlOf(s3, { Bucket, Key, ...as }, lifetime),
    );
  }

  walk(folder: SourcePath, options: TreeWalkOptions): AsyncGenerator<WalkPage, void, undefined> {
    return this.walkKeys(folder, options);
  }
}
