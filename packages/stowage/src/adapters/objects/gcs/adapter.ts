import { ObjectStoreAdapter } from '../core/adapter.ts';
import { GcsObjects } from './objects.ts';
import type { GcsOptions } from './options.ts';

export class GcsAdapter extends ObjectStoreAdapter {
  readonly walk = this.walkKeys.bind(this);

  constructor(options: GcsOptions, root?: string) {
    const { endpoint, bucket, prefix } = options;
    super(new GcsObjects(options), { backend: `gcs:${endpoint}/${bucket}`, prefix, root });
  }
}
