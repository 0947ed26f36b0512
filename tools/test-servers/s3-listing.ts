import { xml } from './s3-text.ts';

export interface StoredObject {
  readonly bytes: Buffer;
  readonly etag: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly modifiedAt: Date;
}

/** The order of keys in S3 services. */
const byBytes = (one: string, other: string): number => Buffer.compare(Buffer.from(one), Buffer.from(other));

/** The response to ListObjectsV2. `encodes`: keys are URL-encoded. */
export const listPage = (
  objects: ReadonlyMap<string, StoredObject>,
  query: URLSearchParams,
  encodes: boolean,
): string => {
  const [prefix, delimiter] = [query.get('prefix') ?? '', query.get('delimiter') ?? ''];
  const after = query.get('continuation-token') ?? query.get('start-after') ?? '';
  const limit = Number(query.get('max-keys') ?? '1000');
  const written = (text: string): string => (encodes ? encodeURIComponent(text) : xml(text));
  const items: string[] = [];
  const folders = new Set<string>();
  let last = '';
  let isTruncated = false;
  for (const key of [...objects.keys()].filter((one) => one.startsWith(prefix)).sort(byBytes)) {
    const end = delimiter === '' ? -1 : key.indexOf(delimiter, prefix.length);
    const name = end === -1 ? key : key.slice(0, end + 1);
    if (byBytes(name, after) <= 0 || folders.has(name)) continue;
    if (items.length + folders.size === limit) {
      isTruncated = true;
      break;
    }
    last = name;
    if (end !== -1) folders.add(name);
    else {
      const { bytes, modifiedAt, etag, headers } = objects.get(key) ?? {
        bytes: Buffer.alloc(0),
        modifiedAt: new Date(),
        etag: '',
        headers: {},
      };
      const storageClass = headers['x-amz-storage-class'] ?? 'STANDARD';
      const facts = `<Size>${bytes.length}</Size><LastModified>${modifiedAt.toISOString()}</LastModified>`;
      items.push(
        `<Contents><Key>${written(key)}</Key>${facts}<ETag>${xml(etag)}</ETag><StorageClass>${storageClass}</StorageClass></Contents>`,
      );
    }
  }
  const prefixes = [...folders].map(
    (one) => `<CommonPrefixes><Prefix>${written(one)}</Prefix></CommonPrefixes>`,
  );
  const more = isTruncated ? `<NextContinuationToken>${xml(last)}</NextContinuationToken>` : '';
  const encoding = encodes ? '<EncodingType>url</EncodingType>' : '';
  return `<ListBucketResult>${encoding}<IsTruncated>${isTruncated}</IsTruncated>${more}${items.join('')}${prefixes.join('')}</ListBucketResult>`;
};
