/**
 * The storage port, for those who write an adapter: its contract, its paths, its errors, and what an adapter can build on.
 * @module
 */
export type {
  ByteRange,
  Entry,
  EntryKind,
  ListOptions,
  OperationOptions,
  PutOptions,
  ReadOptions,
  ReadResult,
  StagedFile,
  Stat,
  StorageAdapter,
  StorageCapabilities,
  TransferFileOptions,
  WriteOptions,
} from './adapter.ts';
export { consumeContent, type ContentOptions } from './content.ts';
export { copyFolder, moveFolder, walkFolder, type WalkedEntry } from './folders.ts';
export { registerStorageAdapter } from './register.ts';
export type { StorageFactory, StorageFactoryContext } from './registry.ts';
export { isSegment, SourcePath } from './source-path.ts';
export { placeStaged, stageContent, type PlaceOptions } from './staging.ts';
export type { ErrorOptions } from '../errors/errors.ts';
export {
  AlreadyExistsError,
  BusyError,
  ChangedMeanwhileError,
  CorruptError,
  IntoItselfError,
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
export type { Logger } from '../log/logger.ts';
