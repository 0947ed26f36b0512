import { createHash } from 'node:crypto';
import { mimeTypeOf } from '../../../basics/content/file-type.ts';
import { NotFoundError, UnsafeNameError, UnsafePathError } from '../../../errors/errors.ts';
import type { SourcePath } from '../../../storage/source-path.ts';
import type { Spellings } from '../../support/spellings.ts';
import type { ListedObject } from './objects.ts';

const MAX_KEY_BYTES = 1024;

/** Folder below the root for internal objects of the service. Hidden and inaccessible. */
export const HIDDEN_FOLDER = '.stowage-tmp';

export const isKeyTooLong = (key: string): boolean => Buffer.byteLength(key) > MAX_KEY_BYTES;

/** Content type of an object by its key: that of a folder's object, or of the file. */
export const contentTypeOf = (key: string): string =>
  key.endsWith('/') ? 'application/x-directory' : mimeTypeOf(key.slice(key.lastIndexOf('/') + 1));

/** The segments of the configured prefixes. */
export const partsOf = (prefix: string, root: string | undefined): readonly string[] =>
  `${prefix}/${root ?? ''}`.split('/').filter((part) => part !== '');

/** Prefix of all keys of a source: empty, or with a trailing slash. */
export const rootKeyOf = (prefix: string, root: string | undefined): string =>
  partsOf(prefix, root)
    .map((part) => `${part}/`)
    .join('');

/**
 * Keys below `prefix`, and below `root` in it, in the spellings known at the time of the call.
 * @param isAlias whether the service takes a segment for another one: no key contains it
 */
export const createKeys = (
  prefix: string,
  root: string | undefined,
  spellings: Spellings,
  isAlias: (segment: string) => boolean = () => false,
) => {
  const base = rootKeyOf(prefix, root);
  const isReserved = ({ segments }: SourcePath): boolean =>
    segments.some((segment) => segment === HIDDEN_FOLDER || isAlias(segment));
  const find = (path: SourcePath, key: string): string => {
    if (isReserved(path) || isKeyTooLong(key)) throw new NotFoundError();
    return key;
  };
  const make = (path: SourcePath, key: string): string => {
    if (isReserved(path)) throw new UnsafeNameError();
    if (isKeyTooLong(key)) throw new UnsafePathError('The path is too long.');
    return key;
  };
  const keyOf = (path: SourcePath): string => base + spellings.segmentsOf(path).join('/');
  const folderOf = (path: SourcePath): string => (path.isRoot ? base : `${keyOf(path)}/`);
  return {
    root: base,
    /** Key of a file. @throws NotFoundError when no object can have that key */
    of: (path: SourcePath): string => find(path, keyOf(path)),
    /** Key of a file to be created. @throws UnsafeNameError (reserved), UnsafePathError (too long) */
    toMake: (path: SourcePath): string => make(path, keyOf(path)),
    /** Prefix of the keys in a folder, and key of the folder's own object. @throws NotFoundError */
    ofFolder: (path: SourcePath): string => find(path, folderOf(path)),
    /** As `ofFolder`, for a folder to be created. @throws UnsafeNameError, UnsafePathError */
    ofNewFolder: (path: SourcePath): string => make(path, folderOf(path)),
  };
};

/** Converts paths of the source to keys of the bucket. */
export type Keys = ReturnType<typeof createKeys>;

/** A version in twelve characters, so that a million objects take some 60 MB. */
export const digestOf = (...parts: readonly unknown[]): string =>
  createHash('sha256').update(parts.join('\n')).digest('base64').slice(0, 12);

export const versionOf = ({ key, size, etag, modifiedAt }: ListedObject): string =>
  digestOf(key, size, etag, modifiedAt);
