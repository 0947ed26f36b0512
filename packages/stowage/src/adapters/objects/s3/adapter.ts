import { ObjectStoreAdapter } from '../core/adapter.ts';
import { rootKeyOf } from '../core/keys.ts';
import type { SourcePath } from '../../../storage/source-path.ts';
import { backendOf, publicUrlOf, type S3Options } from './options.ts';
import { Bucket } from './requests.ts';
import { ConditionalWrites } from './conditional-writes.ts';
import { KnownServices } from './known-services.ts';
import { S3Objects } from './objects.ts';

export class S3Adapter extends ObjectStoreAdapter {
  readonly walk = this.walkKeys.bind(this);
  readonly #options: S3Options;

  constructor(options: S3Options, root?: string, services = new KnownServices()) {
    const { prefix } = options;
    const bucket = new Bucket(options, services);
    const conditional = new ConditionalWrites(bucket, rootKeyOf(prefix, root), options, services);
    super(new S3Objects(bucket, conditional), { backend: backendOf(options), prefix, root });
    this.#options = options;
  }

  /** The unsigned URL of the object, for buckets with public read access. */
  publicUrl(path: SourcePath): string {
    return publicUrlOf(this.#options, this.keys.of(path));
  }
}
