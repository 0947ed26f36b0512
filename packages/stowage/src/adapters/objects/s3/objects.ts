import { StorageDeniedError, UnsupportedError } from '../../../errors/errors.ts';
import type { Batches, NotRemoved, Objects, ObjectToRemove } from '../core/objects.ts';
import { capabilitiesOf } from '../../capabilities.ts';
import { failedRequest } from '../core/requests.ts';
import type * as port from '../../../storage/adapter.ts';
import { signedUrlOf } from './connection.ts';
import { Copier } from './change.ts';
import { errorOfCode } from './errors.ts';
import { S3Uploads } from './write.ts';

const DECLARED = capabilitiesOf('s3');
const NO_BATCHES: ReadonlySet<number | undefined> = new Set([400, 405, 411, 501]);
/** Characters that XML cannot contain: one of them makes a service reject the whole batch. */
const NOT_IN_XML = /[\0-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/u;

/**
 * An object that a batch did not remove. Only a single removal shows whether an error is temporary, and
 * whether another version is there or, after a lost response, none.
 */
const leftFor = (key: string, code: string | undefined): NotRemoved => {
  const failure = errorOfCode(code);
  return { key, failure: failure instanceof StorageDeniedError ? failure : undefined };
};

/**
 * The objects of a bucket. The service decides create-only writes where it has conditional writes (tested
 * once); for copies and moves a reservation does, where the service ignores conditions on copies.
 */
export class S3Objects extends S3Uploads implements Objects {
  readonly batches: Batches = { most: 1000, remove: (...given) => this.#removeBatch(...given) };
  readonly #copier = new Copier(this.bucket, this.conditional);
  readonly learn = this.conditional.learn.bind(this.conditional);
  readonly pages = this.bucket.pages;
  readonly get = this.bucket.get.bind(this.bucket);
  readonly copy = this.#copier.copy.bind(this.#copier);

  /** `atomicCreate` and `ifMatch` are false until the first conditional write has tested them. */
  get capabilities(): port.StorageCapabilities {
    const { create, match } = this.conditional.known;
    return { ...DECLARED, atomicCreate: create, ifMatch: match !== undefined };
  }

  get decides(): Objects['decides'] {
    return { copy: this.#copier.isDecided, remove: this.conditional.known.remove };
  }

  remove(key: string, options: port.OperationOptions, etag?: string): Promise<void> {
    return this.settleRemoval(this.bucket.remove(key, options, etag), key, options);
  }

  /** Sends no request. @throws UnsupportedError when the package for it is not installed */
  signedUrl(Key: string, options: port.TemporaryUrlOptions): Promise<string> {
    const { lifetime, contentType, disposition, signal } = options;
    const as = { ResponseContentType: contentType, ResponseContentDisposition: disposition };
    return this.bucket.requests.run(`sign ${Key}`, signal, (s3) =>
      signedUrlOf(s3, { Bucket: this.bucket.name, Key, ...as }, lifetime),
    );
  }

  close(): Promise<void> {
    return this.bucket.requests.close();
  }

  async #removeBatch(objects: readonly ObjectToRemove[], { signal }: port.OperationOptions) {
    const alone = objects.filter(({ key }) => NOT_IN_XML.test(key));
    const left: NotRemoved[] = alone.map(({ key }) => ({ key, failure: undefined }));
    const Objects = objects
      .filter((object) => !alone.includes(object))
      .map(({ key, etag }) => (etag === undefined ? { Key: key } : { Key: key, ETag: etag }));
    if (Objects.length === 0) return left;
    const input = { Bucket: this.bucket.name, Delete: { Quiet: true, Objects } };
    const operation = `DeleteObjects ${objects[0]?.key ?? ''} and so on`;
    try {
      const { Errors = [] } = await this.bucket.requests.send(operation, signal, (s3, http) =>
        s3.deleteObjects(input, http),
      );
      const isThere = Errors.filter(({ Code }) => Code !== 'NoSuchKey');
      return [...left, ...isThere.map(({ Key = '', Code }) => leftFor(Key, Code))];
    } catch (error) {
      throw NO_BATCHES.has(failedRequest(error)?.status) ? new UnsupportedError({ cause: error }) : error;
    }
  }
}
