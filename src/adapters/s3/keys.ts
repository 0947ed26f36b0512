import { NotFoundError, UnsafeNameError, UnsafePathError } from '../../errors/errors.ts';
import type { StoreIdentity } from '../../storage/adapter.ts';
import type { SourcePath } from '../../storage/source-path.ts';
import { Spellings } from '../../adapter-support/spellings.ts';
import type { S3Options } from './options.ts';

const MAX_KEY_BYTES = 1024;

/** Folder below the root for objects of the service itself. Neither shown nor reached. */
export const HIDDEN_FOLDER = '.stowage-tmp';

/** Whether S3 takes a key of this length. */
export const isKeyTooLong = (key: string): boolean => Buffer.byteLength(key) > MAX_KEY_BYTES;

/** How paths of the source become keys of the bucket, and back. */
export interface Keys {
  /** What every key of the source begins with: empty, or ending with a slash. */
  readonly root: string;
  /** Key of a file. @throws NotFoundError when nothing can have that key */
  of(path: SourcePath): string;
  /** Key of a file that is to be made. @throws UnsafeNameError (reserved), UnsafePathError (too long) */
  toMake(path: SourcePath): string;
  /**
   * What all keys in a folder begin with, which is also the key of the folder itself.
   * @throws NotFoundError
   */
  ofFolder(path: SourcePath): string;
  /** As `ofFolder`, for a folder that is to be made. @throws UnsafeNameError, UnsafePathError */
  ofNewFolder(path: SourcePath): string;
}

const isHidden = (path: SourcePath): boolean => path.segments.includes(HIDDEN_FOLDER);

/** The parts of the configuration's prefixes. */
const partsOf = (prefix: string, root: string | undefined): readonly string[] =>
  `${prefix}/${root ?? ''}`.split('/').filter((part) => part !== '');

/** Keys below `prefix`, and below `root` in it, in the spellings that are known by the time of asking. */
export const createKeys = (prefix: string, root: string | undefined, spellings = new Spellings()): Keys => {
  const base = partsOf(prefix, root)
    .map((part) => `${part}/`)
    .join('');
  const find = (path: SourcePath, key: string): string => {
    if (isHidden(path) || isKeyTooLong(key)) throw new NotFoundError();
    return key;
  };
  const make = (path: SourcePath, key: string): string => {
    if (isHidden(path)) throw new UnsafeNameError();
    if (isKeyTooLong(key)) throw new UnsafePathError('The path is too long.');
    return key;
  };
  const keyOf = (path: SourcePath): string => base + spellings.segmentsOf(path).join('/');
  const folderOf = (path: SourcePath): string => (path.isRoot ? base : `${keyOf(path)}/`);
  return {
    root: base,
    of: (path) => find(path, keyOf(path)),
    toMake: (path) => make(path, keyOf(path)),
    ofFolder: (path) => find(path, folderOf(path)),
    ofNewFolder: (path) => make(path, folderOf(path)),
  };
};

/** Where the root of a source lies: the service with the bucket, and the parts of the prefixes. */
export const identityOf = ({ endpoint, bucket, prefix }: S3Options, root?: string): StoreIdentity => {
  const service = endpoint === undefined ? 'aws' : new URL(endpoint).href.replace(/\/$/u, '');
  return { backend: `s3:${service}/${bucket}`, root: partsOf(prefix, root) };
};

const bucketUrl = ({ bucket, region, endpoint, forcePathStyle }: S3Options): string => {
  const host = new URL(endpoint ?? `https://s3.${region}.amazonaws.com`);
  if (endpoint !== undefined ? forcePathStyle !== false : forcePathStyle === true) {
    return `${host.origin}${host.pathname.replace(/\/$/u, '')}/${bucket}/`;
  }
  return `${host.protocol}//${bucket}.${host.host}${host.pathname}`;
};

/** The unsigned URL of a key, below `publicBaseUrl` or in the bucket. */
export const publicUrlOf = (options: S3Options, key: string): string => {
  const base = options.publicBaseUrl ?? bucketUrl(options);
  return `${base.replace(/\/?$/u, '/')}${key.split('/').map(encodeURIComponent).join('/')}`;
};
