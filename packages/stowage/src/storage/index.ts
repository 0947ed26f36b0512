/**
 * The storage port for authors of adapters: its contract, its paths, its errors, and helpers for adapters.
 * @module
 */
export type * from './adapter.ts';
export { consumeContent, type ContentOptions } from './content.ts';
export { copyTree, type CopyTreeOptions } from './copy-tree.ts';
export { copyFolder, moveFolder, walkFolder, type WalkedEntry } from './folders.ts';
export { containsLocation, isSameLocation, type StoreLocation } from './location.ts';
export { moveTree, type MoveTreeOptions } from './move-tree.ts';
export { registerStorageAdapter } from './registry.ts';
export type { StorageFactory, StorageFactoryContext } from './registry.ts';
export { isSegment, SourcePath } from './source-path.ts';
export type { FolderView, FoundEntry, TreeWalkOptions, WalkPage } from './tree-walk.ts';
export { placeStaged, stageContent, type PlaceOptions } from './staging.ts';
export type { ErrorOptions } from '../errors/errors.ts';
export {
  AlreadyExistsError,
  BusyError,
  ChangedMeanwhileError,
  ContentsConflictError,
  CorruptError,
  IntoItselfError,
  MovedInPartError,
  NotEmptyError,
  NotFoundError,
  StorageDeniedError,
  StorageFullError,
  StorageTimeoutError,
  StorageUnavailableError,
  StowageError,
  UnsafeNameError,
  UnsupportedError,
  WrongKindError,
} from '../errors/errors.ts';
export type { Logger } from '../basics/log/logger.ts';
