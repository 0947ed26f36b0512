import { mimeTypeOf } from '../../../basics/content/file-type.ts';
import { NotFoundError, UnsafeNameError, UnsafePathError } from '../../../errors/errors.ts';
import type { SourcePath } from '../../../storage/source-path.ts';
import type { Spellings } from '../../support/spellings.ts';

const MAX_KEY_BYTES = 1024;

/** Folder below the root for objects of the service itself. Neither shown nor reached. */
export const HIDDEN_FOLDER = '.stowage-tmp';

/** Whether a key is longer than services take. */
export const isKeyTooLong = (key: string): boolean => Buffer.byteLength(key) > MAX_KEY_BYTES;

/** What an object is called by its key: the object of a folder, or a file. */
export const contentTypeOf = (key: string): string =>
  key.endsWith('/') ? 'application/x-directory' : mimeTypeOf(key.slice(key.lastIndexOf('/') + 1));

/** How paths of the source become keys of the bucket, and back. */
export interface Keys {
  /** What every key of the source begins with: empty, or ending with a slash. */
  readonly root: string;
  /** Key of a file. @throws NotFoundError when nothing can have that key */
  of(path: SourcePath): string;
  /** Key of a file that is to be made. @throws UnsafeNameError (reserved), UnsafePathError (too long) */
  toMake(path: SourcePath): string;
  /** What keys in a folder begin with, and the key of the folder itself. @throws NotFoundError */
  ofFolder(path: SourcePath): string;
  /** As `ofFolder`, for a folder that is to be made. @throws UnsafeNameError, UnsafePathError */
  ofNewFolder(path: SourcePath): string;
}

const isHidden = (path: SourcePath): boolean => path.segments.includes(HIDDEN_FOLDER);

/** The parts of the configuration's prefixes. */
export const partsOf = (prefix: string, root: string | undefined): readonly string[] =>
  `${prefix}/${root ?? ''}`.split('/').filter((part) => part !== '');

/** What every key of a source begins with: empty, or ending with a slash. */
export const rootKeyOf = (prefix: string, root: string | undefined): string =>
  partsOf(prefix, root)
    .map((part) => `${part}/`)
    .join('');

/** Keys below `prefix`, and below `root` in it, in the spellings that are known by the time of asking. */
export const createKeys = (prefix: string, root: string | undefined, spellings: Spellings): Keys => {
  const base = rootKeyOf(prefix, root);
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
