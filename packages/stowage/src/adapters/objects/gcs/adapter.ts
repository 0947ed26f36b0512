import { ObjectStoreAdapter } from '../core/adapter.ts';
import type { SourcePath } from '../../../storage/source-path.ts';
import type { TreeWalkOptions, WalkPage } from '../../../storage/tree-walk.ts';
import { GcsObjects } from './objects.ts';
import type { GcsOptions } from './options.ts';

/** A source in a bucket of Google Cloud Storage. */
export class GcsAdapter extends ObjectStoreAdapter {
  constructor(options: GcsOptions, root?: string) {
    const { endpoint, bucket, prefix } = options;
    super(new GcsObjects(options), { backend: `gcs:${endpoint}/${bucket}`, prefix, root });
  }

  walk(folder: SourcePath, options: TreeWalkOptions): AsyncGenerator<WalkPage, void, undefined> {
    return this.walkKeys(folder, options);
  }
}
