import { createHash } from 'node:crypto';
import { xml } from './s3-text.ts';

export interface StoredObject {
  readonly bytes: Buffer;
  readonly etag: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly modifiedAt: Date;
}

/** The order of keys in S3 services. */
const byBytes = (one: string, other: string): number => Buffer.compare(Buffer.from(one), Buffer.from(other));

const digestOf = (text: string): string => createHash('sha256').update(text).digest('hex');
const byDigest = (one: string, other: string): number =>
  digestOf(one) < digestOf(other) ? -1 : Number(one !== other);

const NOTHING: StoredObject = { bytes: Buffer.alloc(0), modifiedAt: new Date(), etag: '', headers: {} };

/** The response to ListObjectsV2. `encodes`: keys are URL-encoded. `order`: by bytes, or in an order of the stub's own. */
export const listPage = (
  objects: ReadonlyMap<string, StoredObject>,
  query: URLSearchParams,
  encodes: boolean,
  order?: 'own',
): string => {
  const [prefix, delimiter] = [query.get('prefix') ?? '', query.get('delimiter') ?? ''];
  const after = query.get('continuation-token') ?? query.get('start-after') ?? '';
  const limit = Number(query.get('max-keys') ?? '1000');
  const written = (text: string): string => (encodes ? encodeURIComponent(text) : xml(text));
  const compare = order === 'own' ? byDigest : byBytes;
  const keys = [...objects.keys()].filter((one) => one.startsWith(prefix));
  const names = keys.map((key) => {
    const end = delimiter === '' ? -1 : key.indexOf(delimiter, prefix.length);
    return end === -1 ? key : key.slice(0, end + 1);
  });
  const all = [...new Set(names)]
    .sort(compare)
    .filter((name) => name !== '' && (after === '' || compare(name, after) > 0));
  const page = all.slice(0, limit);
  const isTruncated = page.length < all.length;
  const isFolder = (name: string): boolean =>
    delimiter !== '' && name.indexOf(delimiter, prefix.length) !== -1;
  const items = page
    .filter((name) => !isFolder(name))
    .map((key) => {
      const { bytes, modifiedAt, etag, headers } = objects.get(key) ?? NOTHING;
      const storageClass = headers['x-amz-storage-class'] ?? 'STANDARD';
      const facts = `<Size>${bytes.length}</Size><LastModified>${modifiedAt.toISOString()}</LastModified>`;
      return `<Contents><Key>${written(key)}</Key>${facts}<ETag>${xml(etag)}</ETag><StorageClass>${storageClass}</StorageClass></Contents>`;
    });
  const prefixes = page
    .filter(isFolder)
    .map((one) => `<CommonPrefixes><Prefix>${written(one)}</Prefix></CommonPrefixes>`);
  const more = isTruncated ? `<NextContinuationToken>${xml(page.at(-1) ?? '')}</NextContinuationToken>` : '';
  const encoding = encodes ? '<EncodingType>url</EncodingType>' : '';
  return `<ListBucketResult>${encoding}<IsTruncated>${isTruncated}</IsTruncated>${more}${items.join('')}${prefixes.join('')}</ListBucketResult>`;
};
