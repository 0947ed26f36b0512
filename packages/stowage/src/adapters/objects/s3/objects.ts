import type { Readable } from 'node:stream';
import { CorruptError, StowageError, UnsupportedError } from '../../../errors/errors.ts';
import type {
  Copy,
  Download,
  NotRemoved,
  ObjectPage,
  Objects,
  ObjectToRemove,
  PageOptions,
} from '../core/objects.ts';
import { capabilitiesOf } from '../../capabilities.ts';
import { wholeSize } from '../../remote/core/http.ts';
import type { OperationOptions, ReadOptions, StorageCapabilities } from '../../../storage/adapter.ts';
import { factsOf } from './requests.ts';
import { Copier } from './change.ts';
import { fromS3Error, statusOf } from './errors.ts';
import type { Support } from './known-services.ts';
import { S3Uploads } from './write.ts';

const DECLARED = capabilitiesOf('s3');
const NO_BATCHES: ReadonlySet<number | undefined> = new Set([400, 405, 411, 501]);

/**
 * The objects of a bucket. Create-only writes are decided by the service where it has conditional writes
 * (tried once); copies and moves look first, as most services ignore conditions on copies.
 */
export class S3Objects extends S3Uploads implements Objects {
  readonly #copier = new Copier(this.bucket, this.conditional);

  /** `atomicCreate` and `ifMatch` are false until the first conditional write has shown them. */
  get capabilities(): StorageCapabilities {
    const { create, match } = this.conditional.known;
    return { ...DECLARED, atomicCreate: create, ifMatch: match !== undefined };
  }

  get decides(): Objects['decides'] {
    return { copy: this.#copier.isDecided, remove: this.conditional.known.remove };
  }

  learn(options: OperationOptions): Promise<Support> {
    return this.conditional.learn(options);
  }

  pages(prefix: string, options: OperationOptions, how?: PageOptions): AsyncIterable<ObjectPage> {
    return this.bucket.pages(prefix, options, how);
  }

  async get(key: string, options: ReadOptions): Promise<Download> {
    const { output, release } = await this.bucket.get(key, options);
    const body = output.Body as Readable | undefined;
    if (body === undefined) {
      release();
      throw new CorruptError({ detail: 'an answer to GetObject has no body' });
    }
    body.once('close', release);
    const size = wholeSize(output.ContentRange) ?? output.ContentLength;
    return { facts: factsOf(output, size), length: output.ContentLength, body };
  }

  downloadFailure(error: unknown, key: string): Error {
    return fromS3Error(error, `GetObject ${key}`);
  }

  copy(copy: Copy, options: OperationOptions): Promise<string | undefined> {
    return this.#copier.copy(copy, options);
  }

  remove(key: string, options: OperationOptions, etag?: string): Promise<void> {
    return this.bucket.remove(key, options, etag);
  }

  async removeBatch(
    objects: readonly ObjectToRemove[],
    { signal }: OperationOptions,
  ): Promise<readonly NotRemoved[]> {
    const Objects = objects.map(({ key, etag }) =>
      etag === undefined ? { Key: key } : { Key: key, ETag: etag },
    );
    const input = { Bucket: this.bucket.name, Delete: { Quiet: true, Objects } };
    const operation = `DeleteObjects ${objects[0]?.key ?? ''} and so on`;
    try {
      const answer = await this.bucket.connection.send(operation, signal, (s3, http) =>
        s3.deleteObjects(input, http),
      );
      return (answer.Errors ?? [])
        .filter(({ Code }) => Code !== 'NoSuchKey')
        .map(({ Key, Code }) => ({ key: Key ?? '', code: Code ?? 'unknown' }));
    } catch (error) {
      const hasNone = error instanceof StowageError && NO_BATCHES.has(statusOf(error));
      throw hasNone ? new UnsupportedError({ cause: error }) : error;
    }
  }

  close(): Promise<void> {
    return this.bucket.connection.close();
  }
}
